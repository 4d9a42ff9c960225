// The plan of a kernel of the family "normalize": what it computes and how its loops run (see
// Normalize.cpp).
#pragma once

#include "codegen/builder/KernelHarness.h"

namespace lathe {

/// The operator.
enum class NormKind { layer, rms, instance, group, lp };

/// The operation and the iteration space.
struct NormalizePlan {
  /// The role of an axis of the space.
  enum Axis : int {
    outer,  // each index has its own statistics (mean, variance or norm)
    walked, // elements of one statistic
    across  // vector lanes that are not elements of one row
  };

  KernelTensors tensors;
  mlir::Operation *anchor;
  NormKind kind = NormKind::layer;
  double epsilon = 0;
  int64_t p = 2; // order of the norm of lp_normalize
  const KernelTensor *x;
  mlir::Value scale, bias; // arguments of the kernel function; null: none
  ElementType type;
  Space space;
  std::vector<Access> accesses; // one per buffer
  std::vector<int> axes;        // role (Axis) of each axis of the space
  int64_t lanes;
  bool row = true;       // lanes are elements of one row
  int64_t laneGroup = 1; // if lanes are channels: adjacent lanes that share statistics
  Dim length = 1;        // elements of a row, or number of vectors
  Dim step = 1;          // distance of consecutive elements or vectors, in elements
  Dim count = 1;         // number of elements of a statistic
  /// Axes of the space, by index: the outer loops (for lp_normalize with role `across`), and the
  /// loops over one row.
  std::vector<size_t> kept, inner;
  Space keptSpace;

  /// Makes the plan. Throws Declined for problems that the family does not support.
  explicit NormalizePlan(const KernelProblem &problem);

private:
  void overPixels(int64_t block);
  void split(int64_t part);
  void overAxes(int64_t block);
  void collapse();
};

} // namespace lathe
