// Layers on sequences: batch x positions x features.
#include "zoo/Network.h"

namespace lathe::zoo {

Signal Network::layerNorm(Signal x, const std::string &name, double epsilon) {
  std::vector<int64_t> dims{x.extent(x.rank() - 1)};
  mlir::Value scale = noise(name + ".weight", dims, 1, 0.1), bias = noise(name + ".bias", dims, 0, 0.1);
  LayerNormAttrs attrs;
  attrs.axis = -1;
  attrs.epsilon = epsilon;
  return {nn::buildValue(b, at(name, "LayerNormalization"), "layer_norm", {x.value, scale, bias}, std::move(attrs))};
}

Signal Network::matmul(Signal x, Signal y, const std::string &name) {
  double terms = static_cast<double>(x.extent(x.rank() - 1));
  return {nn::buildValue(b, at(name, "MatMul"), "matmul", {x.value, y.value}, MatMulAttrs()), terms * x.mean * y.mean,
          terms * (x.moment() * y.moment() - x.mean * x.mean * y.mean * y.mean)};
}

Signal Network::scale(Signal x, double factor, const std::string &name) {
  mlir::Value constant = noise(name + ".factor", {}, factor, 0);
  return {nn::buildValue(b, at(name, "Mul"), "mul", {x.value, constant}, MulAttrs()), x.mean * factor,
          x.variance * factor * factor};
}

Signal Network::joined(llvm::ArrayRef<Signal> parts, int64_t axis, const std::string &name) {
  llvm::SmallVector<mlir::Value> values;
  double mean = 0, moment = 0, extents = 0;
  for (const Signal &part : parts) {
    values.push_back(part.value);
    double extent = static_cast<double>(part.extent(axis));
    mean += part.mean * extent;
    moment += part.moment() * extent;
    extents += extent;
  }
  ConcatAttrs attrs;
  attrs.axis = axis;
  mean /= extents;
  return {nn::buildValue(b, at(name, "Concat"), "concat", values, std::move(attrs)), mean,
          moment / extents - mean * mean};
}

Signal Network::pick(Signal x, int64_t axis, int64_t index, const std::string &name) {
  GatherAttrs attrs;
  attrs.axis = axis;
  mlir::Value indices = integers({}, {index}, name + ".index");
  return {nn::buildValue(b, at(name, "Gather"), "gather", {x.value, indices}, std::move(attrs)), x.mean, x.variance};
}

Signal Network::parameter(std::vector<int64_t> dims, double deviation, const std::string &name) {
  return {noise(name, std::move(dims), 0, deviation), 0, deviation * deviation};
}

Signal Network::forEachImage(Signal x, Signal like, const std::string &name) {
  std::vector<int64_t> inner;
  for (unsigned axis = 1; axis < x.rank(); ++axis)
    inner.push_back(x.extent(axis));
  int64_t count = static_cast<int64_t>(inner.size());
  ShapeAttrs first;
  first.start = 0;
  first.end = 1;
  mlir::Value batch = nn::buildValue(b, at(name + ".batch", "Shape"), "shape", {like.value}, std::move(first));
  ConcatAttrs joint;
  joint.axis = 0;
  mlir::Value shape = nn::buildValue(b, at(name + ".shape", "Concat"), "concat",
                                     {batch, integers({count}, inner, name + ".extents")}, std::move(joint));
  return {nn::buildValue(b, at(name, "Expand"), "expand", {x.value, shape}, ExpandAttrs()), x.mean, x.variance};
}

} // namespace lathe::zoo
