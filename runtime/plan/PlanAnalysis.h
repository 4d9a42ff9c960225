// What follows from a decoded plan: the order of its instructions, how long each value lives, what is known beforehand.
#pragma once

#include "runtime/plan/Program.h"

namespace lathe::runtime {

/// Fills Instruction::id, last and known, Plan::instructions, outermost and live, ValueInfo::known. Throws Error when
/// blocks are entered twice, from themselves or too deep.
void analyzePlan(Plan &plan);

} // namespace lathe::runtime
