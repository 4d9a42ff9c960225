// Normalisation, and dropout that has no effect.
#include "import/tensorflow/Refusal.h"

#include <limits>

namespace lathe::tensorflow {
namespace {

/// Operands: x, scale, offset, mean, variance. The results after the first one are for training; the first two of these
/// are the statistics again.
void importBatchNorm(Operator &op) {
  op.node.ignore({"exponential_avg_factor", "is_training"});
  if (const char *reason = refusalOfBatchNorm(op.node.record))
    op.unsupported(reason);
  std::string layout = op.node.stringAttr("data_format", "NHWC");
  bool last = layout == "NHWC" || layout == "NDHWC";
  require(last || layout == "NCHW" || layout == "NCDHW", "data_format is '{}', expected NHWC or NCHW", oneLine(layout));
  mlir::Value x = op.in(0);
  mlir::Value y = op.emit("batch_norm", {last ? channelsFirst(op.node, x) : x, op.in(1), op.in(2), op.in(3), op.in(4)},
                          {{"epsilon", op.node.floatAttr("epsilon", 1e-4)}});
  op.set(last ? channelsLast(op.node, y) : y);
  op.node.set(1, op.in(3));
  op.node.set(2, op.in(4));
}

/// The form of 2015: operands are x, mean, variance, offset, scale; an attribute may switch off the scale.
void importGlobalNormalization(Operator &op) {
  mlir::Value scale = op.in(4);
  if (!op.boolAttr("scale_after_normalization", true))
    scale = op.node.expand(op.number(op.typeOf(scale), 1), op.dims(scale), scale);
  mlir::Value y = op.emit("batch_norm", {channelsFirst(op.node, op.in(0)), scale, op.in(3), op.in(1), op.in(2)},
                          {{"epsilon", op.node.floatAttr("variance_epsilon", 1e-3)}});
  op.set(channelsLast(op.node, y));
}

void importBiasAdd(Operator &op) {
  mlir::Value x = op.in(0), bias = op.in(1);
  if (op.node.stringAttr("data_format", "NHWC").starts_with("NC") && op.rank(x) > 2) {
    Dims dims(op.dims(x).size() - 1, Dim(1));
    dims[0] = op.dims(bias).at(0);
    bias = op.node.reshape(bias, dims);
  }
  op.set(op.emit("add", {x, bias}));
}

/// nn divides alpha by the number of channels, TensorFlow does not.
void importLocalResponse(Operator &op) {
  int64_t radius = op.node.intAttr("depth_radius", 5);
  require(radius >= 0 && radius < (1 << 20), "depth_radius is {}, expected a small positive number", radius);
  int64_t size = 2 * radius + 1;
  mlir::Value y = op.emit("lrn", {channelsFirst(op.node, op.in(0))},
                          {{"size", size},
                           {"alpha", op.node.floatAttr("alpha", 1) * static_cast<double>(size)},
                           {"beta", op.node.floatAttr("beta", 0.5)},
                           {"bias", op.node.floatAttr("bias", 1)}});
  op.set(channelsLast(op.node, y));
}

// ---- Dropout ------------------------------------------------------------------------------------------------------

/// The remaining operands are the upper and lower end of the range of the random numbers, which must be 1 and 0.
void requireUnitRange(Operator &op, size_t first) {
  for (size_t i = first; i < op.node.inputCount(); ++i) {
    auto known = op.node.staticDoubles(op.in(i));
    double wanted = i == first ? 1 : 0;
    if (!known || known->size() != 1 || known->front() != wanted)
      op.unsupported("random numbers of another range than 0 to 1");
  }
}

/// floor(keep + random numbers below 1): 1 if `keep` is 1. There are no random numbers at run time: another `keep`
/// gives NaN.
void importFloorOfRandom(Operator &op) {
  requireUnitRange(op, 1);
  mlir::Value keep = op.in(0);
  ElementType type = op.typeOf(keep);
  auto known = op.node.staticDoubles(keep);
  if (known && std::any_of(known->begin(), known->end(), [](double value) { return value != 1; }))
    op.unsupported(fmt::format("dropout that keeps {} of the values; export the graph for inference", known->front()));
  mlir::Value one = op.number(type, 1), nan = op.number(type, std::numeric_limits<double>::quiet_NaN());
  op.set(known ? one : op.emit("where", {op.emit("equal", {keep, one}), one, nan}));
}

/// random numbers >= rate: true if `rate` is 0.
void importRandomAbove(Operator &op) {
  requireUnitRange(op, 1);
  auto rate = op.node.staticDoubles(op.in(0));
  if (!rate)
    op.unsupported("dropout with a rate that is computed at run time");
  if (std::any_of(rate->begin(), rate->end(), [](double value) { return value != 0; }))
    op.unsupported(fmt::format("dropout with rate {}; export the graph for inference", rate->front()));
  op.set(op.emit("equal", {op.node.constantInts({}, {0}), op.node.constantInts({}, {0})}));
}

} // namespace

const char *refusalOfBatchNorm(const NodeRecord &node) {
  if (!node.op.starts_with("FusedBatchNorm"))
    return nullptr;
  const AttributeRecord *training = attributeOf(node, "is_training");
  const auto *value = training ? std::get_if<int64_t>(&training->value) : nullptr;
  return training && value && !*value ? nullptr
                                      : "is_training is set: it would normalise with the statistics of each batch; "
                                        "export the graph for inference";
}

void addNormalizeImporters(Importers &table) {
  for (const char *name : {"FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"})
    table[name] = {importBatchNorm, 5};
  table["BatchNormWithGlobalNormalization"] = {importGlobalNormalization, 5};
  table["BiasAdd"] = {importBiasAdd, 2};
  table["BiasAddV1"] = {importBiasAdd, 2};
  table["LRN"] = {importLocalResponse, 1};
  table["RandomUniform+Floor"] = {importFloorOfRandom};
  table["RandomUniform+GreaterEqual"] = {importRandomAbove};
  for (const char *name : {"RandomUniform", "RandomStandardNormal", "RandomUniformInt", "TruncatedNormal",
                           "Multinomial", "StatelessRandomUniform", "StatelessRandomUniformV2"})
    table[name] = {nullptr, {}, "random numbers; only dropout whose factor is 1 is supported"};
}

} // namespace lathe::tensorflow
