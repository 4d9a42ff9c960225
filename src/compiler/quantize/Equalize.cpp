#include "quantize/Graph.h"

#include <algorithm>
#include <cmath>

namespace lathe::quantize {
namespace {

/// Weights or bias of a layer that are being scaled.
struct Floats {
  mlir::Operation *op;
  unsigned operand;
  std::vector<int64_t> dims;
  std::vector<float> values;

  static std::optional<Floats> of(mlir::Operation *op, unsigned operand) {
    mlir::Value value = operandOf(op, operand);
    std::optional<Tensor> tensor = value ? constantOf(value) : std::nullopt;
    if (!tensor || tensor->type() != ElementType::f32)
      return std::nullopt;
    return Floats{op, operand, tensor->dims(), {tensor->as<float>(), tensor->as<float>() + tensor->elements()}};
  }

  std::vector<double> largest(int64_t axis) const {
    AxisIndex index(dims, axis);
    std::vector<double> result(static_cast<size_t>(index.extent), 0.0);
    for (size_t i = 0; i < values.size(); ++i)
      result[index.of(i)] = std::max(result[index.of(i)], std::abs(static_cast<double>(values[i])));
    return result;
  }

  void multiply(int64_t axis, const std::vector<double> &factors) {
    AxisIndex index(dims, axis);
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<float>(values[i] * factors[index.of(i)]);
  }

  void store() const {
    mlir::OpBuilder b(op);
    Tensor tensor = Tensor::of<float>(dims, values);
    op->setOperand(operand, makeConstant(b, op->getLoc(), tensor, constantName(op, operand == 1 ? ".w" : ".b")));
  }
};

/// Two layers; the second layer is the only reader of the first.
struct Pair {
  size_t first, second; // indices of layers
  int64_t inputAxis;    // of the second layer's weights: the channels between both
};

class Equalizer {
public:
  explicit Equalizer(mlir::func::FuncOp main) {
    for (mlir::Operation &op : main.getBody().front()) {
      auto layer = layerAt(&op);
      auto found = layer ? Floats::of(&op, 1) : std::nullopt;
      if (!found || !isOp(&op, "conv"))
        continue;
      layers.push_back(*layer);
      weights.push_back(*found);
      biases.push_back(Floats::of(&op, 2));
    }
    for (size_t i = 0; i < layers.size(); ++i)
      findPair(i);
  }

  size_t run() {
    constexpr int mostRounds = 40;
    constexpr double settled = 1e-3;
    for (int round = 0; round < mostRounds; ++round) {
      double change = 0;
      for (const Pair &pair : pairs)
        change = std::max(change, scale(pair));
      if (change < settled)
        break;
    }
    for (size_t i = 0; i < layers.size(); ++i) {
      weights[i].store();
      if (biases[i])
        biases[i]->store();
    }
    return pairs.size();
  }

private:
  std::vector<Layer> layers;
  std::vector<Floats> weights;
  std::vector<std::optional<Floats>> biases;
  std::vector<Pair> pairs;

  void findPair(size_t first) {
    mlir::Value value = layers[first].op->getResult(0);
    if (mlir::Operation *activation = activationBehind(value)) {
      if (!isOp(activation, "relu"))
        return; // a clip with a constant limit does not scale with its operand
      value = activation->getResult(0);
    }
    if (!value.hasOneUse())
      return;
    mlir::Operation *user = *value.getUsers().begin();
    auto second = llvm::find_if(layers, [&](const Layer &layer) { return layer.op == user; });
    if (second == layers.end() || user->getOperand(0) != value)
      return;
    int64_t group = nn::attrsAs<ConvAttrs>(user).group;
    int64_t outputs = rankedType(user->getOperand(1)).getDimSize(0);
    if (group != 1 && (!second->depthwise || outputs != group))
      return;
    pairs.push_back({first, static_cast<size_t>(second - layers.begin()), group == 1 ? 1 : 0});
  }

  /// Returns the largest change of a factor from 1.
  double scale(const Pair &pair) {
    std::vector<double> out = weights[pair.first].largest(0), in = weights[pair.second].largest(pair.inputAxis);
    std::vector<double> down(out.size(), 1.0), up(out.size(), 1.0);
    double change = 0;
    for (size_t i = 0; i < out.size(); ++i) {
      if (out[i] <= 0 || in[i] <= 0)
        continue;
      up[i] = std::sqrt(out[i] / in[i]); // the ranges on both sides become sqrt(out * in)
      down[i] = 1 / up[i];
      change = std::max(change, std::abs(up[i] - 1));
    }
    weights[pair.first].multiply(0, down);
    if (biases[pair.first])
      biases[pair.first]->multiply(0, down);
    weights[pair.second].multiply(pair.inputAxis, up);
    return change;
  }
};

} // namespace

size_t equalize(mlir::func::FuncOp main) { return Equalizer(main).run(); }

} // namespace lathe::quantize
