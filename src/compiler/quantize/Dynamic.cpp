// Weights in int8 and inputs quantised while the model runs.
#include "quantize/Graph.h"

#include <algorithm>

namespace lathe::quantize {
namespace {

/// Zero point that makes inputs unsigned. Its share of the sums is constant.
constexpr int64_t middle = 128;
constexpr double most = 127;

/// One matrix product with constant weights.
class DynamicProduct {
public:
  explicit DynamicProduct(const Layer &layer) : layer(layer), op(layer.op), b(op), loc(op->getLoc()) {}

  void run() {
    mlir::Value x = op->getOperand(0);
    Tensor weights = columns();
    QuantizedWeights quantized =
        quantizeWeights({weights.as<float>(), weights.as<float>() + weights.elements()}, weights.dims(), 1);
    const int64_t outputs = weights.dim(1);
    std::vector<double> zeroShare(static_cast<size_t>(outputs), 0.0);
    for (size_t i = 0; i < quantized.values.size(); ++i)
      zeroShare[i % zeroShare.size()] -= static_cast<double>(middle) * quantized.values[i];

    mlir::Value scale = rowScales(x),
                sums = nn::buildValue(b, loc, "matmul_integer",
                                      {bytes(x, scale),
                                       constant(Tensor::of<int8_t>(weights.dims(), quantized.values), ".w_quantized"),
                                       {},
                                       {}},
                                      MatMulIntegerAttrs());
    sums = nn::buildValue(b, loc, "add", {sums, numbers(ElementType::i32, {outputs}, zeroShare, ".zero")}, AddAttrs());
    mlir::Value result = cast(sums, ElementType::f32);
    result = nn::buildValue(
        b, loc, "mul", {result, numbers(ElementType::f32, {outputs}, quantized.scale.scale, ".w_scale")}, MulAttrs());
    result = nn::buildValue(b, loc, "mul", {result, scale}, MulAttrs());
    if (mlir::Value bias = operandOf(op, 2))
      result = nn::buildValue(b, loc, "add",
                              {result, numbers(ElementType::f32, {outputs}, toDoubles(*constantOf(bias)), ".bias")},
                              AddAttrs());
    result.setType(op->getResult(0).getType());
    replaceWith(op, result);
  }

private:
  const Layer &layer;
  mlir::Operation *op;
  mlir::OpBuilder b;
  mlir::Location loc;

  mlir::Value constant(const Tensor &tensor, const char *suffix) {
    return makeConstant(b, loc, tensor, constantName(op, suffix));
  }
  mlir::Value numbers(ElementType type, std::vector<int64_t> dims, const std::vector<double> &values,
                      const char *suffix) {
    return makeConstant(b, loc, type, std::move(dims), values, constantName(op, suffix));
  }
  mlir::Value cast(mlir::Value value, ElementType type) {
    CastAttrs attrs;
    attrs.to = type;
    return nn::buildValue(b, loc, "cast", {value}, std::move(attrs));
  }

  /// The weights as K x N.
  Tensor columns() {
    Tensor weights = *constantOf(op->getOperand(1));
    if (layer.weightAxis == 1)
      return weights;
    Tensor turned(ElementType::f32, {weights.dim(1), weights.dim(0)});
    for (int64_t n = 0; n < weights.dim(0); ++n)
      for (int64_t k = 0; k < weights.dim(1); ++k)
        turned.as<float>()[k * weights.dim(0) + n] = weights.as<float>()[n * weights.dim(1) + k];
    return turned;
  }

  /// The scale of each row: its largest magnitude over 127.
  mlir::Value rowScales(mlir::Value x) {
    ReduceMaxAttrs last;
    last.axes = {rankedType(x).getRank() - 1};
    last.keepdims = true;
    mlir::Value largest = nn::buildValue(b, loc, "abs", {x}, AbsAttrs());
    largest = nn::buildValue(b, loc, "reduce_max", {largest, {}}, std::move(last));
    constexpr double least = 1e-20; // scale for a row of zeros
    mlir::Value scale =
        nn::buildValue(b, loc, "mul", {largest, numbers(ElementType::f32, {}, {1 / most}, ".step")}, MulAttrs());
    return nn::buildValue(b, loc, "add", {scale, numbers(ElementType::f32, {}, {least}, ".least")}, AddAttrs());
  }

  mlir::Value bytes(mlir::Value x, mlir::Value scale) {
    mlir::Value y = nn::buildValue(b, loc, "div", {x, scale}, DivAttrs());
    y = nn::buildValue(b, loc, "round", {y}, RoundAttrs());
    y = nn::buildValue(b, loc, "add", {y, numbers(ElementType::f32, {}, {middle}, ".middle")}, AddAttrs());
    ClipAttrs limits;
    std::tie(limits.min, limits.max) = nn::integerLimits(ElementType::u8);
    return cast(nn::buildValue(b, loc, "clip", {y, {}, {}}, std::move(limits)), ElementType::u8);
  }
};

} // namespace

std::vector<std::string> quantizeDynamically(mlir::func::FuncOp main, const std::set<std::string> &excluded) {
  std::vector<Layer> layers;
  for (mlir::Operation &op : main.getBody().front())
    if (std::optional<Layer> layer = layerAt(&op); layer && !isOp(&op, "conv") && !excluded.contains(layer->node))
      layers.push_back(*layer);
  std::vector<std::string> nodes;
  for (const Layer &layer : layers) {
    nodes.push_back(layer.node);
    DynamicProduct(layer).run();
  }
  return nodes;
}

} // namespace lathe::quantize
