// Analysis of a decoded plan: order of instructions, lifetimes of values, extents known in advance.
#pragma once

#include "runtime/plan/Program.h"

namespace lathe::runtime {

/// Computes Instruction::id, last and known, Plan::instructions, outermost and live,
/// ValueInfo::known. Throws Error if a block is entered twice, recursively, or nested too deeply.
void analyzePlan(Plan &plan);

/// The last step of analyzePlan: Plan::lateGroups and what belongs to them.
void findLateGroups(Plan &plan);

} // namespace lathe::runtime
