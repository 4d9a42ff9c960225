// Emits radix sorts: stable sorts by the digits of integer keys, the lowest digit first.
#pragma once

#include "codegen/builder/KernelBuilder.h"

namespace lathe {

/// Number of bits in the keys that orderedKey makes for elements of a type: 8, 16, 32 or 64.
int64_t keyBits(ElementType type);

/// Emits an integer sort key of keyBits(type) bits for `element`, as i64. As unsigned integers, keys order like the
/// elements, ascending or descending. Equal elements have equal keys; -0 equals 0, NaN is the greatest.
mlir::Value orderedKey(KernelBuilder &k, mlir::Value element, ElementType type, bool descending);

/// The data of a radix sort: i64 words that contain keys. If the keys leave no room in a word, a second i64 beside
/// each word moves with it.
struct SortBuffers {
  mlir::Value words, spareWords;   // data and spare buffer, each with room for one i64 more than there are words
  mlir::Value beside, spareBeside; // second i64 of each word, and a spare buffer for them; null: none
  mlir::Value histogram;           // memory for the histograms, radixHistogram(bits) i64
};

/// Number of i64 that the histograms of radixSort take for keys of `bits` bits.
int64_t radixHistogram(int64_t bits);

/// Emits a stable, ascending sort of `count` words by the bits [low, low + bits). Returns the buffers with the sorted
/// words in `words`. A digit that is equal in all words costs one test.
SortBuffers radixSort(KernelBuilder &k, const SortBuffers &buffers, mlir::Value count, int64_t low, int64_t bits);

} // namespace lathe
