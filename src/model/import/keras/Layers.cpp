// Layers that pass their operand on at inference, and nodes that the reader puts around wrapped layers.
#include "import/keras/Keras.h"

namespace lathe::keras {
namespace {

// These layers pass masks on, or drop them.
constexpr const char *ofTensors[] = {"ActivityRegularization", "AlphaDropout",     "Dropout",
                                     "GaussianDropout",        "GaussianNoise",    "Identity",
                                     "SpatialDropout1D",       "SpatialDropout2D", "SpatialDropout3D"};
constexpr const char *ofPictures[] = {"AugMix",
                                      "CutMix",
                                      "RandAugment",
                                      "RandomBrightness",
                                      "RandomColorDegeneration",
                                      "RandomColorJitter",
                                      "RandomContrast",
                                      "RandomElasticTransform",
                                      "RandomErasing",
                                      "RandomFlip",
                                      "RandomGaussianBlur",
                                      "RandomGrayscale",
                                      "RandomHue",
                                      "RandomInvert",
                                      "RandomPerspective",
                                      "RandomPosterization",
                                      "RandomRotation",
                                      "RandomSaturation",
                                      "RandomSharpness",
                                      "RandomShear",
                                      "RandomTranslation",
                                      "RandomZoom",
                                      "Solarization"};

void importOperand(Layer &layer) {
  require(layer.tensorCount() >= 1, "has no operand");
  layer.set(layer.raw(0));
}

/// Merges the first two axes: B x T x ... to B*T x ...
void importFold(Layer &layer) {
  mlir::Value x = layer.raw(0);
  const Dims &dims = layer.dims(x);
  require(dims.size() >= 2, "the operand has rank {}, expected at least 2", dims.size());
  Dims folded = {dims[0] * dims[1]};
  folded.insert(folded.end(), dims.begin() + 2, dims.end());
  layer.set(layer.node.reshape(x, folded));
}

/// Splits the first axis into the first two axes of operand 1.
void importUnfold(Layer &layer) {
  mlir::Value y = layer.raw(0), x = layer.raw(1);
  Dims dims(layer.dims(x).begin(), layer.dims(x).begin() + 2);
  dims.insert(dims.end(), layer.dims(y).begin() + 1, layer.dims(y).end());
  layer.set(layer.node.reshape(y, dims));
}

} // namespace

bool passesOn(const std::string &className) {
  auto found = importers().find(className);
  return found != importers().end() && found->second.run == importOperand;
}

void addLayerImporters(Importers &table) {
  for (const char *name : ofTensors)
    table[name] = {importOperand, "its operand", MaskUse::passes};
  for (const char *name : ofPictures)
    table[name] = {importOperand, "its operand"};
  table["$identity"] = {importOperand, ""};
  table["$fold"] = {importFold, ""};
  table["$unfold"] = {importUnfold, ""};
}

} // namespace lathe::keras
