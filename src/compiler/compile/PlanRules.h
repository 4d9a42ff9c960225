// Checks that the runtime makes for kernels, which report no errors: rules over extents when inputs are bound, and
// ranges of elements before a call.
#pragma once

#include "compile/Extents.h"
#include "ir/ExtentRules.h"
#include "package/plan_generated.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <span>

namespace lathe {

/// Adds `rules` without duplicates to a plan that has its values. Leaves out a rule with a symbol that is neither an
/// extent of an input nor of a value with late extents, because nothing binds it.
void addRules(plan::PlanT &plan, std::span<const nn::NodeRule> rules);
/// The same for the rules of a block, which hold only where the block runs.
void addBlockRules(plan::PlanT &plan, uint32_t block, std::span<const nn::NodeRule> rules);

/// Adds the ranges of symbols of the plan's inputs. The runtime rejects inputs outside these ranges.
void addRanges(plan::PlanT &plan, std::span<const ExtentRange> ranges);

/// Returns the ranges of elements that `kernel` relies on in the operands of `call`, from the shape functions of its
/// operators (ops/ElementBounds.h). Constants in range need no check.
std::vector<std::unique_ptr<plan::ElementRangeT>> elementRanges(mlir::func::FuncOp kernel, mlir::func::CallOp call,
                                                                const nn::SymbolicShapes &shapes);

} // namespace lathe
