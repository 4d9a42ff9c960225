// How large the search space of one algorithm on one kernel is.
#pragma once

#include "codegen/space/KernelFacts.h"

namespace lathe {

struct SpaceSize {
  double points = 1;    // combinations of the knobs' values
  int64_t tried = 0;    // all of them, or a sample of them
  int64_t legal = 0;    // of those tried
  bool sampled = false; // drawn with repetition from a fixed seed

  /// Legal points, estimated where they were sampled.
  double legalPoints() const { return tried ? points * static_cast<double>(legal) / static_cast<double>(tried) : 0; }
};

/// Tries every point of a space of at most `most` points, and `most` random ones of a larger space.
SpaceSize spaceSize(const KernelFacts &facts, const Algorithm &algorithm, const std::vector<Knob> &knobs,
                    int64_t most = 2000);

} // namespace lathe
