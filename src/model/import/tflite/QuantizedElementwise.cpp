// Elementwise operators with two quantised operands.
//
// Where TensorFlow Lite divides scales as floats, the importers do so, too: the last bits of factors depend on it.
#include "import/tflite/QuantizedParts.h"

#include <array>
#include <bit>

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

/// Sums of 16 bits on scales that are powers of two: first rounds the operand on the finer scale. Add and Sub16.
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

/// Adds both operands on twice the greater one of their scales, with `bits` additional bits.
void importSum(Operator &op) {
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
  Uniform a = uniformInput(op, 0), b = uniformInput(op, 1), to = uniformOutput(op);
  Activation activation = op.options<file::ActivationOptions>(BuiltinOptions::Mul).activation();
  Multiplier factor = multiplierOf(double(a.scale * b.scale / to.scale));
  mlir::Value product = op.emit("mul", {centred(op, op.in(0), a.zero), centred(op, op.in(1), b.zero)});
  op.set(requantized(op, product, {&factor, 1}, 0, to, limitsOf(op, to, activation)));
}

/// a / b times a factor, rounded: the reciprocal of b in fixed point, then two products. DivElementwise. TensorFlow
/// Lite does not define division by zero, which gives a limit of i32 here, nor quotients below 2^-32, which give 0.
int64_t quotient(int32_t a, int32_t b, Multiplier factor) {
  if (a == 0)
    return 0;
  if (b == 0)
    return a > 0 ? INT32_MAX : INT32_MIN;
  if (b < 0)
    a = -a, b = -b;
  int zeros = std::countl_zero(static_cast<uint32_t>(b));
  auto fraction = static_cast<int32_t>((static_cast<uint32_t>(b) << zeros) - (1U << 31)); // fraction of b in [1, 2)
  int room =
      a > 0 ? std::countl_zero(static_cast<uint32_t>(a)) - 1 : std::countl_zero(2 * static_cast<uint32_t>(-a) - 1);
  auto moved = static_cast<int32_t>(static_cast<uint32_t>(a) << room);
  int32_t whole = highProduct(moved, reciprocalOfOnePlus(fraction));
  int right = room + 31 - zeros - factor.shift;
  return right > 31 ? 0 : divideByPowerOfTwo(highProduct(whole, factor.value), right);
}

/// Imports a quotient as a table with the results of all pairs of bytes.
void importQuotient(Operator &op) {
  Uniform a = uniformInput(op, 0), b = uniformInput(op, 1), to = uniformOutput(op);
  for (const Uniform &each : {a, b, to})
    if (each.type != ElementType::u8)
      op.unsupported(fmt::format("DIV of quantised {}", name(each.type)));
  Multiplier factor = multiplierOf(double(a.scale / (b.scale * to.scale)));
  if (factor.shift > 23) // no room for 255 shifted so far
    op.unsupported(fmt::format("DIV of scales {} and {} to scale {}", a.scale, b.scale, to.scale));
  Limits limits = limitsOf(op, to, op.options<file::ActivationOptions>(BuiltinOptions::Div).activation());
  std::vector<uint8_t> values;
  for (int32_t x = 0; x < 256; ++x)
    for (int32_t y = 0; y < 256; ++y)
      values.push_back(static_cast<uint8_t>(limits.clamp(
          quotient(x - static_cast<int32_t>(a.zero), y - static_cast<int32_t>(b.zero), factor) + to.zero)));
  const char *bytes = reinterpret_cast<const char *>(values.data());
  mlir::Value table = op.node.constant({ElementType::u8, {1 << 16}, {bytes, bytes + values.size()}, {}});
  mlir::Value high = op.emit("mul", {op.node.cast(op.in(0), ElementType::i32), number(op, 256)});
  op.set(lookedUp(op, table, op.emit("add", {high, op.node.cast(op.in(1), ElementType::i32)})));
}

void importSquaredDifference(Operator &op) {
  Uniform a = uniformInput(op, 0), b = uniformInput(op, 1), to = uniformOutput(op);
  constexpr int bits = 7;
  double twice = 2 * double(std::max(a.scale, b.scale));
  mlir::Value left = onScale(op, 0, a, bits, multiplierOf(double(a.scale) / twice));
  mlir::Value right = onScale(op, 1, b, bits, multiplierOf(double(b.scale) / twice));
  Multiplier factor = multiplierOf(twice * twice / (double(1 << (2 * bits)) * double(to.scale)));
  mlir::Value difference = op.emit("sub", {left, right});
  op.set(requantized(op, op.emit("mul", {difference, difference}), {&factor, 1}, 0, to, limitsOf(to.type)));
}

/// Imports Maximum and Minimum; both operands are on the scale of the result.
void importExtreme(Operator &op) {
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

/// Imports comparisons; both operands are brought to the scale 2^-8.
void importComparison(Operator &op) {
  Uniform a = uniformInput(op, 0), b = uniformInput(op, 1);
  require(a.scale < 1 && b.scale < 1, "the operands have scales {} and {}, expected less than 1", a.scale, b.scale);
  constexpr int bits = 8;
  mlir::Value left = onScale(op, 0, a, bits, multiplierOf(a.scale)),
              right = onScale(op, 1, b, bits, multiplierOf(b.scale));
  mlir::Value y = op.emit(comparison(op.code()), {left, right});
  op.set(op.code() == NOT_EQUAL ? op.emit("not", {y}) : y);
}

/// x for x >= 0, x * alpha for x < 0, each rescaled to the result.
void importPrelu(Operator &op) {
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
  table[DIV] = {importQuotient};
  table[SQUARED_DIFFERENCE] = {importSquaredDifference};
  table[MAXIMUM] = {importExtreme};
  table[MINIMUM] = {importExtreme};
  for (BuiltinOperator code : {EQUAL, NOT_EQUAL, LESS, LESS_EQUAL, GREATER, GREATER_EQUAL})
    table[code] = {importComparison};
  table[PRELU] = {importPrelu};
}

} // namespace lathe::tflite
