// How layers use masks, and operators on masks that the reader adds.
#include "import/keras/Keras.h"

namespace lathe::keras {

MaskUse maskUse(const LayerConfig &layer) {
  if (layer.className == "TimeDistributed") // the reader replaces it
    return MaskUse::passes;
  auto found = importers().find(layer.className);
  MaskUse use = found == importers().end() ? MaskUse::drops : found->second.masks;
  auto isSet = [&](const json &config, const char *key) {
    const json &flag = member(config, key);
    return flag.is_boolean() && flag.get<bool>();
  };
  if (layer.className == "Embedding" && !isSet(layer.config, "mask_zero"))
    return MaskUse::drops;
  if (use != MaskUse::steps)
    return use;
  bool both = layer.className == "Bidirectional";
  const json &config = both ? member(member(layer.config, "layer"), "config") : layer.config;
  return isSet(config, "return_sequences") ? MaskUse::readsAndPasses : MaskUse::reads;
}

namespace {

/// True for steps with an element that differs from the mask's value; masked steps become zero.
void importMasking(Layer &layer) {
  mlir::Value x = layer.in();
  require(layer.rank(x) >= 1, "the operand is a scalar, expected steps");
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

/// Operands: tensors, some of which have a mask. Concatenates the masks, with true for tensors without a mask.
void importMaskConcat(Layer &layer) {
  Values parts;
  for (size_t i = 0; i < layer.tensorCount(); ++i) {
    mlir::Value part = layer.mask(i);
    if (!part) {
      require(layer.rank(layer.raw(i)) >= 2,
              "operand {} has rank {}, expected at least 2 beside an operand with a mask", i, layer.rank(layer.raw(i)));
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
  table["Masking"] = {importMasking, "comparison, `where`; a mask", MaskUse::makes};
  table["$mask.and"] = {importMaskAnd, ""};
  table["$mask.or"] = {importMaskOr, ""};
  table["$mask.concat"] = {importMaskConcat, ""};
}

} // namespace lathe::keras
