// Operators of two quantised operands that compute every element of the result from elements at the same position.
//
// Where TensorFlow Lite divides scales as floats, so do the importers: the last bits of factors depend on it.
#include "import/tflite/QuantizedParts.h"

#include <array>

namespace lathe::tflite {
namespace {

using enum BuiltinOperator;

/// (x - zero) * 2^bits on a common scale.
mlir::Value onScale(Operator &op, size_t index, const Uniform &x, int bits, Multiplier factor) {
  mlir::Value wide = centred(op, op.in(index), x.zero);
  mlir::Value shifted =
      op.emit("mul", {wide, op.node.constantScalar(ElementType::i32, static_cast<double>(1 << bits))});
  return rescaled(op, shifted, factor);
}

/// Sums of 16 bits on scales that are powers of two: an operand on the finer scale is rounded first. Add and Sub16.
void importSumOfPowers(Operator &op, const Uniform &to, Activation activation, const std::array<int, 2> &right) {
  require(std::min(right[0], right[1]) == 0 && right[0] >= 0 && right[1] >= 0,
          "the operands have scales 2^{} and 2^{} times that of the result, expected one equal and none above",
          -right[0], -right[1]);
  auto part = [&](size_t index) {
    return dividedByPowerOfTwo(op, op.node.cast(op.in(index), ElementType::i32), std::min(right[index], 31));
  };
  mlir::Value sum = op.emit(op.code() == ADD ? "add" : "sub", {part(0), part(1)});
  Limits limits = limitsOf(op, to, activation);
  sum = op.emit("clip", {sum}, {{"min", static_cast<double>(limits.least)}, {"max", static_cast<double>(limits.most)}});
  op.set(op.node.cast(sum, to.type));
}

/// Sums of both operands on the scale twice the greater of theirs, with `bits` more bits.
void importSum(Operator &op) {
  op.node.expectInputs(2, 2);
  Uniform a = uniformInput(op, 0), b = uniformInput(op, 1), to = uniformOutput(op);
  const auto &options = op.options<file::SumOptions>(op.code() == ADD ? BuiltinOptions::Add : BuiltinOptions::Sub);
  Activation activation = options.activation();
  if (to.type == ElementType::i16 && options.pot_scale_int16() && a.zero == 0 && b.zero == 0 && to.zero == 0) {
    auto left = powerOfTwo(a.scale), right = powerOfTwo(b.scale), result = powerOfTwo(to.scale);
    if (left && right && result)
      return importSumOfPowers(op, to, activation, {*result - *left, *result - *right});
  }
  int bits = to.type == ElementType::i16 ? 15 : 20;
  double twice = 2 * double(std::max(a.scale, b.scale));
  mlir::Value left = onScale(op, 0, a, bits, multiplierOf(double(a.scale) / twice));
  mlir::Value right = onScale(op, 1, b, bits, multiplierOf(double(b.scale) / twice));
  Multiplier factor = multiplierOf(twice / (double(1 << bits) * double(to.scale)));
  mlir::Value sum = op.emit(op.code() == ADD ? "add" : "sub", {left, right});
  op.set(requantized(op, sum, {&factor, 1}, 0, to, limitsOf(op, to, activation)));
}

void importProduct(Operator &op) {
  op.node.expectInputs(2, 2);
  Uniform a = uniformInput(op, 0), b = uniformInput(op, 1), to = uniformOutput(op);
  Activation activation = op.options<file::ActivationOptions>(BuiltinOptions::Mul).activation();
  Multiplier factor = multiplierOf(double(a.scale * b.scale / to.scale));
  mlir::Value product = op.emit("mul", {centred(op, op.in(0), a.zero), centred(op, op.in(1), b.zero)});
  op.set(requantized(op, product, {&factor, 1}, 0, to, limitsOf(op, to, activation)));
}

void importSquaredDifference(Operator &op) {
  op.node.expectInputs(2, 2);
  Uniform a = uniformInput(op, 0), b = uniformInput(op, 1), to = uniformOutput(op);
  constexpr int bits = 7;
  double twice = 2 * double(std::max(a.scale, b.scale));
  mlir::Value left = onScale(op, 0, a, bits, multiplierOf(double(a.scale) / twice));
  mlir::Value right = onScale(op, 1, b, bits, multiplierOf(double(b.scale) / twice));
  Multiplier factor = multiplierOf(twice * twice / (double(1 << (2 * bits)) * double(to.scale)));
  mlir::Value difference = op.emit("sub", {left, right});
  op.set(requantized(op, op.emit("mul", {difference, difference}), {&factor, 1}, 0, to, limitsOf(to.type)));
}

/// Both operands are on the scale of the result.
void importExtreme(Operator &op) {
  op.node.expectInputs(2, 2);
  Uniform a = uniformInput(op, 0), b = uniformInput(op, 1), to = uniformOutput(op);
  require(a == to && b == to, "the operands and the result have different scales or zero points");
  op.set(op.emit(op.code() == MAXIMUM ? "max" : "min", {op.in(0), op.in(1)}));
}

const char *comparison(BuiltinOperator code) {
  switch (code) {
  case LESS:
    return "less";
  case LESS_EQUAL:
    return "less_equal";
  case GREATER:
    return "greater";
  case GREATER_EQUAL:
    return "greater_equal";
  default:
    return "equal";
  }
}

/// Both operands on the scale 2^-8.
void importComparison(Operator &op) {
  op.node.expectInputs(2, 2);
  Uniform a = uniformInput(op, 0), b = uniformInput(op, 1);
  require(a.scale < 1 && b.scale < 1, "the operands have scales {} and {}, expected less than 1", a.scale, b.scale);
  constexpr int bits = 8;
  mlir::Value left = onScale(op, 0, a, bits, multiplierOf(a.scale)),
              right = onScale(op, 1, b, bits, multiplierOf(b.scale));
  mlir::Value y = op.emit(comparison(op.code()), {left, right});
  op.set(op.code() == NOT_EQUAL ? op.emit("not", {y}) : y);
}

/// x from zero on, x times alpha below, each on the scale of the result.
void importPrelu(Operator &op) {
  op.node.expectInputs(2, 2);
  Uniform x = uniformInput(op, 0), alpha = uniformInput(op, 1), to = uniformOutput(op);
  mlir::Value centre = centred(op, op.in(0), x.zero), slope = centred(op, op.in(1), alpha.zero);
  Limits all = limitsOf(to.type);
  Multiplier keeps = multiplierOf(double(x.scale / to.scale));
  Multiplier bends = multiplierOf(double(x.scale * alpha.scale / to.scale));
  mlir::Value above = requantized(op, centre, {&keeps, 1}, 0, to, all);
  mlir::Value below = requantized(op, op.emit("mul", {centre, slope}), {&bends, 1}, 0, to, all);
  mlir::Value negative = op.emit("less", {centre, op.node.constantScalar(ElementType::i32, 0)});
  op.set(op.emit("where", {negative, below, above}));
}

} // namespace

void addQuantizedElementwise(Importers &table) {
  table[ADD] = {importSum};
  table[SUB] = {importSum};
  table[MUL] = {importProduct};
  table[SQUARED_DIFFERENCE] = {importSquaredDifference};
  table[MAXIMUM] = {importExtreme};
  table[MINIMUM] = {importExtreme};
  for (BuiltinOperator code : {EQUAL, NOT_EQUAL, LESS, LESS_EQUAL, GREATER, GREATER_EQUAL})
    table[code] = {importComparison};
  table[PRELU] = {importPrelu};
}

} // namespace lathe::tflite
