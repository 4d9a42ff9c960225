// Adds to a plan the checks that the runtime makes because kernels report no errors: rules over extents when inputs
// are bound, and ranges of elements before a kernel call.
#pragma once

#include "compile/Extents.h"
#include "ir/ExtentRules.h"
#include "package/plan_generated.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <span>

namespace lathe {

/// Adds `rules` over extents, without duplicates, to a plan whose values were added before. Leaves out a rule over a
/// symbol that nothing binds: it is neither in an extent of an input nor in a late extent of a value.
void addRules(plan::PlanT &plan, std::span<const nn::NodeRule> rules);
/// Adds rules over extents to a block of the plan, like addRules. They must hold only where the block runs.
void addBlockRules(plan::PlanT &plan, uint32_t block, std::span<const nn::NodeRule> rules);

/// Adds the ranges of the symbols in the plan's inputs. The runtime rejects inputs outside these ranges.
void addRanges(plan::PlanT &plan, std::span<const ExtentRange> ranges);

/// Returns the ranges of elements on which `kernel` relies in the operands of `call`; they come from the shape
/// functions of its operators (ops/ElementBounds.h). Constants that are in range need no check and are left out.
std::vector<std::unique_ptr<plan::ElementRangeT>> elementRanges(mlir::func::FuncOp kernel, mlir::func::CallOp call,
                                                                const nn::SymbolicShapes &shapes);

} // namespace lathe
