#include "quantize/Graph.h"

#include <algorithm>
#include <cmath>

namespace lathe::quantize {
namespace {

mlir::Location named(mlir::OpBuilder &b, const std::string &name) { return mlir::NameLoc::get(b.getStringAttr(name)); }

/// Name of a value in the source: its input, or the node that computes it.
std::string nameOf(mlir::Value value) {
  if (auto argument = llvm::dyn_cast<mlir::BlockArgument>(value)) {
    auto main = llvm::cast<mlir::func::FuncOp>(argument.getOwner()->getParentOp());
    auto name = main.getArgAttrOfType<mlir::StringAttr>(argument.getArgNumber(), "nn.name");
    return name ? name.str() : fmt::format("input{}", argument.getArgNumber());
  }
  std::vector<std::string> nodes = nn::nodeNames(value.getDefiningOp()->getLoc());
  return nodes.empty() ? "value" : nodes.back();
}

class Inserter {
public:
  Inserter(mlir::func::FuncOp main, const Points &points, const std::vector<nn::QuantizedScale> &scales,
           const InsertOptions &options)
      : main(main), points(points), scales(scales), options(options) {}

  void run() {
    for (const Layer &layer : points.layers) // before the operands change
      quantizeParameters(layer);
    for (auto &[value, group] : points.groupOf)
      quantizeValue(value, scales[group]);
  }

private:
  mlir::func::FuncOp main;
  const Points &points;
  const std::vector<nn::QuantizedScale> &scales;
  const InsertOptions &options;

  /// Removes an activation that saturation to the integers' limits replaces.
  mlir::Value withoutActivation(mlir::Value value, const nn::QuantizedScale &scale) {
    mlir::Operation *op = value.getDefiningOp();
    if (!op)
      return value;
    auto [lowest, highest] = nn::integerLimits(scale.type);
    double least = (lowest - scale.zeroPoint[0]) * scale.scale[0],
           most = (highest - scale.zeroPoint[0]) * scale.scale[0];
    if (isOp(op, "relu") && least >= 0 && op->getOperand(0).hasOneUse())
      return op->getOperand(0);
    if (isOp(op, "clip") && op->getOperand(0).hasOneUse() && !operandOf(op, 1) && !operandOf(op, 2)) {
      auto limits = nn::attrsAs<ClipAttrs>(op);
      constexpr double rounding = 1e-6; // of the scale to float32
      if (least >= limits.min && most <= limits.max * (1 + rounding))
        return op->getOperand(0);
    }
    return value;
  }

  void quantizeValue(mlir::Value value, const nn::QuantizedScale &scale) {
    mlir::OpBuilder b(main.getContext());
    if (mlir::Operation *op = value.getDefiningOp())
      b.setInsertionPointAfter(op);
    else
      b.setInsertionPointToStart(&main.getBody().front());
    const std::string name = nameOf(value);
    llvm::SmallVector<mlir::OpOperand *> uses;
    for (mlir::OpOperand &use : value.getUses())
      if (!use.getOwner()->hasTrait<mlir::OpTrait::IsTerminator>())
        uses.push_back(&use);
    mlir::Value before = withoutActivation(value, scale);
    mlir::Value integers = nn::buildQuantize(b, named(b, name + "_QuantizeLinear"), before, scale, name);
    mlir::Value numbers = nn::buildDequantize(b, named(b, name + "_DequantizeLinear"), integers, scale, name);
    for (mlir::OpOperand *use : uses)
      use->set(numbers);
    mlir::Operation *op = value.getDefiningOp();
    if (op && value.use_empty())
      op->erase();
  }

  void quantizeParameters(const Layer &layer) {
    mlir::Operation *op = layer.op;
    mlir::OpBuilder b(op);
    Tensor tensor = *constantOf(op->getOperand(1));
    std::vector<float> weights(tensor.as<float>(), tensor.as<float>() + tensor.elements());
    const nn::QuantizedScale &input = scales[points.groupOf.lookup(op->getOperand(0))];
    mlir::Value biasValue = operandOf(op, 2);
    std::vector<double> bias;
    if (biasValue)
      bias = toDoubles(*constantOf(biasValue));
    std::optional<int64_t> axis = options.perChannel ? std::optional(layer.weightAxis) : std::nullopt;
    QuantizedWeights quantized = quantizeWeights(weights, tensor.dims(), axis, options.weightMost,
                                                 leastScales(bias, input.scale[0], options.perChannel));
    correctBias(layer, weights, tensor.dims(), quantized, bias);
    addCorrection(layer, static_cast<size_t>(AxisIndex(tensor.dims(), layer.weightAxis).extent), bias);

    const std::string name = constantName(op, "");
    Tensor integers = Tensor::of<int8_t>(tensor.dims(), quantized.values);
    mlir::Value constant = makeConstant(b, named(b, name + "_weight_quantized"), integers, name + "_weight_quantized");
    op->setOperand(1, nn::buildDequantize(b, named(b, name + "_weight_DequantizeLinear"), constant, quantized.scale,
                                          name + "_weight"));
    if (bias.empty())
      return;
    nn::QuantizedScale scale;
    scale.type = ElementType::i32;
    for (double each : quantized.scale.scale)
      scale.scale.push_back(static_cast<float>(each * input.scale[0]));
    scale.zeroPoint.assign(scale.scale.size(), 0.0);
    if (!scale.perTensor())
      scale.axis = 0;
    Tensor ints = Tensor::of<int32_t>({static_cast<int64_t>(bias.size())}, quantizeBias(bias, scale.scale));
    mlir::Value biasInts = makeConstant(b, named(b, name + "_bias_quantized"), ints, name + "_bias_quantized");
    mlir::Value dequantized =
        nn::buildDequantize(b, named(b, name + "_bias_DequantizeLinear"), biasInts, scale, name + "_bias");
    setBias(layer, dequantized);
  }

  static void setBias(const Layer &layer, mlir::Value bias) {
    if (operandOf(layer.op, 2))
      layer.op->setOperand(2, bias);
    else
      layer.op->insertOperands(2, bias);
  }

  void addCorrection(const Layer &layer, size_t channels, std::vector<double> &bias) const {
    auto found = options.corrections.find(layer.node);
    if (found == options.corrections.end() || isOp(layer.op, "matmul"))
      return;
    bias.resize(channels, 0.0);
    for (size_t i = 0; i < channels; ++i)
      bias[i] += found->second.at(i);
  }

  /// Subtracts the mean error that rounding the weights causes in each output channel.
  void correctBias(const Layer &layer, const std::vector<float> &weights, const std::vector<int64_t> &dims,
                   const QuantizedWeights &quantized, std::vector<double> &bias) {
    if (!options.channelMeans || isOp(layer.op, "matmul"))
      return;
    std::vector<double> means = options.channelMeans(layer.op->getOperand(0));
    if (means.empty())
      return;
    AxisIndex output(dims, layer.weightAxis), inGroup(dims, 1 - layer.weightAxis);
    int64_t group = isOp(layer.op, "conv") ? nn::attrsAs<ConvAttrs>(layer.op).group : 1;
    if (bias.empty())
      bias.assign(static_cast<size_t>(output.extent), 0.0);
    std::vector<float> rounded = dequantized(quantized, dims);
    for (size_t i = 0; i < weights.size(); ++i) {
      size_t channel = output.of(i);
      size_t first = channel * static_cast<size_t>(group) / static_cast<size_t>(output.extent) *
                     static_cast<size_t>(inGroup.extent);
      bias[channel] -= (static_cast<double>(rounded[i]) - weights[i]) * means[first + inGroup.of(i)];
    }
  }
};

} // namespace

void insertQuantization(mlir::func::FuncOp main, const Points &points, const std::vector<nn::QuantizedScale> &scales,
                        const InsertOptions &options) {
  Inserter(main, points, scales, options).run();
}

} // namespace lathe::quantize
