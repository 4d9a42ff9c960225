// What passes ask of the chains of operators that exporters write: the same formula in any order of its operands.
#pragma once

#include "passes/Rewrite.h"

#include <array>

namespace lathe {

/// The operation that defines `value` when it is an nn operator of that mnemonic; null otherwise.
mlir::Operation *producer(mlir::Value value, std::string_view mnemonic);

/// `value` as `mnemonic`(other, constant with one value) in either order of its operands: the other operand and the
/// number.
struct WithNumber {
  mlir::Value other;
  double number = 0;
};
std::optional<WithNumber> withNumber(mlir::Value value, std::string_view mnemonic);

/// A value as a number times other values: nested mul, and div by a number, are taken apart.
struct Product {
  double number = 1;
  llvm::SmallVector<mlir::Value> factors;
  llvm::SmallVector<mlir::Operation *> ops;
};
Product productOf(mlir::Value value);

/// Coefficients of `value` as a polynomial in `x` of degree at most 3, from nested add, sub, mul, div, neg and pow with
/// numbers; nothing where it is none.
using Cubic = std::array<double, 4>;
std::optional<Cubic> polynomialIn(mlir::Value x, mlir::Value value);

/// Equal to about float32's precision, as constants are rounded by whoever wrote them.
bool isAbout(double value, double wanted, double tolerance = 1e-5);
bool isAbout(const Cubic &polynomial, const Cubic &wanted);

/// Axes of a reduce_* that keeps its axes, static, in [0, rank) and ascending; nothing otherwise.
std::optional<std::vector<int64_t>> keptAxes(mlir::Operation *reduction);

/// `value` = y * y or y ^ 2: y. Null otherwise.
mlir::Value squareRootOf(mlir::Value value);

/// The locations of several operators whose work one will do.
mlir::Location fuseLocations(llvm::ArrayRef<mlir::Operation *> ops);

} // namespace lathe
