// Size of the search space of one algorithm for one kernel.
#pragma once

#include "codegen/space/KernelFacts.h"

namespace lathe {

struct SpaceSize {
  double points = 1;    // number of combinations of knob values
  int64_t tried = 0;    // points tried: all or a sample
  int64_t legal = 0;    // legal points among those tried
  bool sampled = false; // points were sampled with repetition from a fixed seed

  /// Number of legal points, estimated if sampled.
  double legalPoints() const { return tried ? points * static_cast<double>(legal) / static_cast<double>(tried) : 0; }
};

/// Tries every point of a space of at most `most` points, or `most` random points of a larger
/// space.
SpaceSize spaceSize(const KernelFacts &facts, const Algorithm &algorithm, const std::vector<Knob> &knobs,
                    int64_t most = 2000);

} // namespace lathe
