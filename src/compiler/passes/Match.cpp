#include "passes/Match.h"

#include <algorithm>
#include <cmath>

namespace lathe {
namespace {

constexpr int deepest = 16; // maximum nesting that is searched: formulas are small, graphs are not

void collect(mlir::Value value, Product &product, int depth) {
  if (auto number = splatValue(value)) {
    product.number *= *number;
    return;
  }
  // A value with several readers stays one factor: the x of x * sigmoid(x) may be a product itself.
  mlir::Operation *op = depth == 0 || value.hasOneUse() ? value.getDefiningOp() : nullptr;
  if (depth < deepest && isOp(op, "mul")) {
    product.ops.push_back(op);
    collect(op->getOperand(0), product, depth + 1);
    collect(op->getOperand(1), product, depth + 1);
    return;
  }
  if (depth < deepest && isOp(op, "div"))
    if (auto divisor = splatValue(op->getOperand(1)); divisor && *divisor != 0) {
      product.ops.push_back(op);
      product.number /= *divisor;
      collect(op->getOperand(0), product, depth + 1);
      return;
    }
  product.factors.push_back(value);
}

std::optional<Cubic> times(const Cubic &a, const Cubic &b) {
  Cubic result{};
  for (size_t i = 0; i < 4; ++i)
    for (size_t j = 0; j < 4; ++j) {
      if (a[i] == 0 || b[j] == 0)
        continue;
      if (i + j > 3)
        return std::nullopt;
      result[i + j] += a[i] * b[j];
    }
  return result;
}

std::optional<Cubic> polynomial(mlir::Value x, mlir::Value value, int depth) {
  if (value == x)
    return Cubic{0, 1, 0, 0};
  if (auto number = splatValue(value))
    return Cubic{*number, 0, 0, 0};
  mlir::Operation *op = value.getDefiningOp();
  if (!op || depth == deepest)
    return std::nullopt;
  bool sum = isOp(op, "add"), difference = isOp(op, "sub"), product = isOp(op, "mul"), quotient = isOp(op, "div"),
       power = isOp(op, "pow"), negative = isOp(op, "neg");
  if (!sum && !difference && !product && !quotient && !power && !negative)
    return std::nullopt;
  auto a = polynomial(x, op->getOperand(0), depth + 1);
  if (!a)
    return std::nullopt;
  if (negative)
    return times(*a, {-1, 0, 0, 0});
  if (power || quotient) {
    auto number = splatValue(op->getOperand(1));
    if (!number || (quotient && *number == 0))
      return std::nullopt;
    if (quotient)
      return times(*a, {1 / *number, 0, 0, 0});
    auto square = times(*a, *a);
    if (*number == 2)
      return square;
    return *number == 3 && square ? times(*square, *a) : std::nullopt;
  }
  auto b = polynomial(x, op->getOperand(1), depth + 1);
  if (!b)
    return std::nullopt;
  if (product)
    return times(*a, *b);
  for (size_t i = 0; i < 4; ++i)
    (*a)[i] += sum ? (*b)[i] : -(*b)[i];
  return a;
}

} // namespace

mlir::Operation *producer(mlir::Value value, std::string_view mnemonic) {
  mlir::Operation *op = value ? value.getDefiningOp() : nullptr;
  return isOp(op, mnemonic) ? op : nullptr;
}

std::optional<WithNumber> withNumber(mlir::Value value, std::string_view mnemonic) {
  mlir::Operation *op = producer(value, mnemonic);
  if (!op)
    return std::nullopt;
  for (unsigned i = 0; i < 2; ++i)
    if (auto number = splatValue(op->getOperand(i)))
      return WithNumber{op->getOperand(1 - i), *number};
  return std::nullopt;
}

Product productOf(mlir::Value value) {
  Product product;
  collect(value, product, 0);
  return product;
}

std::optional<Cubic> polynomialIn(mlir::Value x, mlir::Value value) { return polynomial(x, value, 0); }

bool isAbout(double value, double wanted, double tolerance) {
  return std::abs(value - wanted) <= tolerance * std::max(std::abs(wanted), 1e-3);
}

bool isAbout(const Cubic &polynomial, const Cubic &wanted) {
  for (size_t i = 0; i < 4; ++i)
    if (!isAbout(polynomial[i], wanted[i]))
      return false;
  return true;
}

std::optional<std::vector<int64_t>> keptAxes(mlir::Operation *reduction) {
  auto type = rankedType(reduction->getOperand(0));
  auto keepdims = reduction->getAttrOfType<mlir::BoolAttr>("keepdims");
  auto axes = reduction->getAttrOfType<mlir::DenseI64ArrayAttr>("axes");
  if (!type || operandOf(reduction, 1) || (keepdims && !keepdims.getValue()) || !axes || axes.empty())
    return std::nullopt;
  std::vector<int64_t> result;
  for (int64_t axis : axes.asArrayRef())
    result.push_back(axis < 0 ? axis + type.getRank() : axis);
  std::sort(result.begin(), result.end());
  return result;
}

mlir::Value squareRootOf(mlir::Value value) {
  if (mlir::Operation *product = producer(value, "mul"))
    return product->getOperand(0) == product->getOperand(1) ? product->getOperand(0) : mlir::Value();
  mlir::Operation *power = producer(value, "pow");
  return power && splatValue(power->getOperand(1)) == 2.0 ? power->getOperand(0) : mlir::Value();
}

mlir::Location fuseLocations(llvm::ArrayRef<mlir::Operation *> ops) {
  llvm::SmallVector<mlir::Location> locations;
  for (mlir::Operation *op : ops)
    locations.push_back(op->getLoc());
  return mlir::FusedLoc::get(ops.front()->getContext(), locations);
}

} // namespace lathe
