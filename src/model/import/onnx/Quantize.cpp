// Quantisation as plain operators: integers to real numbers and back, and products of integers less their zero points.
#include "import/onnx/Onnx.h"

#include <cmath>

namespace lathe::onnx {
namespace {

mlir::Value scalar(Node &node, mlir::Value like, double value) {
  return node.constantScalar(node.info(like).type, value);
}

/// Gives scale and zero point extents that broadcast to x: a scalar, one a position of an axis, or one a block.
mlir::Value alongAxis(Node &node, mlir::Value value, mlir::Value x, int64_t axis, int64_t blockSize) {
  Dims dims = node.info(value).dims, whole = node.info(x).dims;
  if (dims.empty() || (dims.size() == 1 && dims[0] == Dim(1)))
    return node.reshape(value, {});
  auto rank = static_cast<int64_t>(whole.size());
  axis = normalizeAxis(axis, rank, "axis");
  if (dims.size() == 1 && (rank > 1 || blockSize == 0)) {
    Dims spread(rank - axis, Dim(1));
    spread[0] = dims[0];
    return node.reshape(value, spread);
  }
  require(static_cast<int64_t>(dims.size()) == rank && blockSize > 0, "scale is {}, expected a scalar or a vector",
          str(dims));
  const Dim left = dims[axis] * blockSize - whole[axis]; // positions that are missing in the last block
  require(left.constantOr(0) >= 0 && left.constantOr(0) < blockSize,
          "scale is {}, expected one element for each {} of the {} along axis {}", str(dims), blockSize,
          whole[axis].str(), axis);
  if (!dims[axis].isConstant() || !whole[axis].isConstant()) { // the run checks that every position has its block
    mlir::Value block = node.emit("div", {countTo(node, extentOf(node, x, axis)), node.constantInts({}, {blockSize})});
    return node.emit("gather", {value, block}, {{"axis", axis}});
  }
  Dims apart = dims;
  apart.insert(apart.begin() + axis + 1, Dim(1));
  std::vector<int64_t> repeats(apart.size(), 1);
  repeats[axis + 1] = blockSize;
  value = node.emit("tile", {node.reshape(value, apart)}, {{"repeats", repeats}});
  dims[axis] = dims[axis] * blockSize;
  value = node.reshape(value, dims);
  if (left == Dim(0))
    return value;
  return node.emit("slice", {value},
                   {{"starts", std::vector<int64_t>{0}},
                    {"ends", std::vector<int64_t>{whole[axis].constant()}},
                    {"axes", std::vector<int64_t>{axis}}});
}

/// (codes - zero) * scale in float32; zero may be null.
mlir::Value blockwise(Node &node, mlir::Value codes, mlir::Value scale, mlir::Value zero) {
  if (zero)
    zero = node.cast(zero, ElementType::f32);
  scale = node.cast(scale, ElementType::f32);
  mlir::Value y = node.cast(codes, ElementType::f32); // cast last, so that constants before it are folded first
  if (zero)
    y = node.emit("sub", {y, zero});
  return node.emit("mul", {y, scale});
}

/// True for blocks along the first axis of a matrix that divide it, with one scale for each block and column.
bool hasRowBlocks(Node &node, mlir::Value x, mlir::Value scale, int64_t axis, int64_t block) {
  const Dims &whole = node.info(x).dims, &parts = node.info(scale).dims;
  return block > 0 && whole.size() == 2 && parts.size() == 2 && normalizeAxis(axis, 2, "axis") == 0 &&
         whole[0].isConstant() && parts[0].isConstant() && whole[0].constant() == parts[0].constant() * block &&
         whole[1] == parts[1] && whole[1].isConstant();
}

/// Makes the blocks an axis: the form of ir/PackedWeights.h, which a following product reads directly.
void importRowBlocks(Node &node, int64_t block, ElementType type) {
  const Dims whole = node.info(node.in(0)).dims;
  Dim blocks = whole[0].constant() / block;
  auto parameter = [&](mlir::Value value) { return node.reshape(value, {blocks, Dim(1), whole[1]}); };
  mlir::Value zero = node.inOrNull(2), scale = parameter(node.in(1)),
              codes = node.reshape(node.in(0), {blocks, Dim(block), whole[1]});
  mlir::Value y = node.reshape(blockwise(node, codes, scale, zero ? parameter(zero) : zero), whole);
  node.set(0, node.cast(y, type));
}

void importDequantizeLinear(Node &node) {
  node.expectInputs(2, 3);
  mlir::Value x = node.in(0), scale = node.in(1);
  int64_t axis = node.version() >= 13 ? node.intAttr("axis", 1) : 1;
  int64_t block = node.version() >= 21 ? node.intAttr("block_size", 0) : 0;
  ElementType type = node.info(scale).type;
  if (node.version() >= 23 && node.intAttr("output_dtype", 0) != 0)
    type = fromOnnxType(node.intAttr("output_dtype", 0));
  if (hasRowBlocks(node, x, scale, axis, block))
    return importRowBlocks(node, block, type);
  mlir::Value zero = node.has(2) ? alongAxis(node, node.in(2), x, axis, block) : mlir::Value();
  node.set(0, node.cast(blockwise(node, x, alongAxis(node, scale, x, axis, block), zero), type));
}

/// round(x / scale) + zero point, saturated to `type`.
mlir::Value quantized(Node &node, mlir::Value x, mlir::Value scale, mlir::Value zero, ElementType type, bool saturate) {
  mlir::Value y = node.emit("div", {node.cast(x, ElementType::f32), node.cast(scale, ElementType::f32)});
  if (isFloat(type))
    return node.emit("cast", {y}, {{"to", type}, {"saturate", saturate}});
  y = node.emit("round", {y});
  if (zero)
    y = node.emit("add", {y, node.cast(zero, ElementType::f32)});
  bool isSigned = isSignedInteger(type);
  double steps = std::exp2(bitWidth(type));
  y = node.emit("clip", {y}, {{"min", isSigned ? -steps / 2 : 0.0}, {"max", (isSigned ? steps / 2 : steps) - 1}});
  return node.cast(y, type);
}

void importQuantizeLinear(Node &node) {
  node.expectInputs(2, 3);
  mlir::Value x = node.in(0), zero = node.inOrNull(2);
  int64_t axis = node.version() >= 13 ? node.intAttr("axis", 1) : 1;
  int64_t block = node.version() >= 21 ? node.intAttr("block_size", 0) : 0;
  bool saturate = node.version() < 19 || node.intAttr("saturate", 1) != 0;
  ElementType type = zero ? node.info(zero).type : ElementType::u8;
  if (node.version() >= 21)
    if (auto wanted = static_cast<int32_t>(node.intAttr("output_dtype", 0)); wanted && !zero)
      type = fromOnnxType(wanted);
  if (type == ElementType::invalid)
    node.unsupported("the element type is not supported");
  if (node.version() >= 23 && node.intAttr("precision", 0) > 1)
    node.unsupported("a precision of its own");
  node.set(0, quantized(node, x, alongAxis(node, node.in(1), x, axis, block),
                        zero ? alongAxis(node, zero, x, axis, block) : zero, type, saturate));
}

/// Converts to u8 with scale and zero point from the minimum and maximum (and zero).
void importDynamicQuantizeLinear(Node &node) {
  node.expectInputs(1, 1);
  node.expectOutputs(3);
  mlir::Value x = node.in(0), none = scalar(node, x, 0);
  mlir::Value most = node.emit("max", {node.emit("reduce_max", {x}, {{"keepdims", false}}), none});
  mlir::Value least = node.emit("min", {node.emit("reduce_min", {x}, {{"keepdims", false}}), none});
  mlir::Value scale = node.emit("div", {node.emit("sub", {most, least}), scalar(node, x, 255)});
  mlir::Value zero = node.emit("div", {node.emit("neg", {least}), scale});
  zero = node.emit("round", {node.emit("clip", {zero}, {{"min", 0.0}, {"max", 255.0}})});
  zero = node.cast(zero, ElementType::u8);
  node.set(0, quantized(node, x, scale, zero, ElementType::u8, true));
  node.set(1, scale);
  node.set(2, zero);
}

/// Computes sums * a * b and requantises it.
mlir::Value requantized(Node &node, mlir::Value sums, mlir::Value a, mlir::Value b, mlir::Value scale,
                        mlir::Value zero) {
  mlir::Value factor = node.emit("mul", {node.cast(a, ElementType::f32), node.cast(b, ElementType::f32)});
  mlir::Value y = node.emit("mul", {node.cast(sums, ElementType::f32), factor});
  return quantized(node, y, scale, zero, node.info(zero).type, true);
}

void importQLinearMatMul(Node &node) {
  node.expectInputs(8, 8);
  mlir::Value a = node.in(0), b = node.in(3);
  mlir::Value sums = node.emit("matmul_integer", {a, b, node.in(2), node.in(5)});
  node.set(0, requantized(node, sums, alongAxis(node, node.in(1), a, -2, 0), alongAxis(node, node.in(4), b, -1, 0),
                          alongAxis(node, node.in(6), sums, -2, 0), alongAxis(node, node.in(7), sums, -2, 0)));
}

void importQLinearConv(Node &node) {
  node.expectInputs(8, 9);
  mlir::Value sums = emitConvInteger(node, node.in(0), node.in(3), node.in(2), node.in(5));
  if (mlir::Value bias = node.inOrNull(8))
    sums = node.emit("add", {sums, alongAxis(node, bias, sums, 1, 0)});
  node.set(0, requantized(node, sums, alongAxis(node, node.in(1), sums, 1, 0), alongAxis(node, node.in(4), sums, 1, 0),
                          alongAxis(node, node.in(6), sums, 1, 0), alongAxis(node, node.in(7), sums, 1, 0)));
}

} // namespace

void addQuantizeHandlers(Handlers &table) {
  table["DequantizeLinear"] = importDequantizeLinear;
  table["QuantizeLinear"] = importQuantizeLinear;
  table["DynamicQuantizeLinear"] = importDynamicQuantizeLinear;
  table["QLinearMatMul"] = importQLinearMatMul;
  table["QLinearConv"] = importQLinearConv;
}

} // namespace lathe::onnx
