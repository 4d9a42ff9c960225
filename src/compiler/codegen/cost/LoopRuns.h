// Counts how often the innermost loops of element-wise and similar kernels run, and how many iterations they have.
#pragma once

#include "codegen/space/LoopFacts.h"
#include "codegen/space/WorkItems.h"

#include <array>

namespace lathe {

/// The innermost loops of a kernel: `runs` loops of `length` iterations each. They are divided into `units` work items
/// along the axes `items`.
struct LoopRuns {
  double runs = 1, length = 1, units = 1;
  std::array<WorkAxis, 2> items = {};
};

LoopRuns runsOf(const LoopShape &shape, int64_t grain);
LoopRuns runsOf(const ReduceFacts &facts, const Schedule &schedule);

} // namespace lathe
