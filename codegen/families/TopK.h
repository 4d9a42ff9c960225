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
};

/// Bytes of scratch that topKBySorting needs for lines of `length` elements.
Dim topKScratch(ElementType type, const Dim &length);
/// Extents that its code needs at run time.
Dims topKExtents(const Dim &length);

/// Emits the results in order. Only elements that the highest digit of their key does not exclude are sorted.
void topKBySorting(KernelHarness &h, const TopKLine &line);

} // namespace lathe
