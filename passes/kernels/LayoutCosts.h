// What operators and conversions cost in each layout, as the code generator predicts their kernels.
#pragma once

#include "ir/SymbolicShapes.h"
#include "passes/Pipeline.h"
#include "passes/kernels/LayoutRules.h"

#include <array>

namespace lathe {

/// Core cycles by layout of the operands that follow the choice and by layout of such results (0: row-major, 1:
/// blocked); infinite where no kernel can be made.
using CyclesByLayout = std::array<std::array<double, 2>, 2>;

/// Asks PipelineOptions::predictCycles about operators of @main, each alone in a kernel. @main is not changed.
class LayoutCosts {
public:
  /// All arguments must outlive the object.
  LayoutCosts(mlir::func::FuncOp main, const nn::SymbolicShapes &shapes, const PipelineOptions &options);

  /// Cycles of `op` in the layouts that `rule` allows. Where no kernel reads or writes blocked channels, sets
  /// rule.rowOnly to the reason.
  CyclesByLayout cyclesOf(mlir::Operation *op, LayoutRule &rule) const;
  /// Cycles to convert `value` once, to blocked channels or back. 1 for a conversion that moves nothing: a plan without
  /// it reads better. Infinite where no kernel converts it: it has no elements, or extents that are known only when the
  /// kernel runs.
  double conversion(mlir::Value value, bool toBlocked) const;
  /// Cycles of an element-wise operator in a kernel of its own, which it needs where a conversion parts it from its
  /// producer's kernel; 0 if there is no such kernel.
  double alone(mlir::Operation *op) const;

private:
  mlir::func::FuncOp main;
  const nn::SymbolicShapes &shapes;
  const PipelineOptions &options;

  nn::BlockedAttr blockedLayout(mlir::Value value) const;
  Outcome<double> predicted(mlir::Operation *op, const LayoutRule &rule, bool blockedInput, bool blockedOutput) const;
};

} // namespace lathe
