// Matrix products, and transposed convolution.
#include "import/tflite/Tflite.h"

namespace lathe::tflite {
namespace {

using enum BuiltinOperator;

/// x * w^T + bias, where w has a row for every output.
mlir::Value product(Operator &op, mlir::Value x, bool asymmetric) {
  mlir::Value bias = op.node.inOrNull(2);
  if (!isHybrid(op))
    return op.emit("gemm", {x, op.in(1), bias}, {{"trans_b", true}});
  mlir::Value y = hybridProduct(op, x, 1, asymmetric);
  return bias ? op.emit("add", {y, bias}) : y;
}

void importFullyConnected(Operator &op) {
  const auto &options = op.options<file::FullyConnectedOptions>(BuiltinOptions::FullyConnected);
  if (options.weights_format() != file::WeightsFormat::DEFAULT)
    op.unsupported("shuffled weights");
  mlir::Value y = product(op, flattenRows(op), options.asymmetric_inputs());
  op.set(activate(op.node, restoreRows(op, y), options.activation()));
}

/// An operand gives the extents of the result; elements that the kernel writes beyond them are cut off.
void importTransposeConv(Operator &op) {
  Convolution conv = readTransposeConv(op);
  const auto &options = op.options<file::TransposeConvOptions>(BuiltinOptions::TransposeConv);
  mlir::Value y = op.emit("conv_transpose", {conv.x, conv.w, op.node.inOrNull(3)}, conv.fields());
  op.set(activate(op.node, channelsLast(op.node, y), options.activation()));
}

} // namespace

mlir::Value flattenRows(Operator &op) {
  mlir::Value x = op.in(0), w = op.in(1);
  require(op.rank(w) == 2, "the weights have rank {}, expected 2", op.rank(w));
  Dims all = op.dims(x);
  const Dim inner = op.dims(w)[1];
  require(!all.empty() && inner.isConstant(), "the operand is a scalar or the weights have an unknown extent");
  if (all.size() == 2 && all[1] == inner)
    return x;
  return op.emit("reshape", {x}, {{"shape", std::vector<int64_t>{-1, inner.constant()}}});
}

mlir::Value restoreRows(Operator &op, mlir::Value y) {
  const auto &options = op.options<file::FullyConnectedOptions>(BuiltinOptions::FullyConnected);
  Dims all = op.dims(op.in(0));
  if (!options.keep_dims() || all.size() == 2)
    return y;
  all.back() = op.dims(y)[1];
  return op.node.reshape(y, all);
}

Convolution readTransposeConv(Operator &op) {
  const auto &options = op.options<file::TransposeConvOptions>(BuiltinOptions::TransposeConv);
  std::vector<int64_t> shape = op.node.requireInts(0, "the shape of the result");
  mlir::Value w = op.in(1), x = op.in(2);
  require(shape.size() == 4 && op.rank(w) == 4 && op.rank(x) == 4,
          "has a shape of {} extents and operands of ranks {} and {}, expected 4", shape.size(), op.rank(w),
          op.rank(x));
  Convolution conv;
  conv.window.strides = {options.stride_h(), options.stride_w()};
  conv.window.dilations = {1, 1};
  Ints extents;
  for (size_t i = 0; i < 2; ++i) {
    extents.push_back(knownExtent(op, op.dims(x)[1 + i], "the operand"));
    conv.window.kernel.push_back(knownExtent(op, op.dims(w)[1 + i], "the weights"));
  }
  TransposedPads pads =
      transposedPads(extents, {shape[1], shape[2]}, conv.window, options.padding() == file::Padding::SAME);
  conv.window.pads = pads.pads;
  conv.outputPadding = pads.outputPadding;
  conv.x = channelsFirst(op.node, x);
  conv.w = transpose(op.node, w, {3, 0, 1, 2}); // O x H x W x C
  return conv;
}

void addProductImporters(Importers &table) {
  table[FULLY_CONNECTED] = {importFullyConnected, {2, 3}};
  table[TRANSPOSE_CONV] = {importTransposeConv, {3, 4}};
}

} // namespace lathe::tflite
