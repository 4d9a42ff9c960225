// Hybrid operators: the weights are 8-bit integers, the activations are floats. Each image or row of the activations is
// quantised at run time by its largest element. Source: TensorFlow Lite, internal/tensor_utils
// (SymmetricQuantizeFloats, AsymmetricQuantizeFloats).
#include "import/tflite/Tflite.h"

namespace lathe::tflite {
namespace {

/// A vector of floats along axis `axis` of a tensor of rank `rank`, or a scalar.
mlir::Value scalesOf(Node &node, const Quantization &from, int64_t rank, int64_t axis) {
  TensorData data{ElementType::f32, {}, {}, {}};
  if (from.perChannel()) {
    data.dims.assign(static_cast<size_t>(rank), 1);
    data.dims[static_cast<size_t>(axis)] = static_cast<int64_t>(from.scales.size());
  }
  const char *bytes = reinterpret_cast<const char *>(from.scales.data());
  data.bytes.assign(bytes, bytes + from.scales.size() * sizeof(float));
  return node.constant(data);
}

mlir::Value extreme(Node &node, const char *mnemonic, mlir::Value x) {
  std::vector<int64_t> axes;
  for (int64_t axis = 1; axis < node.rank(x); ++axis)
    axes.push_back(axis);
  return node.emit(mnemonic, {x}, {{"axes", axes}, {"keepdims", true}});
}

} // namespace

QuantizedActivations quantizeActivations(Node &node, mlir::Value x, bool asymmetric) {
  ElementType type = ElementType::f32;
  auto number = [&](double value) { return node.constantScalar(type, value); };
  require(node.info(x).type == type, "the operand is {}, expected f32 beside quantised weights",
          name(node.info(x).type));
  QuantizedActivations result;
  if (!asymmetric) {
    mlir::Value range = extreme(node, "reduce_max", node.emit("abs", {x}));
    // For an image of zeros every quotient is 0, whatever the scale is.
    mlir::Value nothing = node.emit("equal", {range, number(0)});
    mlir::Value safe = node.emit("where", {nothing, number(127), range});
    mlir::Value rounded = roundAway(node, node.emit("mul", {x, node.emit("div", {number(127), safe})}));
    result.x = node.cast(node.emit("clip", {rounded}, {{"min", -127.0}, {"max", 127.0}}), ElementType::i8);
    result.scale = node.emit("div", {safe, number(127)});
    return result;
  }
  // Of the zero points computed from both ends, takes the one with the smaller rounding error; computes in 64 bits.
  auto wide = [&](double value) { return node.constantScalar(ElementType::f64, value); };
  mlir::Value low = node.cast(node.emit("min", {extreme(node, "reduce_min", x), number(0)}), ElementType::f64);
  mlir::Value high = node.cast(node.emit("max", {extreme(node, "reduce_max", x), number(0)}), ElementType::f64);
  mlir::Value span = node.emit("sub", {high, low});
  mlir::Value nothing = node.emit("equal", {span, wide(0)});
  mlir::Value scale = node.emit("where", {nothing, wide(1), node.emit("div", {span, wide(255)})});
  mlir::Value fromLow = node.emit("sub", {wide(-128), node.emit("div", {low, scale})});
  mlir::Value fromHigh = node.emit("sub", {wide(127), node.emit("div", {high, scale})});
  auto magnitude = [&](mlir::Value value) { return node.emit("abs", {node.emit("div", {value, scale})}); };
  mlir::Value lowErrs = node.emit(
      "less", {node.emit("add", {wide(128), magnitude(low)}), node.emit("add", {wide(127), magnitude(high)})});
  mlir::Value zero = node.emit("where", {lowErrs, fromLow, fromHigh});
  zero = node.emit("clip", {roundAway(node, zero)}, {{"min", -128.0}, {"max", 127.0}});
  zero = node.cast(node.emit("where", {nothing, wide(0), zero}), type);
  result.scale = node.cast(scale, type);
  mlir::Value shifted = node.emit("add", {zero, node.emit("mul", {x, node.emit("div", {number(1), result.scale})})});
  mlir::Value rounded = node.emit("clip", {roundAway(node, shifted)}, {{"min", -128.0}, {"max", 127.0}});
  // Products of 9 and 8 bits are exact in 32 bits.
  result.x = node.cast(rounded, ElementType::i8);
  result.zero = node.cast(zero, ElementType::i32);
  return result;
}

bool isHybrid(const Operator &op, size_t weights) {
  ElementType type = op.inputType(weights);
  return op.inputType(0) == ElementType::f32 && isByte(type) && op.inputQuantization(weights).has_value();
}

void requireHybridWeights(Operator &op, size_t weights) {
  if (op.inputType(weights) != ElementType::i8)
    op.unsupported("the weights of a hybrid operator are u8, expected i8");
  const Quantization from = *op.inputQuantization(weights);
  for (int64_t point : from.zeroPoints)
    if (point != 0)
      op.unsupported("the weights of a hybrid operator have a zero point other than 0");
}

mlir::Value hybridResult(Operator &op, mlir::Value sums, const QuantizedActivations &x, size_t weights, int64_t axis) {
  Node &node = op.node;
  mlir::Value scale =
      node.emit("mul", {x.scale, scalesOf(node, *op.inputQuantization(weights), node.rank(sums), axis)});
  return node.emit("mul", {node.cast(sums, ElementType::f32), scale});
}

mlir::Value hybridProduct(Operator &op, mlir::Value x, size_t weights, bool asymmetric) {
  requireHybridWeights(op, weights);
  QuantizedActivations q = quantizeActivations(op.node, x, asymmetric);
  mlir::Value w = transpose(op.node, op.in(weights), {1, 0});
  mlir::Value sums = op.emit("matmul_integer", {q.x, w});
  if (q.zero) { // sum of (x - zero) w = sum of x w - zero * sum of w
    mlir::Value columns = op.emit("reduce_sum", {op.node.cast(w, ElementType::i32)},
                                  {{"axes", std::vector<int64_t>{0}}, {"keepdims", true}});
    sums = op.emit("sub", {sums, op.emit("mul", {q.zero, columns})});
  }
  return hybridResult(op, sums, q, weights, 1);
}

} // namespace lathe::tflite
