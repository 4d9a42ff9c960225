// How the innermost loops of the loop-shaped families run.
#pragma once

#include "codegen/space/LoopFacts.h"
#include "codegen/space/WorkItems.h"

#include <array>

namespace lathe {

/// `runs` loops, each over `length` indices of the last axis that is walked, in `units` work items along the axes `items`.
struct LoopRuns {
  double runs = 1, length = 1, units = 1;
  std::array<WorkAxis, 2> items = {};
};

LoopRuns runsOf(const LoopShape &shape, int64_t grain);
LoopRuns runsOf(const ReduceFacts &facts, const Schedule &schedule);

} // namespace lathe
