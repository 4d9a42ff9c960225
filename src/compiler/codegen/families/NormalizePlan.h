// The plan of a kernel of the family "normalize": what it computes and how its loops run. Normalize.cpp emits the code.
#pragma once

#include "codegen/builder/KernelHarness.h"

namespace lathe {

/// The operators that the family "normalize" computes.
enum class NormKind { layer, rms, instance, group, lp };

/// The operation of a kernel, and the space over which its loops run.
struct NormalizePlan {
  /// The role of an axis of the space.
  enum Axis : int {
    outer,  // each index of the axis has its own statistics (mean, variance or norm)
    walked, // one statistic is taken over all indices of the axis
    across  // the axis is in vector lanes, but its indices are not elements of one row
  };

  KernelTensors tensors;
  mlir::Operation *anchor;
  NormKind kind = NormKind::layer;
  double epsilon = 0;
  int64_t p = 2; // only for lp_normalize: order of the norm
  const KernelTensor *x;
  mlir::Value scale, bias; // scale and bias, which are arguments of the kernel function; null: none
  ElementType type;
  Space space;
  std::vector<Access> accesses; // how the kernel accesses each of its buffers
  std::vector<int> axes;        // role (Axis) of each axis of the space
  int64_t lanes;
  bool row = true;       // true: vector lanes are elements of one row
  int64_t laneGroup = 1; // if lanes are channels: number of adjacent lanes that share statistics
  Dim length = 1;        // number of elements, or of vectors, in a row
  Dim step = 1;          // distance between consecutive elements (or vectors) of a row, in elements
  Dim count = 1;         // number of elements over which a statistic is taken
  /// Indices of axes of the space: `kept` are the outer loops (for lp_normalize including axes `across`), `inner` the
  /// loops over one row.
  std::vector<size_t> kept, inner;
  Space keptSpace;

  /// Makes the plan of a kernel of the family "normalize". Throws Declined for problems that the family does not
  /// support.
  explicit NormalizePlan(const KernelProblem &problem);

private:
  void overPixels(int64_t block);
  void split(int64_t part);
  void overAxes(int64_t block);
  void collapse();
};

} // namespace lathe
