// Normalisations.
#include "import/keras/Keras.h"

#include <numeric>

namespace lathe::keras {
namespace {

using Ints = std::vector<int64_t>;

/// `axis` of the configuration, without negative numbers, in rising order.
Ints axesOf(Layer &layer, int64_t rank, int64_t fallback) {
  const json &given = member(layer.config, "axis");
  Ints axes;
  if (given.is_array())
    for (const json &axis : given)
      axes.push_back(axis.get<int64_t>());
  else
    axes.push_back(layer.integer("axis", fallback));
  axes = normalizeAxes(axes, rank, "axis");
  std::sort(axes.begin(), axes.end());
  return axes;
}

/// A vector of `count` elements that all are `value`.
mlir::Value filled(Layer &layer, const Dim &count, double value) {
  if (!count.isConstant())
    layer.unsupported(fmt::format("the extent '{}' of the axis is not known", count.str()));
  return layer.emit("expand", {layer.scalar(value)}, {{"shape", Ints{count.constant()}}});
}

void importBatchNorm(Layer &layer) {
  if (layer.integer("mode", 0) != 0)
    layer.unsupported("mode 1 and 2 of Keras 1 are not supported");
  mlir::Value x = layer.in();
  int64_t rank = layer.rank(x);
  Ints axes = axesOf(layer, rank, -1);
  if (axes.size() != 1)
    layer.unsupported("several axes are not supported");
  int64_t axis = axes[0];
  Dim count = layer.dims(x)[static_cast<size_t>(axis)];
  bool scale = layer.flag("scale", true), center = layer.flag("center", true);
  layer.expectWeights(2 + scale + center);
  size_t next = 0;
  mlir::Value gamma = scale ? layer.weight(next++) : filled(layer, count, 1);
  mlir::Value beta = center ? layer.weight(next++) : filled(layer, count, 0);
  mlir::Value mean = layer.weight(next), variance = layer.weight(next + 1);
  // nn has the channels as the second axis.
  Ints perm(static_cast<size_t>(rank)), back(static_cast<size_t>(rank));
  std::iota(perm.begin(), perm.end(), 0);
  bool moves = rank > 2 && axis != 1;
  if (moves) {
    perm.erase(perm.begin() + axis);
    perm.insert(perm.begin() + 1, axis);
    for (size_t i = 0; i < perm.size(); ++i)
      back[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
    x = transpose(layer.node, x, perm);
  }
  require(axis != 0, "axis is 0, which is the batch");
  mlir::Value y =
      layer.emit("batch_norm", {x, gamma, beta, mean, variance}, {{"epsilon", layer.number("epsilon", 1e-3)}});
  layer.set(moves ? transpose(layer.node, y, back) : y);
}

/// Reshapes a weight with axes `axes`: from the first of them on, all other axes get extent 1.
mlir::Value along(Layer &layer, mlir::Value weight, const Ints &axes, int64_t rank) {
  Dims dims;
  size_t next = 0;
  for (int64_t axis = axes[0]; axis < rank; ++axis)
    if (next < axes.size() && axes[next] == axis)
      dims.push_back(layer.dims(weight).at(next++));
    else
      dims.emplace_back(1);
  return layer.node.reshape(weight, dims);
}

/// (x - mean) / sqrt(variance + epsilon) over axes other than the last axes.
mlir::Value normalized(Layer &layer, mlir::Value x, const Ints &axes, double epsilon, bool centered) {
  Fields over = {{"axes", axes}, {"keepdims", true}};
  if (centered)
    x = layer.emit("sub", {x, layer.emit("reduce_mean", {x}, over)});
  mlir::Value variance = layer.emit("reduce_mean", {layer.emit("mul", {x, x})}, over);
  return layer.emit("div", {x, layer.emit("sqrt", {layer.emit("add", {variance, layer.scalar(epsilon)})})});
}

void importLayerNorm(Layer &layer) {
  mlir::Value x = layer.in();
  int64_t rank = layer.rank(x);
  Ints axes = axesOf(layer, rank, -1);
  bool rms = layer.flag("rms_scaling", false);
  bool scale = layer.flag("scale", true), center = layer.flag("center", true) && !rms;
  layer.expectWeights(static_cast<size_t>(scale || rms) + center);
  double epsilon = layer.number("epsilon", 1e-3);
  mlir::Value gamma, beta;
  if (scale || rms)
    gamma = along(layer, layer.weight(0), axes, rank);
  if (center)
    beta = along(layer, layer.weight(scale ? 1 : 0), axes, rank);
  bool trailing = axes.back() == rank - 1 && axes.back() - axes[0] + 1 == static_cast<int64_t>(axes.size());
  if (trailing && !rms) {
    mlir::Value ones = gamma ? gamma : layer.scalar(1);
    layer.set(layer.emit("layer_norm", {x, ones, beta}, {{"axis", axes[0]}, {"epsilon", epsilon}}));
    return;
  }
  mlir::Value y = normalized(layer, x, axes, epsilon, !rms);
  y = gamma ? layer.emit("mul", {y, gamma}) : y;
  layer.set(beta ? layer.emit("add", {y, beta}) : y);
}

void importRmsNorm(Layer &layer) {
  layer.expectWeights(1);
  mlir::Value x = layer.in();
  Ints axes = axesOf(layer, layer.rank(x), -1);
  mlir::Value y = normalized(layer, x, axes, layer.number("epsilon", 1e-6), false);
  layer.set(layer.emit("mul", {y, along(layer, layer.weight(0), axes, layer.rank(x))}));
}

/// Groups are neighbouring channels; -1 groups: one for each channel.
void importGroupNorm(Layer &layer) {
  mlir::Value x = layer.in();
  int64_t rank = layer.rank(x);
  Ints axes = axesOf(layer, rank, -1);
  bool last = axes[0] == rank - 1 && rank > 2;
  require(last || axes[0] == 1, "axis is {}, expected 1 or the last one", axes[0]);
  if (last)
    x = channelsFirst(layer.node, x);
  Dim channels = layer.dims(x)[1];
  bool scale = layer.flag("scale", true), center = layer.flag("center", true);
  layer.expectWeights(static_cast<size_t>(scale) + center);
  mlir::Value gamma = scale ? layer.weight(0) : filled(layer, channels, 1);
  mlir::Value beta = center ? layer.weight(scale ? 1 : 0) : filled(layer, channels, 0);
  int64_t groups = layer.integer("groups", 32);
  if (groups == -1)
    groups = channels.constantOr(1);
  mlir::Value y =
      layer.emit("group_norm", {x, gamma, beta}, {{"num_groups", groups}, {"epsilon", layer.number("epsilon", 1e-3)}});
  layer.set(last ? channelsLast(layer.node, y) : y);
}

/// x over the root of its sum of squares, which is at least 1e-12.
void importUnitNorm(Layer &layer) {
  mlir::Value x = layer.in();
  Ints axes = axesOf(layer, layer.rank(x), -1);
  mlir::Value sum = layer.emit("reduce_sum", {layer.emit("mul", {x, x})}, {{"axes", axes}, {"keepdims", true}});
  layer.set(layer.emit("div", {x, layer.emit("sqrt", {layer.emit("max", {sum, layer.scalar(1e-12)})})}));
}

} // namespace

void addNormalizeImporters(Importers &table) {
  for (const char *name :
       {"BatchNormalization", "BatchNormalizationV1", "BatchNormalizationV2", "SyncBatchNormalization"})
    table[name] = {importBatchNorm, "`batch_norm`", MaskUse::passes};
  table["LayerNormalization"] = {importLayerNorm, "`layer_norm`, or its arithmetic", MaskUse::passes};
  table["RMSNormalization"] = {importRmsNorm, "`mul`, `reduce_mean`, `sqrt`, `div`", MaskUse::passes};
  table["GroupNormalization"] = {importGroupNorm, "`group_norm`", MaskUse::passes};
  table["UnitNormalization"] = {importUnitNorm, "`mul`, `reduce_sum`, `sqrt`, `div`", MaskUse::passes};
}

} // namespace lathe::keras
