// Contractions and pools of quantised tensors: integer sums, the bias, one requantisation.
#include "import/tflite/QuantizedParts.h"

namespace lathe::tflite {
namespace {

using enum BuiltinOperator;

/// The parts of a contraction: integer operands, scales and zero points.
struct Contraction {
  Uniform x, to;
  ElementType weights = ElementType::invalid;
  Quantization scales; // scales of the weights
  std::vector<Multiplier> factors;
  ElementType sums() const { return x.type == ElementType::i16 ? ElementType::i64 : ElementType::i32; }
};

/// Reads operands `input` and `weights`. Scales by channel multiply as doubles, a single scale first as a float, as in
/// TensorFlow Lite.
Contraction readContraction(Operator &op, size_t input, size_t weights) {
  Contraction c{uniformInput(op, input), uniformOutput(op), op.inputType(weights), {}, {}};
  require(isByte(c.weights), "the weights are {}, expected i8 or u8", name(c.weights));
  require((c.x.type == ElementType::u8) == (c.weights == ElementType::u8), "the operand is {}, the weights are {}",
          name(c.x.type), name(c.weights));
  auto scales = op.inputQuantization(weights);
  require(scales.has_value(), "the weights have no scale");
  c.scales = *scales;
  bool byTensor = c.x.type == ElementType::u8 || op.code() == FULLY_CONNECTED;
  for (float scale : c.scales.scales) {
    double product = byTensor && !c.scales.perChannel() ? double(c.x.scale * scale) : double(c.x.scale) * double(scale);
    c.factors.push_back(multiplierOf(product / double(c.to.scale)));
  }
  return c;
}

/// A zero point as an operand of conv_integer; null for 0.
mlir::Value zeroPoint(Operator &op, ElementType type, int64_t zero) {
  return zero ? op.node.constantScalar(type, static_cast<double>(zero)) : mlir::Value();
}

/// The zero point of the weights, which all channels share.
int64_t weightsZero(const Contraction &c) {
  for (int64_t zero : c.scales.zeroPoints)
    require(zero == c.scales.zeroPoints[0], "the weights have zero points {} and {}, expected equal ones",
            c.scales.zeroPoints[0], zero);
  return c.scales.zeroPoints[0];
}

/// Adds the bias to the sums and requantises them. The axis of the output channels has `trailing` axes behind it.
mlir::Value finished(Operator &op, const Contraction &c, mlir::Value sums, mlir::Value bias, int64_t trailing,
                     Activation activation) {
  if (bias) {
    Dims spread(static_cast<size_t>(trailing) + 1, Dim(1));
    spread[0] = product(op.dims(bias));
    if (trailing)
      bias = op.node.reshape(bias, spread);
    sums = op.emit("add", {sums, op.node.cast(bias, c.sums())});
  }
  // The optimised kernels round int8 convolutions and fully connected layers once, but not depthwise convolutions.
  bool once = c.x.type == ElementType::i8 && (op.code() == CONV_2D || op.code() == FULLY_CONNECTED);
  return requantized(op, sums, c.factors, trailing, c.to, limitsOf(op, c.to, activation), once);
}

void importConvolution(Operator &op) {
  Convolution conv = readConvolution(op);
  Contraction c = readContraction(op, 0, 1);
  Fields fields = conv.fields();
  mlir::Value sums;
  if (c.sums() == ElementType::i64)
    sums = op.emit("conv", {op.node.cast(conv.x, ElementType::i64), op.node.cast(conv.w, ElementType::i64)}, fields);
  else
    sums =
        op.emit("conv_integer",
                {conv.x, conv.w, zeroPoint(op, c.x.type, c.x.zero), zeroPoint(op, c.weights, weightsZero(c))}, fields);
  op.set(channelsLast(op.node, finished(op, c, sums, op.node.inOrNull(2), 2, activationOf(op))));
}

/// The product of matrices a and b less their zero points, in the type of the sums.
mlir::Value integerProduct(Operator &op, mlir::Value a, const Uniform &x, mlir::Value b, ElementType type,
                           int64_t zero) {
  if (x.type != ElementType::i16)
    return op.emit("matmul_integer", {a, b, zeroPoint(op, x.type, x.zero), zeroPoint(op, type, zero)});
  return op.emit("matmul", {op.node.cast(a, ElementType::i64), centred(op, b, zero, ElementType::i64)});
}

void importFullyConnected(Operator &op) {
  const auto &options = op.options<file::FullyConnectedOptions>(BuiltinOptions::FullyConnected);
  if (options.weights_format() != file::WeightsFormat::DEFAULT)
    op.unsupported("shuffled weights");
  Contraction c = readContraction(op, 0, 1);
  mlir::Value x = flattenRows(op), w = transpose(op.node, op.in(1), {1, 0});
  mlir::Value sums = integerProduct(op, x, c.x, w, c.weights, weightsZero(c));
  op.set(restoreRows(op, finished(op, c, sums, op.node.inOrNull(2), 0, options.activation())));
}

/// Sums of 32-bit integers: the phases of the stride become an ordinary convolution.
void importTransposeConv(Operator &op) {
  Convolution conv = readTransposeConv(op);
  Contraction c = readContraction(op, 2, 1);
  mlir::Value x = centred(op, conv.x, c.x.zero, c.sums()), w = centred(op, conv.w, weightsZero(c), c.sums());
  Activation activation = op.options<file::TransposeConvOptions>(BuiltinOptions::TransposeConv).activation();
  mlir::Value sums = op.emit("conv_transpose", {x, w}, conv.fields());
  op.set(channelsLast(op.node, finished(op, c, sums, op.node.inOrNull(3), 2, activation)));
}

void importBatchMatmul(Operator &op) {
  const auto &options = op.options<file::BatchMatMulOptions>(BuiltinOptions::BatchMatMul);
  Uniform a = uniformInput(op, 0), b = uniformInput(op, 1), to = uniformOutput(op);
  auto turned = [&](mlir::Value x, bool turns) {
    if (!turns)
      return x;
    std::vector<int64_t> perm;
    for (int64_t axis = 0; axis < op.node.rank(x); ++axis)
      perm.push_back(axis);
    require(perm.size() >= 2, "an operand has rank {}, expected at least 2", perm.size());
    std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
    return transpose(op.node, x, perm);
  };
  mlir::Value left = turned(op.in(0), options.adj_x()), right = turned(op.in(1), options.adj_y());
  mlir::Value sums = integerProduct(op, left, a, right, b.type, b.zero);
  Multiplier factor = multiplierOf(double(a.scale) * double(b.scale) / double(to.scale));
  op.set(requantized(op, sums, {&factor, 1}, 0, to, limitsOf(to.type)));
}

// ---- Pools --------------------------------------------------------------------------------------------------------

void importMaxPool(Operator &op) {
  Window window = readPool(op);
  Uniform x = uniformInput(op, 0), to = uniformOutput(op);
  require(x == to, "the operand and the result have different scales or zero points");
  Fields fields = window.fields();
  fields.emplace_back("kernel", window.kernel);
  mlir::Value y = op.emit("max_pool", {channelsFirst(op.node, op.in(0))}, fields);
  op.set(channelsLast(op.node, clamped(op, y, to.type, limitsOf(op, to, activationOf(op)))));
}

/// Sums over windows of `first`, which has the channels first, in i32. A window that covers all of x is a reduction.
mlir::Value windowSums(Operator &op, const Window &window, mlir::Value first) {
  ElementType type = op.node.info(first).type;
  Dims in = op.dims(first);
  if (in[2] == Dim(window.kernel[0]) && in[3] == Dim(window.kernel[1]) && window.pads == std::vector<int64_t>(4, 0))
    return op.emit("reduce_sum", {op.node.cast(first, ElementType::i32)}, {{"axes", std::vector<int64_t>{2, 3}}});
  if (!in[1].isConstant())
    op.unsupported("an average of an unknown number of channels");
  int64_t channels = in[1].constant(), area = window.kernel[0] * window.kernel[1];
  TensorData ones;
  ones.type = type == ElementType::u8 ? ElementType::u8 : ElementType::i8;
  ones.dims = {channels, 1, window.kernel[0], window.kernel[1]};
  ones.bytes.assign(static_cast<size_t>(madeElements(ones.dims, "the window")), 1);
  Fields fields = window.fields();
  fields.emplace_back("group", channels);
  require(area < 1 << 22, "the window has {} elements, expected less than 2^22", area);
  if (type == ElementType::i16) // fits for sums of less than 2^22 elements
    return op.emit("conv",
                   {op.node.cast(first, ElementType::i32), op.node.cast(op.node.constant(ones), ElementType::i32)},
                   fields);
  return op.emit("conv_integer", {first, op.node.constant(ones), {}, {}}, fields);
}

/// The number of elements of x in each window, along one axis.
std::vector<int32_t> counts(const Window &window, size_t axis, int64_t in, int64_t out) {
  std::vector<int32_t> result;
  for (int64_t i = 0; i < out; ++i) {
    int64_t first = i * window.strides[axis] - window.pads[axis];
    result.push_back(static_cast<int32_t>(std::min(first + window.kernel[axis], in) - std::max<int64_t>(first, 0)));
  }
  return result;
}

/// The number of elements of x in each window: one number, or one a position (H x W).
mlir::Value windowSizes(Operator &op, const Window &window, mlir::Value sums) {
  bool pads = std::any_of(window.pads.begin(), window.pads.end(), [](int64_t pad) { return pad != 0; });
  if (!pads)
    return op.node.constantScalar(ElementType::i32, static_cast<double>(window.kernel[0] * window.kernel[1]));
  Dims in = op.dims(op.in(0)), out = op.dims(sums);
  if (!allConstant(std::span(in).subspan(1, 2))) { // counts at run time, over an image of ones
    mlir::Value x = channelsFirst(op.node, cut(op, op.in(0), 3, 0, 1));
    return windowSums(op, window, op.node.cast(op.emit("equal", {x, x}), ElementType::u8));
  }
  madeElements({out[2].constant(), out[3].constant()}, "a padded average");
  std::vector<int32_t> rows = counts(window, 0, in[1].constant(), out[2].constant());
  std::vector<int32_t> columns = counts(window, 1, in[2].constant(), out[3].constant()), all;
  for (int32_t row : rows)
    for (int32_t column : columns)
      all.push_back(row * column);
  TensorData data;
  data.type = ElementType::i32;
  data.dims = {static_cast<int64_t>(rows.size()), static_cast<int64_t>(columns.size())};
  const char *bytes = reinterpret_cast<const char *>(all.data());
  data.bytes.assign(bytes, bytes + all.size() * sizeof(int32_t));
  return op.node.constant(data);
}

/// (sum + half the number of elements, away from zero) / number of elements.
void importAveragePool(Operator &op) {
  Window window = readPool(op);
  Uniform x = uniformInput(op, 0), to = uniformOutput(op);
  require(x == to, "the operand and the result have different scales or zero points");
  mlir::Value sums = windowSums(op, window, channelsFirst(op.node, op.in(0))), count = windowSizes(op, window, sums);
  mlir::Value half = op.emit("div", {count, op.node.constantScalar(ElementType::i32, 2)});
  mlir::Value up = op.emit("add", {sums, half});
  if (x.type != ElementType::u8) {
    mlir::Value positive = op.emit("greater", {sums, op.node.constantScalar(ElementType::i32, 0)});
    up = op.emit("where", {positive, up, op.emit("sub", {sums, half})});
  }
  Limits limits = limitsOf(op, to, activationOf(op));
  mlir::Value mean = op.emit("clip", {op.emit("div", {up, count})},
                             {{"min", static_cast<double>(limits.least)}, {"max", static_cast<double>(limits.most)}});
  op.set(channelsLast(op.node, op.node.cast(mean, to.type)));
}

} // namespace

void addQuantizedWindow(Importers &table) {
  table[CONV_2D] = {importConvolution};
  table[DEPTHWISE_CONV_2D] = {importConvolution};
  table[FULLY_CONNECTED] = {importFullyConnected};
  table[TRANSPOSE_CONV] = {importTransposeConv};
  table[BATCH_MATMUL] = {importBatchMatmul};
  table[MAX_POOL_2D] = {importMaxPool};
  table[AVERAGE_POOL_2D] = {importAveragePool};
}

} // namespace lathe::tflite
