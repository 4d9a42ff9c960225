#include "import/keras/Mask.h"

#include "import/keras/Keras.h"

#include <set>

namespace lathe::keras {
namespace {

const std::set<std::string> &passing() {
  static const std::set<std::string> names = {"Activation",
                                              "ActivityRegularization",
                                              "AlphaDropout",
                                              "BatchNormalization",
                                              "Dense",
                                              "Dropout",
                                              "ELU",
                                              "EinsumDense",
                                              "GaussianDropout",
                                              "GaussianNoise",
                                              "GroupNormalization",
                                              "Identity",
                                              "LayerNormalization",
                                              "LeakyReLU",
                                              "PReLU",
                                              "RMSNormalization",
                                              "ReLU",
                                              "Softmax",
                                              "SpatialDropout1D",
                                              "ThresholdedReLU",
                                              "TimeDistributed",
                                              "UnitNormalization",
                                              "SpatialDropout2D",
                                              "SpatialDropout3D"};
  return names;
}

bool isRecurrent(const std::string &name) {
  static const std::set<std::string> names = {"LSTM",     "GRU",           "SimpleRNN",  "RNN",        "CuDNNLSTM",
                                              "CuDNNGRU", "Bidirectional", "ConvLSTM1D", "ConvLSTM2D", "ConvLSTM3D"};
  return names.contains(name);
}

bool returnsSequences(const LayerConfig &layer) {
  const json &config =
      layer.className == "Bidirectional" ? member(member(layer.config, "layer"), "config") : layer.config;
  const json &flag = member(config, "return_sequences");
  return flag.is_boolean() && flag.get<bool>();
}

} // namespace

MaskUse maskUse(const LayerConfig &layer) {
  const std::string &name = layer.className;
  if (name == "Masking")
    return MaskUse::makes;
  if (name == "Embedding") {
    const json &zero = member(layer.config, "mask_zero");
    return zero.is_boolean() && zero.get<bool>() ? MaskUse::makes : MaskUse::drops;
  }
  if (isRecurrent(name))
    return returnsSequences(layer) ? MaskUse::readsAndPasses : MaskUse::reads;
  if (name == "GlobalAveragePooling1D")
    return MaskUse::reads;
  if (name == "MultiHeadAttention" || name == "GroupedQueryAttention" || name == "GroupQueryAttention" ||
      name == "Attention" || name == "AdditiveAttention")
    return MaskUse::readsAndPasses;
  if (name == "Add" || name == "Subtract" || name == "Multiply" || name == "Average" || name == "Maximum" ||
      name == "Minimum" || name == "Concatenate")
    return MaskUse::joins;
  return passing().contains(name) ? MaskUse::passes : MaskUse::drops;
}

// ---- Operators on masks, which the reader adds ---------------------------------------------------------------------

namespace {

/// True where a step has an element that is not the mask's value; masked steps become zero.
void importMasking(Layer &layer) {
  mlir::Value x = layer.in();
  ElementType type = layer.node.info(x).type;
  mlir::Value differs =
      layer.emit("not", {layer.emit("equal", {x, layer.node.constantScalar(type, layer.number("mask_value", 0))})});
  mlir::Value counts = layer.emit("cast", {differs}, {{"to", ElementType::i32}});
  counts = layer.emit("reduce_max", {counts}, {{"axes", std::vector<int64_t>{-1}}, {"keepdims", true}});
  mlir::Value mask = layer.emit("cast", {counts}, {{"to", ElementType::boolean}});
  layer.set(layer.emit("where", {mask, x, layer.node.constantScalar(type, 0)}));
  Dims dims = layer.dims(mask);
  dims.pop_back();
  if (layer.hasMaskResult())
    layer.setMask(layer.node.reshape(mask, dims));
}

void joinMasks(Layer &layer, const char *mnemonic) {
  mlir::Value all = layer.raw(0);
  for (size_t i = 1; i < layer.tensorCount(); ++i)
    all = layer.emit(mnemonic, {all, layer.raw(i)});
  layer.set(all);
}

void importMaskAnd(Layer &layer) { joinMasks(layer, "and"); }
void importMaskOr(Layer &layer) { joinMasks(layer, "or"); }

/// Operands: tensors, each with a mask or without; their masks one after the other, true where there is none.
void importMaskConcat(Layer &layer) {
  Values parts;
  for (size_t i = 0; i < layer.tensorCount(); ++i) {
    mlir::Value part = layer.mask(i);
    if (!part) {
      Dims dims(layer.dims(layer.raw(i)).begin(), layer.dims(layer.raw(i)).begin() + 2);
      mlir::Value yes = layer.node.constantScalar(ElementType::boolean, 1);
      part = layer.node.expand(yes, dims, layer.raw(i));
    }
    parts.push_back(part);
  }
  layer.set(layer.emit("concat", parts, {{"axis", 1}}));
}

} // namespace

void addMaskImporters(Importers &table) {
  table["Masking"] = {importMasking, "comparison, `where`; a mask"};
  table["$mask.and"] = {importMaskAnd, ""};
  table["$mask.or"] = {importMaskOr, ""};
  table["$mask.concat"] = {importMaskConcat, ""};
}

} // namespace lathe::keras
