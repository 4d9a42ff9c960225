// Size of the search space of one algorithm for one kernel.
#pragma once

#include "codegen/space/KernelFacts.h"

#include <functional>

namespace lathe {

/// The points of a space that are tried: all points of a space of at most `tried` points; of a larger
/// space `tried` random points from a fixed seed, and, if any of them is legal, more until `legal` are
/// legal or `most` are tried.
struct Sampling {
  int64_t tried = 2000, legal = 0, most = 2000;
};

struct SpaceSize {
  double points = 1;    // number of combinations of knob values
  int64_t tried = 0;    // points tried: all or a sample
  int64_t legal = 0;    // legal points among those tried
  bool sampled = false; // points were sampled with repetition

  /// Number of legal points, estimated if sampled.
  double legalPoints() const { return tried ? points * static_cast<double>(legal) / static_cast<double>(tried) : 0; }
};

/// Calls `visit` with every point that is tried and its legality. A point counts as legal if `visit`
/// returns true.
SpaceSize visitSpace(const KernelFacts &facts, const Algorithm &algorithm, const std::vector<Knob> &knobs,
                     const Sampling &sampling, const std::function<bool(const Schedule &, const Legality &)> &visit);

/// Size of a space, with the standard sampling.
SpaceSize spaceSize(const KernelFacts &facts, const Algorithm &algorithm, const std::vector<Knob> &knobs);

} // namespace lathe
