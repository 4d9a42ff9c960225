// Operators that combine the elements of rows: softmax, normalisation, sums, means.
#include "import/tflite/QuantizedParts.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace lathe::tflite {
namespace {

using enum BuiltinOperator;

// ---- Softmax ------------------------------------------------------------------------------------------------------

constexpr int differenceBits = 5, sumBits = 12; // of the differences, and of sums of exponentials

/// e^(-d * scale * beta) for differences d from the greatest element, without integer bits; 0 if it is too small.
std::vector<int64_t> exponentials(float scale, float beta) {
  double factor = std::min(double(beta) * double(scale) * double(1 << (31 - differenceBits)), 2147483647.0);
  Multiplier multiplier = multiplierOf(factor);
  int32_t radius = inputRadius(differenceBits, multiplier.shift);
  std::vector<int64_t> values;
  for (int32_t d = 0; d < 256; ++d)
    values.push_back(d > radius ? 0 : expOfNegative(scaled(-d, multiplier), differenceBits));
  return values;
}

/// Interpolates exponentials and the reciprocal of their sum, with 15 fractional bits. SoftmaxInt16.
void importWideSoftmax(Operator &op, const Uniform &x, const Uniform &to, float beta) {
  require(x.type == to.type && to.zero == 0, "the result is {} with zero point {}, expected i16 and 0", name(to.type),
          to.zero);
  constexpr float range = 65535;
  std::vector<int64_t> axes = {-1};
  auto n = [&](int64_t value) { return number(op, value); };
  auto limited = [&](mlir::Value value) { // saturated to 16 bits
    value = op.emit("clip", {value}, {{"min", -32768.0}, {"max", 32767.0}});
    return op.node.cast(value, ElementType::i16);
  };
  auto table = [&](mlir::Value of, const Uniform &from, float (*function)(float)) {
    std::vector<int64_t> values = segments(from, {ElementType::i16, 2.0F / range, 0}, function);
    mlir::Value y = op.emit("lookup", {of}, {{"values", values}, {"to", ElementType::i16}});
    return op.node.cast(y, ElementType::i32);
  };
  mlir::Value wide = op.node.cast(op.in(0), ElementType::i32);
  mlir::Value difference = op.emit("sub", {wide, op.emit("reduce_max", {wide}, {{"axes", axes}})});
  mlir::Value scaled = rescaled(op, difference, multiplierOf(double(x.scale * beta) / (10.0 / 65535.0)));
  mlir::Value whole = table(limited(op.emit("add", {scaled, n(32767)})), {ElementType::i16, 10.0F / range, 32767},
                            [](float value) { return std::exp(value); });
  mlir::Value sum = op.emit("reduce_sum", {whole}, {{"axes", axes}});
  mlir::Value zeros = op.emit("count_leading_zeros", {sum});
  // Shifts to the left until bit 30 is set, then 14 bits to the right, halves up: 2^30 is a half.
  auto shifted = [&](mlir::Value value, int64_t right, Fields fields) {
    fields.emplace_back("rounding", "single");
    return op.emit("requantize", {value, n(1 << 30), op.emit("sub", {zeros, n(right)})}, fields);
  };
  mlir::Value one = shifted(sum, 14, {{"to", ElementType::i32}}); // from 1 to 2
  mlir::Value inverse = table(limited(op.emit("sub", {one, n(3 << 15)})), {ElementType::i16, 1.0F / range, -32768},
                              [](float value) { return 1.0F / (1.0F + value); });
  op.set(shifted(op.emit("mul", {whole, inverse}), 30, {{"to", ElementType::i16}, {"min", 0}}));
}

void importSoftmax(Operator &op) {
  Uniform x = uniformInput(op, 0), to = uniformOutput(op);
  float beta = op.options<file::SoftmaxOptions>(BuiltinOptions::Softmax).beta();
  if (x.type == ElementType::i16)
    return importWideSoftmax(op, x, to, beta);
  std::vector<int64_t> axes = {op.node.rank(op.in(0)) - 1};
  mlir::Value greatest = op.emit("reduce_max", {op.in(0)}, {{"axes", axes}});
  mlir::Value difference =
      op.emit("sub", {op.node.cast(greatest, ElementType::i32), op.node.cast(op.in(0), ElementType::i32)});
  difference = op.node.cast(difference, ElementType::u8);
  std::vector<int64_t> whole = exponentials(x.scale, beta), summed;
  for (int64_t value : whole)
    summed.push_back(divideByPowerOfTwo(static_cast<int32_t>(value), sumBits));
  auto table = [&](const std::vector<int64_t> &values) {
    return op.emit("lookup", {difference}, {{"values", values}, {"to", ElementType::i32}});
  };
  mlir::Value sum = op.emit("reduce_sum", {table(summed)}, {{"axes", axes}});
  // exponential / sum in steps of 2^-8 or 2^-16. Sums of 2^8 and more need a shift beyond 31, which TensorFlow Lite
  // leaves undefined.
  int bits = static_cast<int>(bitWidth(to.type));
  mlir::Value shift = op.emit("sub", {op.emit("count_leading_zeros", {sum}), number(op, sumBits + 31 - bits)});
  shift = op.emit("max", {shift, number(op, -31)});
  int64_t zero = limitsOf(to.type).least;
  require(to.zero == zero && to.scale == std::ldexp(1.0F, -bits),
          "the result has scale {} and zero point {}, expected 2^-{} and {}", to.scale, to.zero, bits, zero);
  op.set(op.emit("requantize", {table(whole), op.emit("fixed_reciprocal", {sum}), shift},
                 {{"to", to.type}, {"zero_point", zero}}));
}

/// Computes in real numbers like the optimised kernels, in steps of 2^-4 below zero. The reference kernels use fixed
/// point and may differ by one step.
void importLogSoftmax(Operator &op) {
  Uniform x = uniformInput(op, 0), to = uniformOutput(op);
  if (x.type == ElementType::i16 || x.type != to.type)
    op.unsupported(fmt::format("LOG_SOFTMAX of quantised {} to {}", name(x.type), name(to.type)));
  Limits all = limitsOf(to.type);
  require(to.scale == 1.0F / 16 && to.zero == all.most,
          "the result has scale {} and zero point {}, expected 2^-4 and {}", to.scale, to.zero, all.most);
  auto real = [&](double value) { return op.node.constantScalar(ElementType::f32, value); };
  // The zero point cancels.
  mlir::Value y = op.emit("mul", {op.node.cast(op.in(0), ElementType::f32), real(x.scale)});
  y = op.emit("mul", {op.emit("log_softmax", {y}, {{"axis", -1}}), real(16)});
  y = op.emit("clip", {op.emit("round", {y})}, {{"min", -255.0}, {"max", 0.0}});
  op.set(op.node.cast(op.emit("add", {y, real(static_cast<double>(to.zero))}), to.type));
}

// ---- Normalisation -------------------------------------------------------------------------------------------------

/// Multiplies each row by the inverse root of the sum of its squares, in steps of 2^-7.
void importL2Normalization(Operator &op) {
  Uniform x = uniformInput(op, 0), to = uniformOutput(op);
  bool natural = to.type == ElementType::u8;
  if (x.type == ElementType::i16 || x.type != to.type)
    op.unsupported(fmt::format("L2_NORMALIZATION of quantised {} to {}", name(x.type), name(to.type)));
  int64_t zero = natural ? 128 : 0;
  require(to.scale == 1.0F / 128 && to.zero == zero, "the result has scale {} and zero point {}, expected 2^-7 and {}",
          to.scale, to.zero, zero);
  mlir::Value centre = centred(op, op.in(0), x.zero);
  mlir::Value squares = op.emit("reduce_sum", {op.emit("mul", {centre, centre})}, {{"axes", std::vector<int64_t>{-1}}});
  Factors root = inverseRoots(op, squares);
  if (natural) // the same steps, with another rounding
    centre = op.emit("mul", {centre, number(op, 128)});
  else
    root.shift = op.emit("add", {root.shift, number(op, 7)});
  op.set(op.emit("requantize", {centre, root.multiplier, root.shift}, {{"to", to.type}, {"zero_point", to.zero}}));
}

// ---- Sums and means -----------------------------------------------------------------------------------------------

/// The number of elements in one sum.
struct Count {
  Dim extent = 1;
  mlir::Value value; // if only the run knows it: an i64, with 1 instead of 0

  bool open() const { return !extent.isConstant(); }
};

Count countOf(Operator &op, const Reduction &reduction) {
  Count count;
  for (int64_t axis : reduction.axes)
    count.extent = count.extent * op.dims(op.in(0))[static_cast<size_t>(axis)];
  if (!count.open())
    return count;
  count.value = op.node.constantInts({}, {1});
  for (int64_t axis : reduction.axes) {
    mlir::Value extent = op.emit("shape", {op.in(0)}, {{"start", axis}, {"end", axis + 1}});
    count.value = op.emit("mul", {count.value, op.node.reshape(extent, {})});
  }
  count.value = op.emit("max", {count.value, op.node.constantInts({}, {1})});
  return count;
}

/// The factor of a mean: the factor of the sum divided by the number of elements, with as many bits as fit.
Multiplier overCount(Multiplier factor, int64_t count) {
  int bits = std::min({63 - std::countl_zero(static_cast<uint64_t>(count)), 32, 31 + factor.shift});
  factor.value = static_cast<int32_t>((int64_t(factor.value) << bits) / count);
  factor.shift -= bits;
  return factor;
}

/// overCount() for a number known at run time, below 2^31.
Factors overCount(Operator &op, Multiplier factor, mlir::Value count) {
  mlir::Value zeros = op.emit("count_leading_zeros", {op.node.cast(count, ElementType::i32)});
  mlir::Value room = number(op, std::min(32, 31 + factor.shift));
  mlir::Value bits = op.emit("min", {op.emit("sub", {number(op, 31), zeros}), room});
  std::vector<int64_t> moved;
  for (int bit = 0; bit < 32; ++bit)
    moved.push_back(int64_t(factor.value) << bit);
  mlir::Value left = op.emit("gather", {op.node.constantInts({32}, moved), bits}, {{"axis", 0}});
  return {op.node.cast(op.emit("div", {left, count}), ElementType::i32),
          op.emit("sub", {number(op, factor.shift), bits})};
}

/// multiplierOf(x.scale / (count * to.scale)), in floats, for a number known at run time, below 2^31.
Factors spatialFactor(Operator &op, const Uniform &x, const Uniform &to, mlir::Value count) {
  auto real = [&](double value) { return op.node.constantScalar(ElementType::f32, value); };
  auto floats = [&](const std::vector<float> &values) {
    const char *bytes = reinterpret_cast<const char *>(values.data());
    return op.node.constant(
        {ElementType::f32, {static_cast<int64_t>(values.size())}, {bytes, bytes + values.size() * sizeof(float)}, {}});
  };
  int most = 0;
  std::frexp(x.scale / to.scale, &most);
  require(most <= 30, "the scales {} and {} are too far apart", x.scale, to.scale);
  constexpr int below = 32; // a count has at most 32 bits, and rounds up to one more
  std::vector<float> least, scale;
  std::vector<int64_t> shifts;
  for (int shift = most - below; shift <= most; ++shift) {
    least.push_back(std::ldexp(1.0F, shift - 1));
    scale.push_back(shift < -31 ? 0.0F : std::ldexp(1.0F, 31 - shift));
    shifts.push_back(std::max(shift, -31));
  }
  mlir::Value factor =
      op.emit("div", {real(x.scale), op.emit("mul", {op.node.cast(count, ElementType::f32), real(to.scale)})});
  mlir::Value reached = op.node.cast(op.emit("greater_equal", {factor, floats(least)}), ElementType::i32);
  mlir::Value place = op.emit("reduce_sum", {reached}, {{"axes", std::vector<int64_t>{0}}, {"keepdims", false}});
  place = op.emit("sub", {place, number(op, 1)});
  auto taken = [&](mlir::Value table) { return op.emit("gather", {table, place}, {{"axis", 0}}); };
  mlir::Value shift = taken(op.node.constantInts({below + 1}, shifts));
  return {op.node.cast(op.emit("mul", {factor, taken(floats(scale))}), ElementType::i32),
          op.node.cast(shift, ElementType::i32)};
}

Fields fieldsOf(const Reduction &reduction) { return {{"axes", reduction.axes}, {"keepdims", reduction.keepDims}}; }

/// The optimised mean over height and width: one factor for the sum; zero points are rounded separately.
void importSpatialMean(Operator &op, const Reduction &reduction, const Uniform &x, const Uniform &to,
                       const Count &count) {
  float offset = static_cast<float>(x.zero) * x.scale / to.scale;
  require(std::abs(offset) < 1e9F, "the zero point of the operand is {} steps of the result, expected less than 10^9",
          offset);
  auto whole = static_cast<int64_t>(offset > 0 ? offset + 0.5F : offset - 0.5F);
  mlir::Value sums = op.emit("reduce_sum", {op.node.cast(op.in(0), ElementType::i32)}, fieldsOf(reduction));
  Uniform steps = {ElementType::i32, 1, 0};
  mlir::Value scaled =
      count.open() ? requantized(op, sums, spatialFactor(op, x, to, count.value), steps, limitsOf(steps.type))
                   : rescaled(op, sums,
                              multiplierOf(double(x.scale / (static_cast<float>(count.extent.constant()) * to.scale))));
  mlir::Value y =
      op.emit("add", {scaled, op.node.constantScalar(ElementType::i32, static_cast<double>(to.zero - whole))});
  Limits all = limitsOf(to.type);
  y = op.emit("clip", {y}, {{"min", static_cast<double>(all.least)}, {"max", static_cast<double>(all.most)}});
  op.set(op.node.cast(y, to.type));
}

/// The zero points of all elements of a sum, in type `wide`.
mlir::Value zerosOf(Operator &op, const Count &count, int64_t zero, ElementType wide) {
  if (!count.open())
    return op.node.constantScalar(wide, static_cast<double>(zero * count.extent.constant()));
  return op.emit("mul", {op.node.cast(count.value, wide), op.node.constantScalar(wide, static_cast<double>(zero))});
}

/// The sum less the zero points, times a factor that includes the number of elements of a mean.
void importTotal(Operator &op) {
  Reduction reduction = readReduction(op);
  Uniform x = uniformInput(op, 0), to = uniformOutput(op);
  if (reduction.axes.empty()) // nn would take all of them
    op.unsupported(fmt::format("{} over no axis", operatorName(op.code())));
  Count count = countOf(op, reduction);
  if (!count.open() && count.extent.constant() <= 0)
    op.unsupported(fmt::format("{} over {} elements", operatorName(op.code()), count.extent.str()));
  bool spatial = op.node.rank(op.in(0)) == 4 && reduction.keepDims &&
                 (reduction.axes == std::vector<int64_t>{1, 2} || reduction.axes == std::vector<int64_t>{2, 1});
  if (op.code() == MEAN && spatial && x.type == ElementType::i8 &&
      op.node.graph.options.requantizeRounding == RequantizeRounding::optimised)
    return importSpatialMean(op, reduction, x, to, count);
  ElementType wide = x.type == ElementType::i16 ? ElementType::i64 : ElementType::i32;
  mlir::Value sums = op.emit("reduce_sum", {op.node.cast(op.in(0), wide)}, fieldsOf(reduction));
  if (x.zero)
    sums = op.emit("sub", {sums, zerosOf(op, count, x.zero, wide)});
  Multiplier factor = multiplierOf(double(x.scale) / double(to.scale));
  if (op.code() == MEAN && count.open())
    return op.set(requantized(op, sums, overCount(op, factor, count.value), to, limitsOf(to.type)));
  if (op.code() == MEAN)
    factor = overCount(factor, count.extent.constant());
  op.set(requantized(op, sums, {&factor, 1}, 0, to, limitsOf(to.type)));
}

// ---- Products -----------------------------------------------------------------------------------------------------

constexpr int64_t mostFactors = 512;

/// Multiplies one element after the other; each product gets the scale of the root of the result. QuantizedReduceProd.
void importProductOfElements(Operator &op) {
  Reduction reduction = readReduction(op);
  Uniform x = uniformInput(op, 0), to = uniformOutput(op);
  if (x.type == ElementType::u8 || x.type != to.type)
    op.unsupported(fmt::format("REDUCE_PROD of quantised {} to {}", name(x.type), name(to.type)));
  std::vector<int64_t> order = reduction.axes;
  std::sort(order.begin(), order.end());
  const Dims dims = op.dims(op.in(0));
  Dim factors = 1;
  for (int64_t axis : order)
    factors = factors * dims[static_cast<size_t>(axis)];
  if (!factors.isConstant() || factors.constant() < 1 || factors.constant() > mostFactors)
    op.unsupported(fmt::format("REDUCE_PROD of '{}' quantised elements, expected 1 to {}", factors.str(), mostFactors));
  int64_t count = factors.constant();
  Dims rows = {factors}, result;
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    bool reduced = std::count(reduction.axes.begin(), reduction.axes.end(), static_cast<int64_t>(axis)) > 0;
    if (!reduced) {
      order.push_back(static_cast<int64_t>(axis));
      rows.push_back(dims[axis]);
    }
    if (!reduced || reduction.keepDims)
      result.push_back(reduced ? Dim(1) : dims[axis]);
  }
  Multiplier factor = multiplierOf(double(x.scale) / std::pow(double(to.scale), 1.0 / static_cast<double>(count)));
  require(factor.shift >= -31 && factor.shift < 8, "the scales {} and {} are too far apart", x.scale, to.scale);
  mlir::Value all = op.node.reshape(transpose(op.node, op.in(0), order), rows);
  all = centred(op, all, x.zero, ElementType::i64);
  auto next = [&](mlir::Value product, const Uniform &type) {
    return requantized(op, product, {&factor, 1}, 0, type, limitsOf(type.type));
  };
  mlir::Value product;
  for (int64_t i = 0; i < count; ++i) {
    std::vector<int64_t> axes = {0}, begin = {i}, end = {i + 1};
    mlir::Value one = op.emit("slice", {all}, {{"starts", begin}, {"ends", end}, {"axes", axes}});
    if (product)
      product = op.node.cast(next(op.emit("mul", {product, one}), {ElementType::i32, 1, 0}), ElementType::i64);
    else
      product = one;
  }
  op.set(op.node.reshape(next(product, to), result));
}

} // namespace

void addQuantizedRows(Importers &table) {
  table[SOFTMAX] = {importSoftmax};
  table[LOG_SOFTMAX] = {importLogSoftmax};
  table[REDUCE_PROD] = {importProductOfElements};
  table[L2_NORMALIZATION] = {importL2Normalization};
  table[MEAN] = {importTotal};
  table[SUM] = {importTotal};
}

} // namespace lathe::tflite
