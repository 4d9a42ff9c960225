// Operators that combine the elements of rows: softmax, sums, means, extreme values.
#include "import/tflite/QuantizedParts.h"

#include <bit>
#include <cmath>

namespace lathe::tflite {
namespace {

using enum BuiltinOperator;

// ---- Softmax ------------------------------------------------------------------------------------------------------

constexpr int differenceBits = 5, sumBits = 12; // integer bits of the differences and of sums of exponentials

/// e^(-d * scale * beta) of differences d from the greatest element, without integer bits; 0 beyond what they can hold.
std::vector<int64_t> exponentials(float scale, float beta) {
  double factor = std::min(double(beta) * double(scale) * double(1 << (31 - differenceBits)), 2147483647.0);
  Multiplier multiplier = multiplierOf(factor);
  int32_t radius = inputRadius(differenceBits, multiplier.shift);
  std::vector<int64_t> values;
  for (int32_t d = 0; d < 256; ++d)
    values.push_back(d > radius ? 0 : expOfNegative(scaled(-d, multiplier), differenceBits));
  return values;
}

void importSoftmax(Operator &op) {
  op.node.expectInputs(1, 1);
  Uniform x = uniformInput(op, 0), to = uniformOutput(op);
  if (x.type == ElementType::i16 || to.type == ElementType::i16)
    op.unsupported("SOFTMAX of quantised i16");
  float beta = op.options<file::SoftmaxOptions>(BuiltinOptions::Softmax).beta();
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
  // exponential / sum in steps of 2^-8. A sum of 2^8 and more takes a shift beyond 31, which TensorFlow Lite leaves undefined.
  auto number = [&](double value) { return op.node.constantScalar(ElementType::i32, value); };
  mlir::Value shift = op.emit("sub", {op.emit("count_leading_zeros", {sum}), number(sumBits + 31 - 8)});
  shift = op.emit("max", {shift, number(-31)});
  int64_t zero = to.type == ElementType::u8 ? 0 : -128;
  require(to.zero == zero && to.scale == 1.0F / 256, "the result has scale {} and zero point {}, expected 2^-8 and {}",
          to.scale, to.zero, zero);
  op.set(op.emit("requantize", {table(whole), op.emit("fixed_reciprocal", {sum}), shift},
                 {{"to", to.type}, {"zero_point", zero}}));
}

// ---- Sums and means -----------------------------------------------------------------------------------------------

Fields fieldsOf(const Reduction &reduction) { return {{"axes", reduction.axes}, {"keepdims", reduction.keepDims}}; }

/// The optimised mean over height and width: one factor for the sum, the zero points rounded apart.
void importSpatialMean(Operator &op, const Reduction &reduction, const Uniform &x, const Uniform &to, int64_t count) {
  float offset = static_cast<float>(x.zero) * x.scale / to.scale;
  auto whole = static_cast<int64_t>(offset > 0 ? offset + 0.5F : offset - 0.5F);
  Multiplier factor = multiplierOf(double(x.scale / (static_cast<float>(count) * to.scale)));
  mlir::Value sums = op.emit("reduce_sum", {op.node.cast(op.in(0), ElementType::i32)}, fieldsOf(reduction));
  mlir::Value y = op.emit("add", {rescaled(op, sums, factor),
                                  op.node.constantScalar(ElementType::i32, static_cast<double>(to.zero - whole))});
  Limits all = limitsOf(to.type);
  y = op.emit("clip", {y}, {{"min", static_cast<double>(all.least)}, {"max", static_cast<double>(all.most)}});
  op.set(op.node.cast(y, to.type));
}

/// The sum less the zero points, times a factor that holds the number of elements of a mean.
void importTotal(Operator &op) {
  op.node.expectInputs(2, 2);
  Reduction reduction = readReduction(op);
  Uniform x = uniformInput(op, 0), to = uniformOutput(op);
  Dim elements = 1;
  for (int64_t axis : reduction.axes)
    elements = elements * op.dims(op.in(0))[static_cast<size_t>(axis)];
  if (!elements.isConstant() || elements.constant() <= 0)
    op.unsupported(fmt::format("{} over {} elements", operatorName(op.code()), elements.str()));
  int64_t count = elements.constant();
  if (reduction.axes.empty()) // nn would take all of them
    op.unsupported(fmt::format("{} over no axis", operatorName(op.code())));
  bool spatial = op.node.rank(op.in(0)) == 4 && reduction.keepDims &&
                 (reduction.axes == std::vector<int64_t>{1, 2} || reduction.axes == std::vector<int64_t>{2, 1});
  if (op.code() == MEAN && spatial && x.type == ElementType::i8 &&
      op.node.graph.options.requantizeRounding == RequantizeRounding::optimised)
    return importSpatialMean(op, reduction, x, to, count);
  Multiplier factor = multiplierOf(double(x.scale) / double(to.scale));
  if (op.code() == MEAN) {
    int bits = std::min({63 - std::countl_zero(static_cast<uint64_t>(count)), 32, 31 + factor.shift});
    factor.value = static_cast<int32_t>((int64_t(factor.value) << bits) / count);
    factor.shift -= bits;
  }
  ElementType wide = x.type == ElementType::i16 ? ElementType::i64 : ElementType::i32;
  mlir::Value sums = op.emit("reduce_sum", {op.node.cast(op.in(0), wide)}, fieldsOf(reduction));
  if (x.zero)
    sums = op.emit("sub", {sums, op.node.constantScalar(wide, static_cast<double>(x.zero * count))});
  op.set(requantized(op, sums, {&factor, 1}, 0, to, limitsOf(to.type)));
}

} // namespace

void addQuantizedRows(Importers &table) {
  table[SOFTMAX] = {importSoftmax};
  table[MEAN] = {importTotal};
  table[SUM] = {importTotal};
}

} // namespace lathe::tflite
