// The greatest or least elements of one line, by sorting keys.
#pragma once

#include "codegen/builder/KernelHarness.h"

namespace lathe {

struct TopKLine {
  ElementType type;
  bool largest;
  Dim length;                                        // of all lines
  mlir::Value kept;                                  // number of results
  std::function<mlir::Value(mlir::Value)> element;   // the element at a position, in computeType(type)
  std::function<void(mlir::Value, mlir::Value)> put; // writes result number (first) with a position (second)
  /// The elements from a position on as a vector, under a mask that may be null. Null: they are not contiguous.
  std::function<mlir::Value(mlir::Value, mlir::Value)> elements;
  int64_t lanes = 1; // of `elements`
  Dim most;          // `kept`
};

/// Bytes of scratch that topKBySorting needs for lines of `length` elements.
Dim topKScratch(ElementType type, const Dim &length);
/// Extents that the code needs at run time for `kept` results.
Dims topKExtents(const Dim &length, const Dim &kept);

/// Emits the results in order. If a line is long compared with the number of results, only elements that are greater
/// than the least of the best elements so far are examined closely. Otherwise only elements whose highest key digit
/// does not exclude them are sorted.
void topKBySorting(KernelHarness &h, const TopKLine &line);

} // namespace lathe
