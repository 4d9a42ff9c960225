// Upper bounds for the values of a graph that are computed in float16, derived from the weights and from the ranges
// of the types.
#pragma once

#include "passes/Rewrite.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/DenseMap.h"

namespace lathe {

/// Upper bounds for the magnitudes of all float values of a function.
class HalfRanges {
public:
  /// The largest finite float16 number. Numbers below 65520 are rounded to it, so a result stays finite if rounding
  /// errors take it a little above this bound.
  static constexpr double greatest = 65504;

  /// `trustLinear`: true to assume that results of linear operators fit float16 even if their bounds are larger.
  HalfRanges(mlir::func::FuncOp function, bool trustLinear);

  /// Returns an upper bound of |x| for the finite elements x of `value`; infinity if none is known.
  double bound(mlir::Value value) const;

private:
  nn::SymbolicShapes shapes;
  mutable llvm::DenseMap<mlir::Value, double> bounds;

  double boundOf(mlir::Operation *op, unsigned result) const;
  double contraction(mlir::Operation *op) const;
  double reduction(mlir::Operation *op, std::string_view kind) const;
  double normalization(mlir::Operation *op) const;
  double largestOperand(mlir::Operation *op) const;
  double operand(mlir::Operation *op, size_t index) const;
};

} // namespace lathe
