// Operators with one 16-bit operand: tables between whose entries the result is interpolated, as TensorFlow Lite
// defines them.
#include "import/tflite/QuantizedParts.h"

#include <array>
#include <cmath>

namespace lathe::tflite {
namespace {

using enum BuiltinOperator;

// ---- The logistic function and the hyperbolic tangent ------------------------------------------------------------------

/// 1 / (1 + e^(-i/24)) in steps of 2^-16, rounded to the nearest; 44 entries of the published table are greater by one.
uint32_t sigmoidAt(uint32_t index) {
  static const auto table = [] {
    std::array<uint32_t, 256> values;
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<uint32_t>(std::lround(65536 / (1 + std::exp(-static_cast<double>(i) / 24))));
    for (size_t i : {4,  8,  12, 14, 15, 16, 17, 19, 20, 21, 22, 25, 27, 28, 29, 30, 31,  33,  34,  35,  37,  39,
                     40, 41, 43, 44, 45, 46, 49, 50, 54, 62, 63, 64, 66, 82, 86, 93, 100, 103, 112, 116, 135, 255})
      ++values[i];
    return values;
  }();
  return table[index];
}

/// Converts an operand to steps of 1 / 12288: multiplies by `multiplier`, then shifts `shift` bits to the right.
struct Steps {
  int32_t multiplier, shift;
  int32_t of(int16_t x) const { return (x * multiplier + (shift ? 1 << (shift - 1) : 0)) >> shift; }
};

Steps stepsOf(float scale, std::optional<int> exponent) {
  if (exponent)
    return {3 << *exponent, 0};
  double multiplier = double(scale) * 4096 * 3;
  int shift = 0;
  for (; multiplier <= 32767.0 / 2 && shift <= 30; ++shift)
    multiplier *= 2;
  require(multiplier < 32768, "the operand has scale {}, expected less than 8/3", scale);
  return {static_cast<int32_t>(multiplier), shift};
}

/// Interpolates sigmoidAt, whose entries are 2^bits steps apart, times 2^bits; `end` from the last entry on.
uint32_t interpolated(int32_t steps, int bits, uint32_t end) {
  auto magnitude = static_cast<uint32_t>(std::abs(steps)), place = magnitude >> bits;
  if (place >= 255)
    return end;
  uint32_t low = sigmoidAt(place), high = sigmoidAt(place + 1);
  return (low << bits) + (magnitude & ((1U << bits) - 1)) * (high - low);
}

int16_t logisticOf(int32_t steps) {
  uint32_t y = interpolated(steps, 9, 0x7FFFU << 10);
  y = steps >= 0 ? y + (1 << 9) : (1U << 25) - y + (1 << 9) - 1;
  return static_cast<int16_t>(y >> 10);
}

/// 2 * logistic(2 x) - 1
int16_t tangentOf(int32_t steps) {
  auto y = static_cast<int32_t>(interpolated(steps, 8, 0xFFFFU << 8));
  y = steps >= 0 ? y - (1 << 23) + (1 << 7) : -y + (1 << 23) + (1 << 7) - 1;
  return static_cast<int16_t>(y >> 8);
}

// ---- Other functions --------------------------------------------------------------------------------------------------

/// The operand and the result, without zero points.
std::pair<Uniform, Uniform> symmetric(Operator &op) {
  Uniform x = uniformInput(op, 0), to = uniformOutput(op);
  if (to.type != ElementType::i16)
    op.unsupported(fmt::format("{} of quantised i16 to {}", operatorName(op.code()), name(to.type)));
  require(x.zero == 0 && to.zero == 0, "the zero points are {} and {}, expected 0 of i16", x.zero, to.zero);
  return {x, to};
}

/// If the real function has no value, the kernels return the limit of the result's type.
float function(BuiltinOperator code, float x, float scale) {
  switch (code) {
  case EXP:
    return std::exp(x);
  case LOG:
    return x <= 0 ? -32768 * scale : std::log(x);
  default:
    return x <= 0 ? 32767 * scale : 1 / std::sqrt(x);
  }
}

/// x for x >= 0, and a scaled x below 0, both rescaled to the result.
mlir::Value bent(Operator &op, const Uniform &x, const Uniform &to, const Limits &limits, Multiplier above,
                 std::optional<Multiplier> below) {
  mlir::Value centre = centred(op, op.in(0), x.zero);
  mlir::Value y = requantized(op, centre, {&above, 1}, 0, to, limits);
  if (!below)
    return y;
  mlir::Value negative = op.emit("less", {centre, number(op, 0)});
  return op.emit("where", {negative, requantized(op, centre, {&*below, 1}, 0, to, limits), y});
}

} // namespace

std::vector<int64_t> segments(const Uniform &from, const Uniform &to, const std::function<float(float)> &function) {
  auto real = [](const Uniform &on, int32_t q) {
    return on.scale * static_cast<float>(q - static_cast<int32_t>(on.zero));
  };
  constexpr int count = 512;
  const float least = real(from, -32768), most = real(from, 32767);
  const float step = (most - least) / count, half = step / 2;
  const float inverse = 65536.0F / (real(to, 32767) - real(to, -32768));
  auto limited = [](float value) { // NaN gives the least value
    return static_cast<int64_t>(std::min(std::max(-32768.0F, value), 32767.0F));
  };
  std::vector<int64_t> values;
  for (int i = 0; i < count; ++i) {
    auto at = static_cast<float>(i);
    float here = function(least + at * step), middle = function(least + at * step + half),
          next = function(least + (at + 1) * step);
    float sample = std::round(here * inverse);
    float error = std::round((next * inverse + sample) / 2) - std::round(middle * inverse);
    values.push_back(limited(sample - std::round(error / 2)));
  }
  values.push_back(limited(std::round(function(most) * inverse)));
  return values;
}

void importWideSigmoid(Operator &op) {
  auto [x, to] = symmetric(op);
  bool tangent = op.code() == TANH;
  require(powerOfTwo(to.scale) == -15, "the result has scale {}, expected 2^-15", to.scale);
  std::optional<int> exponent = powerOfTwo(x.scale);
  if (exponent) // scale 2^-12: three integer bits
    exponent = *exponent + 12;
  if (exponent && (*exponent < 0 || *exponent > (tangent ? 1 : 0)))
    exponent.reset();
  bool optimised = op.node.graph.options.requantizeRounding == RequantizeRounding::optimised;
  Steps steps = stepsOf(x.scale, exponent);
  mlir::Value table = wideTable(op, [&](int16_t q) {
    if (optimised && exponent) {
      auto moved = static_cast<int16_t>(std::clamp(q * (1 << *exponent), -32768, 32767));
      return tangent ? hyperbolicTangent(moved, 3) : logistic(moved, 3);
    }
    return tangent ? tangentOf(steps.of(q)) : logisticOf(steps.of(q));
  });
  op.set(lookedUp(op, table, op.node.cast(op.in(0), ElementType::i32)));
}

void importWideUnary(Operator &op) {
  auto [x, to] = symmetric(op);
  Multiplier keeps = multiplierOf(double(x.scale / to.scale));
  switch (op.code()) {
  case EXP:
  case LOG:
  case RSQRT: {
    auto values = segments(x, to, [&, scale = to.scale](float value) { return function(op.code(), value, scale); });
    return op.set(op.emit("lookup", {op.in(0)}, {{"values", values}, {"to", ElementType::i16}}));
  }
  case SQRT: {
    mlir::Value table = wideTable(op, [&, from = x.scale, onto = to.scale](int16_t q) {
      float root = q > 0 ? std::sqrt(from * static_cast<float>(q)) / onto : 0;
      return static_cast<int16_t>(std::min(root, 32767.0F)); // truncated
    });
    return op.set(lookedUp(op, table, op.node.cast(op.in(0), ElementType::i32)));
  }
  case ABS: {
    mlir::Value magnitude = op.emit("abs", {op.node.cast(op.in(0), ElementType::i32)});
    return op.set(requantized(op, magnitude, {&keeps, 1}, 0, to, limitsOf(to.type)));
  }
  case LEAKY_RELU: {
    float alpha = op.options<file::LeakyReluOptions>(BuiltinOptions::LeakyRelu).alpha();
    return op.set(bent(op, x, to, limitsOf(to.type), keeps, multiplierOf(double(x.scale * alpha / to.scale))));
  }
  case RELU:
    return op.set(bent(op, x, to, limitsOf(op, to, Activation::RELU), keeps, std::nullopt));
  case RELU6:
    return op.set(bent(op, x, to, limitsOf(op, to, Activation::RELU6), keeps, std::nullopt));
  case RELU_N1_TO_1:
    return op.set(bent(op, x, to, limitsOf(op, to, Activation::RELU_N1_TO_1), keeps, std::nullopt));
  default:
    op.unsupported(fmt::format("{} of quantised i16", operatorName(op.code())));
  }
}

} // namespace lathe::tflite
