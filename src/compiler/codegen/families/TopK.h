// Emits code that finds the greatest or smallest elements of a line by sorting keys.
#pragma once

#include "codegen/builder/KernelHarness.h"

namespace lathe {

struct TopKLine {
  ElementType type;
  bool largest;
  Dim length;                                      // number of elements in a line, equal for all lines
  mlir::Value kept;                                // number of results per line
  std::function<mlir::Value(mlir::Value)> element; // emits the element at a position, in computeType(type)
  // emits the store of a result: its number, and the position of the element
  std::function<void(mlir::Value, mlir::Value)> put;
  /// Emits a load of the elements from a position on as a vector, under a mask that may be null. An empty function:
  /// the elements are not contiguous.
  std::function<mlir::Value(mlir::Value, mlir::Value)> elements;
  int64_t lanes = 1; // number of elements in a vector that `elements` returns
  Dim most;          // number of results per line as an extent
};

/// Bytes of scratch memory that topKBySorting needs for lines of `length` elements.
Dim topKScratch(ElementType type, const Dim &length);
/// The extents that the code of topKBySorting needs at run time for lines of `length` elements and `kept` results.
Dims topKExtents(const Dim &length, const Dim &kept);

/// Emits code that finds the greatest or smallest elements of a line, in order. If the line is long compared with the
/// number of results, the code keeps the best elements so far and examines only elements that are greater than the
/// least of them. Otherwise it sorts the elements that their highest key digit does not exclude.
void topKBySorting(KernelHarness &h, const TopKLine &line);

} // namespace lathe
