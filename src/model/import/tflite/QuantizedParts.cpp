#include "import/tflite/QuantizedParts.h"

#include <cmath>

namespace lathe::tflite {
namespace {

Uniform uniform(const std::optional<Quantization> &quantization, ElementType type, const std::string &what) {
  require(isByte(type) || type == ElementType::i16 || type == ElementType::i32, "{} is {}, expected i8, u8, i16 or i32",
          what, name(type));
  require(quantization.has_value(), "{} has no scale", what);
  require(!quantization->perChannel(), "{} has {} scales, expected one", what, quantization->scales.size());
  float scale = quantization->scales[0];
  require(std::isfinite(scale) && scale > 0, "{} has scale {}, expected a positive number", what, scale);
  int64_t zero = quantization->zeroPoints[0];
  Limits all = limitsOf(type);
  require(zero >= all.least && zero <= all.most, "{} has zero point {}, expected a value of {}", what, zero,
          name(type));
  return {type, scale, zero};
}

} // namespace

Uniform uniformInput(const Operator &op, size_t index) {
  return uniform(op.inputQuantization(index), op.inputType(index), fmt::format("input {}", index));
}

Uniform uniformOutput(const Operator &op, size_t index) {
  return uniform(op.outputQuantization(index), op.outputType(index), fmt::format("output {}", index));
}

Uniform uniformIntermediate(const Operator &op, size_t index) {
  std::string what = fmt::format("intermediate tensor {}", index);
  const file::Tensor *tensor = op.intermediateTensor(index);
  require(tensor != nullptr, "lacks {}", what);
  return uniform(quantizationOf(*tensor), elementType(tensor->type()), what);
}

std::optional<int> powerOfTwo(float scale) {
  float exponent = std::log(scale) * (1.0F / std::log(2.0F)), whole = std::round(exponent);
  if (std::abs(exponent - whole) >= 1e-3F)
    return std::nullopt;
  return static_cast<int>(whole);
}

Limits limitsOf(ElementType type) {
  bool natural = isUnsignedInteger(type);
  int64_t half = int64_t(1) << (bitWidth(type) - 1);
  return natural ? Limits{0, 2 * half - 1} : Limits{-half, half - 1};
}

Limits limitsOf(const Operator &op, const Uniform &to, Activation activation) {
  Limits all = limitsOf(to.type);
  auto at = [&](float value) { // for a scale that may be tiny
    return all.clamp(to.zero + std::llround(std::clamp(value / to.scale, -1e9F, 1e9F)));
  };
  switch (activation) {
  case Activation::NONE:
    return all;
  case Activation::RELU:
    return {at(0), all.most};
  case Activation::RELU6:
    return {at(0), at(6)};
  case Activation::RELU_N1_TO_1:
    return {at(-1), at(1)};
  default:
    op.unsupported(fmt::format("fused activation {} on quantised tensors", static_cast<int>(activation)));
  }
}

int64_t quantize(float value, const Uniform &to) {
  float steps = std::round(value * (1.0F / to.scale));
  Limits all = limitsOf(to.type);
  if (!(std::abs(steps) < 1e9F))
    return steps > 0 ? all.most : all.least;
  return all.clamp(static_cast<int64_t>(steps) + to.zero);
}

mlir::Value centred(Operator &op, mlir::Value x, int64_t zero, ElementType type) {
  mlir::Value wide = op.node.cast(x, type);
  return zero ? op.emit("sub", {wide, op.node.constantScalar(type, static_cast<double>(zero))}) : wide;
}

mlir::Value clamped(Operator &op, mlir::Value x, ElementType type, const Limits &limits) {
  Limits all = limitsOf(type);
  if (limits.least == all.least && limits.most == all.most)
    return x;
  return op.emit("clip", {x}, {{"min", static_cast<double>(limits.least)}, {"max", static_cast<double>(limits.most)}});
}

mlir::Value number(Operator &op, int64_t value) {
  return op.node.constantScalar(ElementType::i32, static_cast<double>(value));
}

mlir::Value dividedByPowerOfTwo(Operator &op, mlir::Value x, int exponent) {
  if (exponent == 0)
    return x;
  mlir::Value half = number(op, int64_t(1) << (exponent - 1)), negative = op.emit("less", {x, number(op, 0)});
  mlir::Value away = op.emit("where", {negative, op.emit("sub", {x, half}), op.emit("add", {x, half})});
  return op.emit("div", {away, number(op, int64_t(1) << exponent)});
}

Factors inverseRoots(Operator &op, mlir::Value x) {
  auto n = [&](int64_t value) { return number(op, value); };
  auto add = [&](mlir::Value a, mlir::Value b) { return op.emit("add", {a, b}); };
  auto sub = [&](mlir::Value a, mlir::Value b) { return op.emit("sub", {a, b}); };
  auto mul = [&](mlir::Value a, int64_t b) { return op.emit("mul", {a, n(b)}); };
  auto where = [&](mlir::Value holds, mlir::Value a, mlir::Value b) { return op.emit("where", {holds, a, b}); };
  auto scale = [&](mlir::Value a, mlir::Value factor, mlir::Value shift) {
    return op.emit("requantize", {a, factor, shift}, {{"to", ElementType::i32}});
  };
  auto product = [&](mlir::Value a, mlir::Value b) { return scale(a, b, n(0)); };
  // The operand shifted by an even number of bits, with three integer bits: half of it is in [1/4, 1).
  mlir::Value large = op.emit("greater_equal", {x, n(1 << 29)});
  mlir::Value safe = op.emit("max", {where(large, op.emit("div", {x, n(4)}), x), n(2)});
  mlir::Value zeros = op.emit("count_leading_zeros", {safe});
  mlir::Value pairs = sub(op.emit("div", {sub(zeros, n(1)), n(2)}), n(1));
  mlir::Value moved = scale(safe, n(1 << 30), add(mul(pairs, 2), n(1))); // exact: 2^30 is a half
  mlir::Value half = op.emit("div", {add(op.emit("div", {moved, n(2)}), n(1)), n(2)});
  constexpr int32_t one = 1 << 28, threeHalves = one + one / 2, rootOfHalf = 1518500250;
  mlir::Value y = mul(sub(n(highProduct(threeHalves, one)), product(half, n(one))), 8);
  for (int step = 1; step < 5; ++step) {
    mlir::Value cube = mul(product(product(y, y), y), 64);
    y = mul(sub(product(y, n(threeHalves)), product(half, cube)), 8);
  }
  y = product(y, n(rootOfHalf));
  mlir::Value right = sub(where(large, n(12), n(11)), pairs), none = op.emit("less_equal", {x, n(1)});
  mlir::Value left = where(op.emit("equal", {right, n(-2)}), n(4), where(op.emit("equal", {right, n(-1)}), n(2), n(1)));
  return {where(none, n(INT32_MAX), op.emit("mul", {y, left})),
          where(none, n(0), sub(n(0), op.emit("max", {right, n(0)})))};
}

mlir::Value constantVector(Operator &op, const std::vector<int32_t> &values, int64_t trailing) {
  if (values.size() == 1)
    return op.node.constantScalar(ElementType::i32, values[0]);
  TensorData data;
  data.type = ElementType::i32;
  data.dims.assign(static_cast<size_t>(trailing) + 1, 1);
  data.dims[0] = static_cast<int64_t>(values.size());
  const char *bytes = reinterpret_cast<const char *>(values.data());
  data.bytes.assign(bytes, bytes + values.size() * sizeof(int32_t));
  return op.node.constant(data);
}

mlir::Value requantized(Operator &op, mlir::Value sums, std::span<const Multiplier> factors, int64_t trailing,
                        const Uniform &to, const Limits &limits, bool once) {
  std::vector<int32_t> values, shifts;
  bool equal = true;
  for (const Multiplier &factor : factors) {
    values.push_back(factor.value);
    shifts.push_back(factor.shift);
    equal &= factor.value == factors[0].value && factor.shift == factors[0].shift;
  }
  if (equal) {
    values.resize(1);
    shifts.resize(1);
  }
  return requantized(op, sums, {constantVector(op, values, trailing), constantVector(op, shifts, trailing)}, to, limits,
                     once);
}

mlir::Value requantized(Operator &op, mlir::Value sums, const Factors &factors, const Uniform &to, const Limits &limits,
                        bool once) {
  bool optimised = op.node.graph.options.requantizeRounding == RequantizeRounding::optimised;
  const char *rounding = op.node.info(sums).type == ElementType::i64 ? "reduced"
                         : once && optimised                         ? "single"
                                                                     : "double";
  Fields fields = {{"to", to.type}, {"zero_point", to.zero}, {"rounding", rounding}};
  Limits all = limitsOf(to.type);
  if (limits.least > all.least)
    fields.emplace_back("min", limits.least);
  if (limits.most < all.most)
    fields.emplace_back("max", limits.most);
  return op.emit("requantize", {sums, factors.multiplier, factors.shift}, fields);
}

mlir::Value rescaled(Operator &op, mlir::Value sums, Multiplier factor) {
  return requantized(op, sums, {&factor, 1}, 0, {ElementType::i32, 1, 0}, limitsOf(ElementType::i32));
}

} // namespace lathe::tflite
