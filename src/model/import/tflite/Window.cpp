// Operators with a sliding window: convolution, pooling. nn has channels first, TFLite last: importers put transposes
// around operators, and the passes cancel pairs of transposes between two operators.
#include "import/tflite/Tflite.h"

namespace lathe::tflite {
namespace {

using enum BuiltinOperator;

std::vector<int64_t> kernelOf(Node &node, const Dims &w, size_t first, size_t count) {
  std::vector<int64_t> kernel;
  for (size_t i = first; i < first + count; ++i) {
    if (!w.at(i).isConstant())
      node.unsupported("the kernel's extents are not known");
    kernel.push_back(w[i].constant());
  }
  return kernel;
}

int64_t constantExtent(Operator &op, mlir::Value value, size_t axis, const char *what) {
  const Dims &dims = op.dims(value);
  require(axis < dims.size(), "{} has rank {}, expected more than {}", what, dims.size(), axis);
  if (!dims[axis].isConstant())
    op.unsupported(fmt::format("extent '{}' of {} is not known", dims[axis].str(), what));
  return dims[axis].constant();
}

/// Integer products of the quantised operand. The result has the channels last.
mlir::Value hybridConvolution(Operator &op, const Convolution &conv) {
  requireHybridWeights(op, 1);
  QuantizedActivations x = quantizeActivations(op.node, op.in(0), /*asymmetric=*/false);
  mlir::Value sums = op.emit("conv_integer", {channelsFirst(op.node, x.x), conv.w}, conv.fields());
  mlir::Value y = hybridResult(op, channelsLast(op.node, sums), x, 1, 3);
  return op.node.has(2) ? op.emit("add", {y, op.in(2)}) : y;
}

void importConvolution(Operator &op) {
  Convolution conv = readConvolution(op);
  mlir::Value y = isHybrid(op)
                      ? hybridConvolution(op, conv)
                      : channelsLast(op.node, op.emit("conv", {conv.x, conv.w, op.node.inOrNull(2)}, conv.fields()));
  op.set(activate(op.node, y, activationOf(op)));
}

/// Imports CONV_3D; the weights are D x H x W x C x O.
void importConv3D(Operator &op) {
  const auto &options = op.options<file::Conv3DOptions>(BuiltinOptions::Conv3D);
  mlir::Value x = op.in(0), w = op.in(1);
  require(op.node.rank(x) == 5 && op.node.rank(w) == 5, "operands have ranks {} and {}, expected 5", op.node.rank(x),
          op.node.rank(w));
  Window window{kernelOf(op.node, op.dims(w), 0, 3),
                {options.stride_d(), options.stride_h(), options.stride_w()},
                {options.dilation_d(), options.dilation_h(), options.dilation_w()},
                {}};
  window = padded(op.node, x, options.padding(), std::move(window));
  int64_t channels = constantExtent(op, x, 4, "the operand"), each = constantExtent(op, w, 3, "the weights");
  require(each > 0 && channels % each == 0, "the weights have {} input channels, expected a divisor of {}", each,
          channels);
  Fields fields = window.fields();
  fields.emplace_back("group", channels / each);
  mlir::Value y =
      op.emit("conv", {channelsFirst(op.node, x), transpose(op.node, w, {4, 3, 0, 1, 2}), op.node.inOrNull(2)}, fields);
  op.set(activate(op.node, channelsLast(op.node, y), options.activation()));
}

void importPool(Operator &op) {
  Window window = readPool(op);
  Fields fields = window.fields();
  fields.emplace_back("kernel", window.kernel);
  mlir::Value x = channelsFirst(op.node, op.in(0)), y;
  if (op.code() == L2_POOL_2D) // square root of the mean of squares
    y = op.emit("sqrt", {op.emit("average_pool", {op.emit("mul", {x, x})}, fields)});
  else
    y = op.emit(op.code() == MAX_POOL_2D ? "max_pool" : "average_pool", {x}, fields);
  op.set(activate(op.node, channelsLast(op.node, y), activationOf(op)));
}

} // namespace

Fields Convolution::fields() const {
  Fields fields = window.fields();
  fields.emplace_back("group", group);
  if (!outputPadding.empty())
    fields.emplace_back("output_padding", outputPadding);
  return fields;
}

Window padded(Node &node, mlir::Value x, file::Padding padding, Window window) {
  require(padding == file::Padding::SAME || padding == file::Padding::VALID, "padding is {}, expected SAME or VALID",
          static_cast<int>(padding));
  return source::padded(node.info(x).dims, 1, padding == file::Padding::SAME, std::move(window));
}

Convolution readConvolution(Operator &op) {
  mlir::Value x = op.in(0), w = op.in(1);
  require(op.node.rank(x) == 4 && op.node.rank(w) == 4, "operands have ranks {} and {}, expected 4", op.node.rank(x),
          op.node.rank(w));
  Convolution conv;
  conv.window.kernel = kernelOf(op.node, op.dims(w), 1, 2);
  int64_t channels = constantExtent(op, x, 3, "the operand");
  file::Padding padding;
  if (op.code() == DEPTHWISE_CONV_2D) {
    const auto &options = op.options<file::DepthwiseConv2DOptions>(BuiltinOptions::DepthwiseConv2D);
    conv.window.strides = {options.stride_h(), options.stride_w()};
    conv.window.dilations = {options.dilation_h(), options.dilation_w()};
    padding = options.padding();
    int64_t outputs = constantExtent(op, w, 3, "the weights");
    require(channels > 0 && outputs % channels == 0, "has {} output channels, expected a multiple of {}", outputs,
            channels);
    conv.group = channels;
    conv.w = transpose(op.node, w, {3, 0, 1, 2}); // 1 x H x W x O
  } else {
    const auto &options = op.options<file::Conv2DOptions>(BuiltinOptions::Conv2D);
    conv.window.strides = {options.stride_h(), options.stride_w()};
    conv.window.dilations = {options.dilation_h(), options.dilation_w()};
    padding = options.padding();
    int64_t each = constantExtent(op, w, 3, "the weights");
    require(each > 0 && channels % each == 0, "the weights have {} input channels, expected a divisor of {}", each,
            channels);
    conv.group = channels / each;
    conv.w = channelsFirst(op.node, w); // O x H x W x C/group
  }
  conv.window = padded(op.node, x, padding, std::move(conv.window));
  conv.x = channelsFirst(op.node, x);
  return conv;
}

Window readPool(Operator &op) {
  const auto &options = op.options<file::Pool2DOptions>(BuiltinOptions::Pool2D);
  Window window{{options.filter_h(), options.filter_w()}, {options.stride_h(), options.stride_w()}, {1, 1}, {}};
  return padded(op.node, op.in(0), options.padding(), std::move(window));
}

Activation activationOf(const Operator &op) {
  switch (op.code()) {
  case CONV_2D:
    return op.options<file::Conv2DOptions>(BuiltinOptions::Conv2D).activation();
  case DEPTHWISE_CONV_2D:
    return op.options<file::DepthwiseConv2DOptions>(BuiltinOptions::DepthwiseConv2D).activation();
  default:
    return op.options<file::Pool2DOptions>(BuiltinOptions::Pool2D).activation();
  }
}

void addWindowImporters(Importers &table) {
  table[CONV_2D] = {importConvolution, {2, 3}};
  table[DEPTHWISE_CONV_2D] = {importConvolution, {2, 3}};
  table[CONV_3D] = {importConv3D, {2, 3}};
  for (BuiltinOperator code : {AVERAGE_POOL_2D, MAX_POOL_2D, L2_POOL_2D})
    table[code] = {importPool, 1};
}

} // namespace lathe::tflite
