// Layers without a definition: all of them in one error.
#include "import/keras/Flatten.h"

namespace lathe::keras {
namespace {

void collectUnknown(const LayerConfig &layer, const std::string &prefix, int version, const ImportOptions &options,
                    Problems &problems);

void collectUnknown(const ModelConfig &model, const std::string &prefix, int version, const ImportOptions &options,
                    Problems &problems) {
  for (const LayerConfig &layer : model.layers)
    collectUnknown(layer, prefix, version, options, problems);
}

/// `prefix`: of the name of the layer's node, as flatten makes it.
void collectUnknown(const LayerConfig &layer, const std::string &prefix, int version, const ImportOptions &options,
                    Problems &problems) {
  if (options.custom.contains(layer.className) || layer.className == "InputLayer")
    return;
  if (layer.model)
    return collectUnknown(*layer.model, prefix + layer.name + "/", version, options, problems);
  if (layer.className == "TimeDistributed" || layer.className == "SpectralNormalization")
    return collectUnknown(readLayer(member(layer.config, "layer"), version), prefix + layer.name + "/", version,
                          options, problems);
  std::string name = operatorName(layer);
  if (importers().contains(name) && !name.starts_with("$"))
    return;
  const char *reason = reasonAgainst(layer.className);
  std::string what = layer.className == "Lambda" ? "the layer is a Python function"
                     : name != layer.className   ? "the function is not supported"
                     : reason                    ? fmt::format("the layer is not supported ({})", reason)
                                                 : "the layer is not one of keras.layers that are supported";
  problems.add({oneLine(prefix + layer.name), oneLine(name), version, "",
                fmt::format("{}; define it with --custom {}=FILE.mlir", what, layer.className)});
}

} // namespace

std::string operatorName(const LayerConfig &layer) {
  if (layer.className == "TFOpLambda" || layer.className == "SlicingOpLambda")
    return "tf." + textMember(layer.config, "function", layer.className);
  if (layer.module.starts_with("keras.src.ops") || layer.module.starts_with("keras.ops"))
    return "ops." + layer.className;
  return layer.className;
}

void refuseUnknownLayers(const ModelConfig &model, int version, const ImportOptions &options,
                         const std::string &fileName) {
  Problems problems;
  collectUnknown(model, "", version, options, problems);
  problems.throwIfAny(fileName, format().versionWord);
}

} // namespace lathe::keras
