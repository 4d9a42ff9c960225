// Operators with one 8-bit quantised operand: a table of all 256 values, computed with TensorFlow Lite's arithmetic.
// QuantizedWide.cpp has the operators of 16 bits.
#include "import/tflite/QuantizedParts.h"

#include <cmath>

namespace lathe::tflite {
namespace {

using enum BuiltinOperator;

/// Sets the result to a table: the entry for x is `entry(x - zero point)`, saturated to the result's type.
template <class F> void set(Operator &op, const Uniform &x, const Uniform &to, F &&entry) {
  Limits all = limitsOf(to.type);
  op.set(looked(op, op.in(0), x.type, to.type,
                [&](int64_t q) { return all.clamp(entry(static_cast<int32_t>(q - x.zero))); }));
}

/// The operand and the result, of 8 bits.
std::pair<Uniform, Uniform> bytes(Operator &op) {
  Uniform x = uniformInput(op, 0), to = uniformOutput(op);
  if (!isByte(x.type) || !isByte(to.type))
    op.unsupported(fmt::format("{} of quantised {}", operatorName(op.code()), name(x.type)));
  return {x, to};
}

// ---- Functions of real numbers ------------------------------------------------------------------------------------

float function(BuiltinOperator code, float x) {
  switch (code) {
  case ELU:
    return x < 0 ? std::expm1(x) : x;
  case EXP:
    return std::exp(x);
  case LOG:
    return std::log(x);
  case LOGISTIC:
    return 1 / (1 + std::exp(-x));
  case TANH:
    return std::tanh(x);
  default:
    return x / 2 * (1 + std::erf(x * static_cast<float>(M_SQRT1_2)));
  }
}

/// Quantises the result of the real function.
void importByReals(Operator &op) {
  if (op.inputType(0) == ElementType::i16)
    return importWideUnary(op);
  auto [x, to] = bytes(op);
  if (op.code() == GELU && op.options<file::GeluOptions>(BuiltinOptions::Gelu).approximate())
    op.unsupported("GELU by tanh on quantised tensors");
  set(op, x, to,
      [&, &x = x, &to = to](int32_t q) { return quantize(function(op.code(), x.scale * static_cast<float>(q)), to); });
}

/// Rounds towards zero. A negative operand is an error of TensorFlow Lite; here its root is 0.
void importRoot(Operator &op) {
  if (op.inputType(0) == ElementType::i16)
    return importWideUnary(op);
  auto [x, to] = bytes(op);
  set(op, x, to, [from = x.scale, &to = to](int32_t q) {
    float root = q > 0 ? std::sqrt(from * static_cast<float>(q)) / to.scale : 0;
    return static_cast<int64_t>(std::min(root, 1e6F)) + to.zero;
  });
}

// ---- Functions in fixed point -------------------------------------------------------------------------------------

/// Sigmoid and hyperbolic tangent: four integer bits in the operand, none in the result.
void importSigmoid(Operator &op) {
  if (op.inputType(0) == ElementType::i16)
    return importWideSigmoid(op);
  if (op.node.graph.options.requantizeRounding == RequantizeRounding::optimised)
    return importByReals(op);
  auto [x, to] = bytes(op);
  constexpr int integerBits = 4;
  Multiplier factor = multiplierOf(double(x.scale) * double(1 << (31 - integerBits)));
  int32_t radius = inputRadius(integerBits, factor.shift);
  bool tangent = op.code() == TANH;
  Limits all = limitsOf(to.type);
  int64_t zero = tangent == (to.type == ElementType::u8) ? (tangent ? 128 : -128) : 0; // of scale 2^-7 or 2^-8
  set(op, x, to, [&](int32_t q) -> int64_t {
    if (q <= -radius)
      return all.least;
    if (q >= radius)
      return all.most;
    int32_t wide = scaled(q, factor);
    int32_t y = tangent ? hyperbolicTangent(wide, integerBits) : logistic(wide, integerBits);
    return divideByPowerOfTwo(y, tangent ? 24 : 23) + zero;
  });
}

/// 1 / sqrt(x), with 20 fractional bits. Operands of 0 and below give the greatest result.
void importInverseRoot(Operator &op) {
  if (op.inputType(0) == ElementType::i16)
    return importWideUnary(op);
  auto [x, to] = bytes(op);
  constexpr int fraction = 20;
  Multiplier factor = multiplierOf(1.0 / double(std::sqrt(x.scale) * to.scale));
  factor.shift -= fraction;
  if (factor.shift < -31)
    op.unsupported(fmt::format("RSQRT from scale {} to scale {}", x.scale, to.scale));
  set(op, x, to, [&, &to = to](int32_t q) -> int64_t {
    if (q <= 0)
      return limitsOf(to.type).most;
    Multiplier root = inverseRoot(q);
    return scaled(scaled(1, {root.value, root.shift + fraction}), factor) + to.zero;
  });
}

int16_t saturated(int32_t x) { return static_cast<int16_t>(std::clamp(x, -32768, 32767)); }

/// Rounds a factor of 32 bits to 16 bits.
int16_t halved(int32_t value) {
  return saturated((value >= INT32_MAX - (1 << 15) ? INT32_MAX : value + (1 << 15)) >> 16);
}

/// x * relu6(x + 3) / 6 in 16 bits, as in hard_swish.h of TensorFlow Lite.
void importHardSwish(Operator &op) {
  auto [x, to] = bytes(op);
  float fine = (1.0F / 128.0F) * x.scale;
  Multiplier output = multiplierOf(double(fine / to.scale)), relu = multiplierOf(double(fine / (3.0F / 32768.0F)));
  if (output.shift > 0)
    op.unsupported(fmt::format("HARD_SWISH from scale {} to scale {}", x.scale, to.scale));
  int64_t zero = to.zero;
  set(op, x, to, [&](int32_t q) {
    int16_t hires = static_cast<int16_t>(q * 128), onOutput = highProduct(hires, halved(output.value)), gate = hires;
    if (relu.shift > 0)
      gate = saturated(gate * (1 << std::min(relu.shift - 1, 15))); // with 15 bits everything but 0 saturates
    gate = highProduct(gate, halved(relu.value));
    if (relu.shift > 0)
      gate = saturated(gate * 2);
    if (relu.shift < 0)
      gate = static_cast<int16_t>(divideByPowerOfTwo(gate, -relu.shift));
    gate = static_cast<int16_t>((gate + (1 << 15)) >> 1); // from [-1, 1] to [0, 1]
    auto product = static_cast<int16_t>(int32_t(gate) * onOutput / (1 << 15));
    return divideByPowerOfTwo(product, -output.shift) + zero;
  });
}

// ---- Piecewise linear functions -----------------------------------------------------------------------------------

void importRelu(Operator &op) {
  if (op.inputType(0) == ElementType::i16)
    return importWideUnary(op);
  auto [x, to] = bytes(op);
  Activation activation = op.code() == RELU                                ? Activation::RELU
                          : op.code() == RELU6 || op.code() == RELU_0_TO_1 ? Activation::RELU6
                                                                           : Activation::RELU_N1_TO_1;
  Limits limits = limitsOf(op, to, activation);
  if (op.code() == RELU_0_TO_1)
    limits.most = limitsOf(op, to, Activation::RELU_N1_TO_1).most;
  Multiplier factor = multiplierOf(double(x.scale / to.scale));
  set(op, x, to, [&, zero = to.zero](int32_t q) { return limits.clamp(scaled(q, factor) + zero); });
}

void importLeakyRelu(Operator &op) {
  if (op.inputType(0) == ElementType::i16)
    return importWideUnary(op);
  auto [x, to] = bytes(op);
  float alpha = op.options<file::LeakyReluOptions>(BuiltinOptions::LeakyRelu).alpha();
  Multiplier above = multiplierOf(double(x.scale / to.scale));
  Multiplier below = multiplierOf(double(x.scale * alpha / to.scale));
  set(op, x, to, [&, zero = to.zero](int32_t q) { return scaled(q, q >= 0 ? above : below) + zero; });
}

void importAbs(Operator &op) {
  if (op.inputType(0) == ElementType::i16)
    return importWideUnary(op);
  auto [x, to] = bytes(op);
  Multiplier factor = multiplierOf(double(x.scale / to.scale));
  set(op, x, to, [&, zero = to.zero](int32_t q) { return scaled(std::abs(q), factor) + zero; });
}

// ---- Between types ------------------------------------------------------------------------------------------------

/// round(x / scale) + zero for real numbers, halves away from zero; quantised operands are requantised.
void importQuantize(Operator &op) {
  Uniform to = uniformOutput(op);
  Limits all = limitsOf(to.type);
  if (op.inputQuantization(0) && !isFloat(op.inputType(0))) {
    Uniform x = uniformInput(op, 0);
    Multiplier factor = multiplierOf(double(x.scale) / double(to.scale));
    mlir::Value centre = centred(op, op.in(0), x.zero);
    return op.set(requantized(op, centre, {&factor, 1}, 0, to, all));
  }
  auto number = [&](double value) { return op.node.constantScalar(ElementType::f32, value); };
  mlir::Value rounded = roundAway(op.node, op.emit("div", {op.in(0), number(to.scale)}));
  double zero = static_cast<double>(to.zero), least = static_cast<double>(all.least),
         most = static_cast<double>(all.most);
  rounded = op.emit("clip", {rounded}, {{"min", least - zero}, {"max", most - zero}});
  op.set(op.node.cast(op.emit("add", {rounded, number(zero)}), to.type));
}

void importDequantize(Operator &op) {
  auto quantization = op.inputQuantization(0);
  require(quantization.has_value(), "the operand has no scale");
  if (quantization->perChannel())
    op.unsupported("one scale a channel of an operand that is not constant");
  Uniform x = uniformInput(op, 0);
  mlir::Value real = op.node.cast(centred(op, op.in(0), x.zero), ElementType::f32);
  op.set(op.emit("mul", {real, op.node.constantScalar(ElementType::f32, x.scale)}));
}

/// Casts the integers, whatever they stand for.
void importCast(Operator &op) {
  if (op.outputType() == ElementType::invalid)
    op.unsupported("a cast to a type that Lathe does not have");
  op.set(op.node.cast(op.in(0), op.outputType()));
}

} // namespace

void addQuantizedUnary(Importers &table) {
  for (BuiltinOperator code : {ELU, EXP, LOG, GELU})
    table[code] = {importByReals};
  table[SQRT] = {importRoot};
  table[RSQRT] = {importInverseRoot};
  table[CAST] = {importCast};
  for (BuiltinOperator code : {LOGISTIC, TANH})
    table[code] = {importSigmoid};
  for (BuiltinOperator code : {RELU, RELU6, RELU_N1_TO_1, RELU_0_TO_1})
    table[code] = {importRelu};
  table[HARD_SWISH] = {importHardSwish};
  table[LEAKY_RELU] = {importLeakyRelu};
  table[ABS] = {importAbs};
  table[QUANTIZE] = {importQuantize, 1};
  table[DEQUANTIZE] = {importDequantize};
}

} // namespace lathe::tflite
