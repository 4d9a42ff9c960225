// Pattern matching on the formulas of operators that exporters write, with operands in any order.
#pragma once

#include "passes/Rewrite.h"

#include <array>

namespace lathe {

/// Returns the operation that defines `value` if it is the nn operator `mnemonic`, else null.
mlir::Operation *producer(mlir::Value value, std::string_view mnemonic);

/// Result of matching `value` with the pattern `mnemonic`(other, number), with the operands in either order. The
/// number is a constant whose elements are all equal.
struct WithNumber {
  mlir::Value other;
  double number = 0;
};
std::optional<WithNumber> withNumber(mlir::Value value, std::string_view mnemonic);

/// A value written as a number times other values (factors). Nested mul operators, and div by a number, are split into
/// factors.
struct Product {
  double number = 1;
  llvm::SmallVector<mlir::Value> factors;
  llvm::SmallVector<mlir::Operation *> ops;
};
Product productOf(mlir::Value value);

/// Coefficients of `value` as a polynomial in `x` of degree at most 3, from nested add, sub, mul, div, neg and pow with
/// numbers; empty for any other value.
using Cubic = std::array<double, 4>;
std::optional<Cubic> polynomialIn(mlir::Value x, mlir::Value value);

/// True if two numbers are equal within `tolerance` (relative). The tolerance allows for constants that exporters
/// rounded to float32.
bool isAbout(double value, double wanted, double tolerance = 1e-5);
bool isAbout(const Cubic &polynomial, const Cubic &wanted);

/// Returns the reduced axes of a reduce_* operator, in [0, rank) and ascending; nothing unless it has keepdims and
/// static axes.
std::optional<std::vector<int64_t>> keptAxes(mlir::Operation *reduction);

/// Returns y if `value` is y * y or y ^ 2, else null.
mlir::Value squareRootOf(mlir::Value value);

/// Returns the location of one operator that replaces all of `ops`.
mlir::Location fuseLocations(llvm::ArrayRef<mlir::Operation *> ops);

} // namespace lathe
