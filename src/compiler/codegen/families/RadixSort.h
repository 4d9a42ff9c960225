// Sorting inside a kernel: stable, by the digits of integer keys, the lowest digit first.
#pragma once

#include "codegen/builder/KernelBuilder.h"

namespace lathe {

/// Bits of the keys that orderedKey gives for elements of a type: 8, 16, 32 or 64.
int64_t keyBits(ElementType type);

/// A key of keyBits(type) bits for an element (computeType of `type`), as i64: as an unsigned integer it orders like
/// the elements, ascending or descending. Equal elements have equal keys; -0 equals 0, NaN is the greatest.
mlir::Value orderedKey(KernelBuilder &k, mlir::Value element, ElementType type, bool descending);

/// The data to sort: i64 words, and a second i64 beside each word if the keys leave no room for it.
struct SortBuffers {
  mlir::Value words, spareWords;   // pointers to as many i64 as there are words, plus one
  mlir::Value beside, spareBeside; // null: no second words
  mlir::Value histogram;           // pointer to radixHistogram(bits) i64
};

/// Number of i64 in the histograms of radixSort.
int64_t radixHistogram(int64_t bits);

/// Emits a stable, ascending sort of `count` words by the bits [low, low + bits). Returns the buffers with the sorted
/// words in `words`. A digit that is equal in all words costs one test.
SortBuffers radixSort(KernelBuilder &k, const SortBuffers &buffers, mlir::Value count, int64_t low, int64_t bits);

} // namespace lathe
