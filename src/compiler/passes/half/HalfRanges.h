// Upper bounds of the float16 values of a graph, from the weights and from the ranges of the types.
#pragma once

#include "passes/Rewrite.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/DenseMap.h"

namespace lathe {

/// Bounds of the magnitudes of all float values of a function.
class HalfRanges {
public:
  /// The greatest number of float16. Results that are computed may exceed their bound by rounding errors, up to 65520, which
  /// is rounded to infinity.
  static constexpr double greatest = 65504;

  /// With `trustLinear`, results of linear operators count as numbers of float16 whatever the bounds say.
  HalfRanges(mlir::func::FuncOp function, bool trustLinear);

  /// Upper bound of the finite magnitudes of `value`; infinite: unknown.
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
