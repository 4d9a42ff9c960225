// Size of the search space of one algorithm for one kernel.
#pragma once

#include "codegen/space/KernelFacts.h"

#include <functional>

namespace lathe {

/// How many points of a search space are tried to find its size. A space of at most `tried` points is tried
/// completely. In a larger space, `tried` random points from a fixed seed are tried, and, if any of them is legal,
/// more until `legal` are legal or `most` are tried.
struct Sampling {
  int64_t tried = 2000, legal = 0, most = 2000;
};

struct SpaceSize {
  double points = 1;    // number of points in the space: combinations of knob values
  int64_t tried = 0;    // number of points tried
  int64_t legal = 0;    // number of legal points among those tried
  bool sampled = false; // true: the tried points are random and may repeat; false: all points were tried

  /// Number of legal points in the space, estimated if `sampled`.
  double legalPoints() const { return tried ? points * static_cast<double>(legal) / static_cast<double>(tried) : 0; }
};

/// Calls `visit` with every point of a search space that is tried and with its legality, and returns the size of the
/// space. A point counts as legal if `visit` returns true.
SpaceSize visitSpace(const KernelFacts &facts, const Algorithm &algorithm, const std::vector<Knob> &knobs,
                     const Sampling &sampling, const std::function<bool(const Schedule &, const Legality &)> &visit);

/// Returns the size of a search space, found with the default sampling.
SpaceSize spaceSize(const KernelFacts &facts, const Algorithm &algorithm, const std::vector<Knob> &knobs);

} // namespace lathe
