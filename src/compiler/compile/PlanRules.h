// What the runtime checks for kernels, which report no errors: rules over extents when inputs are
// bound, ranges of elements before a call.
#pragma once

#include "compile/Extents.h"
#include "ir/ExtentRules.h"
#include "package/plan_generated.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <span>

namespace lathe {

/// Adds `rules` to a plan that already has its values, without duplicates. A rule is left out if one of its symbols is
/// neither the extent of an input nor of a value with late extents: nothing binds such a symbol.
void addRules(plan::PlanT &plan, std::span<const nn::NodeRule> rules);
/// The same for a block, whose rules only hold where it runs.
void addBlockRules(plan::PlanT &plan, uint32_t block, std::span<const nn::NodeRule> rules);

/// Adds the ranges of symbols that the plan's inputs have; the runtime refuses inputs outside.
void addRanges(plan::PlanT &plan, std::span<const ExtentRange> ranges);

/// Returns the ranges of elements that `kernel` takes for granted in the operands of `call`, as its
/// operators' shape functions state them (ops/ElementBounds.h). Constants that are in range need none.
std::vector<std::unique_ptr<plan::ElementRangeT>> elementRanges(mlir::func::FuncOp kernel, mlir::func::CallOp call,
                                                                const nn::SymbolicShapes &shapes);

} // namespace lathe
