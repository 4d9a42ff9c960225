// Costs of operators and conversions in each layout: the costs of the kernels that would compute them.
#pragma once

#include "ir/SymbolicShapes.h"
#include "passes/Pipeline.h"
#include "passes/kernels/LayoutRules.h"

#include <array>

namespace lathe {

/// Costs of an operator: by layout of the operands that may be blocked, then by layout of the results that may be
/// blocked (0: row-major, 1: blocked); infinite where no kernel can be made.
using CostByLayout = std::array<std::array<double, 2>, 2>;

/// Computes the costs of operators of @main in each layout, each operator alone in a kernel. @main is not changed.
class LayoutCosts {
public:
  /// Function that returns the cost of a candidate kernel, in any unit, or the reason why it has none.
  using KernelCost = std::function<Outcome<double>(mlir::func::FuncOp kernel)>;

  /// All arguments but `kernelCost` must outlive the object.
  LayoutCosts(mlir::func::FuncOp main, const nn::SymbolicShapes &shapes, const PipelineOptions &options,
              KernelCost kernelCost);

  /// Returns the costs of `op` in the layouts that `rule` allows. If no kernel reads or writes blocked channels, sets
  /// rule.rowOnly to the reason.
  CostByLayout costsOf(mlir::Operation *op, LayoutRule &rule) const;
  /// Returns the cost of `op` in these layouts; 0 if it needs no kernel in any layout, or if `share-storage` removes
  /// its kernel.
  Outcome<double> costOf(mlir::Operation *op, const LayoutRule &rule, bool blockedInput, bool blockedOutput) const;
  /// Returns the cost to convert `value` once, to blocked channels or back. Declines if no kernel converts it: it has
  /// no elements, or extents that are known only when the kernel runs. Not for conversions that move nothing.
  Outcome<double> conversion(mlir::Value value, bool toBlocked) const;
  /// True if converting `value` between the layouts moves nothing.
  bool convertsForFree(mlir::Value value) const;
  /// Returns the cost of an element-wise operator in a separate kernel, which it needs if a conversion separates it
  /// from its producer.
  Outcome<double> alone(mlir::Operation *op) const;

private:
  mlir::func::FuncOp main;
  const nn::SymbolicShapes &shapes;
  const PipelineOptions &options;
  KernelCost kernelCost;

  nn::BlockedAttr blockedLayout(mlir::Value value) const;
};

} // namespace lathe
