// Sorting inside a kernel: stable, by the digits of integer keys, the lowest digit first.
#pragma once

#include "codegen/builder/KernelBuilder.h"

namespace lathe {

/// Bits of the keys that orderedKey gives for elements of a type: 8, 16, 32 or 64.
int64_t keyBits(ElementType type);

/// An i64 of keyBits(type) bits that orders as an element does (computeType of `type`): as an unsigned integer ascending
/// with the element, or descending. Equal elements have equal keys; -0 equals 0, and NaN is greater than every number.
mlir::Value orderedKey(KernelBuilder &k, mlir::Value element, ElementType type, bool descending);

/// What is sorted: i64 words, and where keys leave no room for it in the word an i64 beside each.
struct SortBuffers {
  mlir::Value words, spareWords;   // pointers to as many i64 as there are words, and one more
  mlir::Value beside, spareBeside; // likewise; null: none
  mlir::Value histogram;           // pointer to radixHistogram(bits) i64
};

/// Number of i64 in the histograms of radixSort.
int64_t radixHistogram(int64_t bits);

/// Emits a stable sort of `count` words by the bits [low, low + bits), ascending. Returns the buffers with the sorted
/// words in `words`. Digits that all words share cost one look.
SortBuffers radixSort(KernelBuilder &k, const SortBuffers &buffers, mlir::Value count, int64_t low, int64_t bits);

} // namespace lathe
