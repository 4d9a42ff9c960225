// How the innermost loops of the loop-shaped families run.
#pragma once

#include "codegen/space/LoopFacts.h"
#include "codegen/space/WorkItems.h"

#include <array>

namespace lathe {

/// `runs` loops of `length` iterations over the innermost axis, in `units` work items along the axes `items`.
struct LoopRuns {
  double runs = 1, length = 1, units = 1;
  std::array<WorkAxis, 2> items = {};
};

LoopRuns runsOf(const LoopShape &shape, int64_t grain);
LoopRuns runsOf(const ReduceFacts &facts, const Schedule &schedule);

} // namespace lathe
