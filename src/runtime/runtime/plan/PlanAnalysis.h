// Analysis of a decoded plan: order of instructions, lifetimes of values, extents known in advance.
#pragma once

#include "runtime/plan/Program.h"

#include <string>
#include <vector>

namespace lathe::runtime {

/// Who binds a symbol.
struct SymbolBinding {
  std::string symbol;
  uint32_t block = 0;       // whose instruction binds it
  uint32_t instruction = 0; // id
  bool carried = false;     // an extent of a carried value: bound anew before every iteration of the loop `instruction`
};
/// Every symbol that instructions bind, once for each instruction. Extents of results that have been bound before the
/// instruction runs are none. In the order of instructions.
std::vector<SymbolBinding> symbolBindings(const Plan &plan);

/// Computes Instruction::id, last and known, Plan::instructions, outermost and live,
/// ValueInfo::known. Throws Error if a block is entered twice, recursively, or nested too deeply.
void analyzePlan(Plan &plan);

/// The last step of analyzePlan: Plan::lateGroups and what belongs to them.
void findLateGroups(Plan &plan);

} // namespace lathe::runtime
