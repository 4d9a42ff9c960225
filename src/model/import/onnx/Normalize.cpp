// Normalisation over channels or an axis, reductions and matrix products in their historical forms.
#include "import/onnx/Onnx.h"

namespace lathe::onnx {
namespace {

/// Normalises by the statistics of x itself, and moves the running statistics towards them.
void importTrainingBatchNorm(Node &node) {
  double momentum = node.floatAttr("momentum", 0.9), epsilon = node.floatAttr("epsilon", 1e-5);
  ElementType type = node.info(node.in(0)).type, kept = node.info(node.in(3)).type;
  mlir::Value x = node.cast(node.in(0), bitWidth(kept) > bitWidth(type) ? kept : type);
  require(node.rank(x) >= 2, "X has rank {}, expected at least 2", node.rank(x));
  std::vector<int64_t> axes = {0};
  for (int64_t axis = 2; axis < node.rank(x); ++axis)
    axes.push_back(axis);
  mlir::Value mean = node.emit("reduce_mean", {x}, {{"axes", axes}});
  mlir::Value deviation = node.emit("sub", {x, mean});
  mlir::Value variance = node.emit("reduce_mean", {node.emit("mul", {deviation, deviation})}, {{"axes", axes}});
  Values operands = {x};
  for (size_t i = 1; i < 3; ++i)
    operands.push_back(node.cast(node.in(i), node.info(x).type));
  for (mlir::Value statistic : {mean, variance})
    operands.push_back(node.reshape(statistic, {node.info(x).dims[1]}));
  node.set(0, node.cast(node.emit("batch_norm", operands, {{"epsilon", epsilon}}), type));
  for (size_t i = 1; i < 3; ++i)
    if (node.wants(i)) {
      auto share = [&](mlir::Value value, double part) {
        return node.emit("mul", {value, node.constantScalar(kept, part)});
      };
      mlir::Value now = node.cast(operands[2 + i], kept);
      node.set(i, node.emit("add", {share(node.in(2 + i), momentum), share(now, 1 - momentum)}));
    }
}

void importBatchNorm(Node &node) {
  node.expectInputs(5, 5);
  if (node.version() >= 14 && node.intAttr("training_mode", 0) != 0)
    return importTrainingBatchNorm(node);
  node.ignore({"momentum"}); // concerns training only
  if (node.version() < 7 && node.intAttr("is_test", 0) == 0)
    node.unsupported("training (is_test=0)");
  if (node.version() < 9 && node.intAttr("spatial", 1) == 0)
    node.unsupported("statistics for each element (spatial=0)");
  for (size_t i = 1; i < node.outputCount(); ++i)
    if (node.wants(i))
      node.unsupported("the outputs for training are used");
  // Since opset 15 the statistics may have other float types than x.
  ElementType type = node.info(node.in(0)).type;
  Values operands = {node.in(0)};
  for (size_t i = 1; i < 5; ++i)
    operands.push_back(node.cast(node.in(i), type));
  node.set(0, node.emit("batch_norm", operands, {{"epsilon", node.floatAttr("epsilon", 1e-5)}}));
}

/// Before opset 13 the input counts as a matrix: the axes before `axis`, and the remaining axes.
void importSoftmax(Node &node) {
  if (node.version() >= 13)
    return importDirectly(node);
  const std::string &type = node.record.op;
  const char *mnemonic = type == "Softmax" ? "softmax" : type == "Hardmax" ? "hardmax" : "log_softmax";
  node.expectInputs(1, 1);
  mlir::Value x = node.in(0);
  const Dims dims = node.info(x).dims;
  auto rank = static_cast<int64_t>(dims.size());
  int64_t axis = node.intAttr("axis", 1);
  require(axis >= -rank && axis <= rank, "axis is {}, expected one in [-{}, {}]", axis, rank, rank);
  axis += axis < 0 ? rank : 0;
  bool othersAreOne = axis < rank;
  for (int64_t i = axis + 1; i < rank; ++i)
    othersAreOne &= dims[i] == Dim(1);
  if (othersAreOne) {
    node.set(0, node.emit(mnemonic, {x}, {{"axis", axis}}));
    return;
  }
  std::span all(dims);
  mlir::Value matrix = node.reshape(x, {product(all.first(axis)), product(all.subspan(axis))});
  mlir::Value result = node.emit(mnemonic, {matrix}, {{"axis", 1}});
  node.set(0, node.reshape(result, dims));
}

/// 1 / sqrt(variance + epsilon) over `axes`, given the deviations from the mean.
mlir::Value inverseDeviation(Node &node, mlir::Value deviation, const std::vector<int64_t> &axes, double epsilon) {
  mlir::Value variance = node.emit("reduce_mean", {node.emit("mul", {deviation, deviation})}, {{"axes", axes}});
  mlir::Value sum = node.emit("add", {variance, node.constantScalar(node.info(variance).type, epsilon)});
  return node.emit("reciprocal", {node.emit("sqrt", {sum})});
}

void importLayerNorm(Node &node) {
  require(node.version() >= 17, "there is no such operator in opset {}", node.version());
  node.expectInputs(2, 3);
  mlir::Value x = node.in(0);
  int64_t axis = node.intAttr("axis", -1), stash = node.intAttr("stash_type", 1);
  double epsilon = node.floatAttr("epsilon", 1e-5);
  ElementType type = node.info(x).type, statistics = fromOnnxType(static_cast<int32_t>(stash));
  Values operands = {x, node.cast(node.in(1), type)};
  if (node.has(2))
    operands.push_back(node.cast(node.in(2), type));
  node.set(0, node.emit("layer_norm", operands, {{"axis", axis}, {"epsilon", epsilon}}));
  if (!node.wants(1) && !node.wants(2))
    return;
  // Only training needs the mean and 1 / deviation: they are computed separately, in the type of `stash_type`.
  require(isFloat(statistics), "stash_type is {}, expected a floating-point type", stash);
  std::vector<int64_t> axes;
  for (int64_t i = normalizeAxis(axis, node.rank(x), "axis"); i < node.rank(x); ++i)
    axes.push_back(i);
  mlir::Value precise = node.cast(x, statistics), mean = node.emit("reduce_mean", {precise}, {{"axes", axes}});
  if (node.wants(1))
    node.set(1, mean);
  if (node.wants(2))
    node.set(2, inverseDeviation(node, node.emit("sub", {precise, mean}), axes, epsilon));
}

/// Computes in the wider of both types; the result has the type of the scale.
void importRmsNorm(Node &node) {
  require(node.version() >= 23, "there is no such operator in opset {}", node.version());
  node.expectInputs(2, 2);
  node.ignore({"stash_type"});
  ElementType x = node.info(node.in(0)).type, scale = node.info(node.in(1)).type;
  ElementType wide = bitWidth(scale) > bitWidth(x) ? scale : x;
  mlir::Value y = node.emit("rms_norm", {node.cast(node.in(0), wide), node.cast(node.in(1), wide)},
                            {{"axis", node.intAttr("axis", -1)}, {"epsilon", node.floatAttr("epsilon", 1e-5)}});
  node.set(0, node.cast(y, scale));
}

/// Before opset 21 scale and bias have one element a group.
void importGroupNorm(Node &node) {
  require(node.version() >= 18, "there is no such operator in opset {}", node.version());
  node.expectInputs(3, 3);
  node.ignore({"stash_type"});
  require(node.hasAttr("num_groups"), "attribute 'num_groups' is missing");
  int64_t groups = node.intAttr("num_groups", 1);
  mlir::Value x = node.in(0);
  require(node.rank(x) >= 2, "X has rank {}, expected at least 2", node.rank(x));
  const Dim channels = node.info(x).dims[1];
  double epsilon = node.floatAttr("epsilon", 1e-5);
  require(groups > 0, "num_groups is {}, expected a positive number", groups);
  if (node.version() < 21 && !channels.isConstant()) { // views the groups as channels
    mlir::Value apart = node.emit("reshape", {x}, {{"shape", std::vector<int64_t>{0, groups, -1}}});
    ElementType type = node.info(x).type;
    mlir::Value y = node.emit("instance_norm", {apart, node.cast(node.in(1), type), node.cast(node.in(2), type)},
                              {{"epsilon", epsilon}});
    node.set(0, node.reshape(y, node.info(x).dims));
    return;
  }
  auto perChannel = [&](mlir::Value value) {
    value = node.cast(value, node.info(x).type);
    if (node.version() >= 21)
      return value;
    require(channels.constant() % groups == 0, "num_groups is {}, expected a divisor of {} channels", groups,
            channels.constant());
    const Dims &dims = node.info(value).dims;
    require(dims.size() == 1 && mayAgree(dims[0], groups), "scale or bias is {}, expected {}", str(dims), groups);
    std::vector<int64_t> shape = {groups, channels.constant() / groups};
    value = node.emit("expand", {node.reshape(value, {groups, 1})}, {{"shape", shape}});
    return node.reshape(value, {channels});
  };
  node.set(0, node.emit("group_norm", {x, perChannel(node.in(1)), perChannel(node.in(2))},
                        {{"num_groups", groups}, {"epsilon", epsilon}}));
}

/// (x - mean) / (deviation + 1e-9) over any axes, by its definition.
void importMeanVarianceNormalization(Node &node) {
  require(node.version() >= 9, "attribute axes is new in opset 9, expected that or later");
  node.expectInputs(1, 1);
  mlir::Value x = node.in(0);
  std::vector<int64_t> axes = node.intsAttr("axes", {0, 2, 3});
  mlir::Value deviation = node.emit("sub", {x, node.emit("reduce_mean", {x}, {{"axes", axes}})});
  mlir::Value variance = node.emit("reduce_mean", {node.emit("mul", {deviation, deviation})}, {{"axes", axes}});
  mlir::Value least = node.constantScalar(node.info(x).type, 1e-9);
  node.set(0, node.emit("div", {deviation, node.emit("add", {node.emit("sqrt", {variance}), least})}));
}

/// Opset 20 adds booleans to the extremes: any and all.
void importReduceExtreme(Node &node) {
  if (!node.has(0) || node.info(node.in(0)).type != ElementType::boolean)
    return importDirectly(node);
  require(node.version() >= 20, "x is bool, expected numbers before opset 20");
  node.expectInputs(1, 2);
  mlir::Value x = node.cast(node.in(0), ElementType::u8);
  Fields fields = {{"keepdims", node.intAttr("keepdims", 1) != 0},
                   {"noop_with_empty_axes", node.intAttr("noop_with_empty_axes", 0) != 0}};
  auto axes = node.has(1) ? node.staticInts(node.in(1)) : std::nullopt;
  if (axes)
    fields.emplace_back("axes", *axes);
  mlir::Value result = node.emit(node.record.op == "ReduceMax" ? "reduce_max" : "reduce_min",
                                 {x, axes ? mlir::Value() : node.inOrNull(1)}, fields);
  node.set(0, node.cast(result, ElementType::boolean));
}

/// Before opset 7 broadcasting of C was optional.
void importGemm(Node &node) {
  if (node.version() >= 7)
    return importDirectly(node);
  node.expectInputs(3, 3);
  node.ignore({"broadcast"});
  node.set(0, node.emit("gemm", {node.in(0), node.in(1), node.in(2)},
                        {{"alpha", node.floatAttr("alpha", 1)},
                         {"beta", node.floatAttr("beta", 1)},
                         {"trans_a", node.intAttr("transA", 0) != 0},
                         {"trans_b", node.intAttr("transB", 0) != 0}}));
}

} // namespace

void addNormalizeHandlers(Handlers &table) {
  table["ReduceMax"] = importReduceExtreme;
  table["ReduceMin"] = importReduceExtreme;
  table["Gemm"] = importGemm;
  table["BatchNormalization"] = importBatchNorm;
  table["Softmax"] = importSoftmax;
  table["LogSoftmax"] = importSoftmax;
  table["Hardmax"] = importSoftmax;
  table["LayerNormalization"] = importLayerNorm;
  table["RMSNormalization"] = importRmsNorm;
  table["GroupNormalization"] = importGroupNorm;
  table["MeanVarianceNormalization"] = importMeanVarianceNormalization;
}

} // namespace lathe::onnx
