// Size of the search space of one algorithm for one kernel.
#pragma once

#include "codegen/space/KernelFacts.h"

#include <functional>

namespace lathe {

/// Points of a space that are tried if no other number is given.
inline constexpr int64_t triedPoints = 2000;

struct SpaceSize {
  double points = 1;    // number of combinations of knob values
  int64_t tried = 0;    // points tried: all or a sample
  int64_t legal = 0;    // legal points among those tried
  bool sampled = false; // points were sampled with repetition from a fixed seed

  /// Number of legal points, estimated if sampled.
  double legalPoints() const { return tried ? points * static_cast<double>(legal) / static_cast<double>(tried) : 0; }
};

/// Calls `visit` with every point of a space of at most `most` points, or with `most` random points
/// of a larger space, and with its legality. Returns what spaceSize returns.
SpaceSize visitSpace(const KernelFacts &facts, const Algorithm &algorithm, const std::vector<Knob> &knobs, int64_t most,
                     const std::function<void(const Schedule &, const Legality &)> &visit);

/// Tries every point of a space of at most `most` points, or `most` random points of a larger
/// space.
SpaceSize spaceSize(const KernelFacts &facts, const Algorithm &algorithm, const std::vector<Knob> &knobs,
                    int64_t most = triedPoints);

} // namespace lathe
