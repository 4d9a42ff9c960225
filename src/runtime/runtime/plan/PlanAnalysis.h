// Analysis of a decoded plan: order of instructions, lifetimes of values, extents known before the plan runs.
#pragma once

#include "runtime/plan/Program.h"

#include <string>
#include <vector>

namespace lathe::runtime {

/// The binding of a symbol: an instruction whose result gives the symbol its value.
struct SymbolBinding {
  std::string symbol;
  uint32_t block = 0;       // block of the instruction that binds the symbol
  uint32_t instruction = 0; // id of the instruction that binds the symbol
  /// True: the symbol is an extent of a carried value of the loop `instruction`, so it is bound again before every
  /// iteration.
  bool carried = false;
};
/// Returns the symbols that instructions bind, once for each instruction, in the order of instructions. Symbols of a
/// result that are already bound before the instruction runs are left out.
std::vector<SymbolBinding> symbolBindings(const Plan &plan);

/// Computes Plan::phases, moments and before; all are empty if no instruction has a place.
void findPhases(Plan &plan);
/// Extends a life by uses from instruction `first` to instruction `last`, both in one stream of a plan with phases. A
/// new StreamLife has no uses.
void addUse(const Plan &plan, StreamLife &life, uint32_t first, uint32_t last);
StreamLife lifeOfUse(const Plan &plan, uint32_t first, uint32_t last);

/// Computes the members of a decoded plan that follow from its instructions: Instruction::id, last and known,
/// Plan::instructions, outermost and live, ValueInfo::known. Throws Error if a block is entered twice, recursively, or
/// nested too deeply.
void analyzePlan(Plan &plan);

/// The last step of analyzePlan: computes Plan::lateGroups and the other members that depend on late groups.
void findLateGroups(Plan &plan);

} // namespace lathe::runtime
