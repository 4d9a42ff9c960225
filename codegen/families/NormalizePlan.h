// What a kernel of the family "normalize" computes, and how its loops run: see Normalize.cpp.
#pragma once

#include "codegen/builder/KernelHarness.h"

namespace lathe {

/// Which operator.
enum class NormKind { layer, rms, instance, group, lp };

/// What is computed, and the space the loops run over.
struct NormalizePlan {
  /// What an axis of the space is for.
  enum Axis : int {
    outer,  // one index a statistic
    walked, // inside a statistic
    across  // vector lanes, other than elements of one row
  };

  KernelTensors tensors;
  mlir::Operation *anchor;
  NormKind kind = NormKind::layer;
  double epsilon = 0;
  int64_t p = 2; // of lp
  const KernelTensor *x;
  mlir::Value scale, bias; // of the kernel function; null: without
  ElementType type;
  Space space;
  std::vector<Access> accesses; // by buffer
  std::vector<int> axes;        // Axis, by axis of the space
  int64_t lanes;
  bool row = true;                 // lanes are elements of one row
  int64_t laneGroup = 1;           // neighbouring lanes with common statistics, where lanes are channels
  Dim length = 1;                  // elements along a row, or vectors below one another
  Dim step = 1;                    // elements from one to the next
  Dim count = 1;                   // elements of a statistic
  std::vector<size_t> kept, inner; // axes that are outer (and, for lp, those across), axes that are walked
  Space keptSpace;

  /// Declines what the family has no loops for.
  explicit NormalizePlan(const KernelProblem &problem);

private:
  void overPixels(int64_t block);
  void split(int64_t part);
  void overAxes(int64_t block);
  void collapse();
};

} // namespace lathe
