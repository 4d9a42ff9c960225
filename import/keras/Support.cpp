// docs/generated/keras.md: what becomes of every layer.
#include "import/keras/Keras.h"

namespace lathe::keras {
namespace {

/// Layers of keras.layers that are not imported, with the reason.
constexpr std::pair<const char *, const char *> others[] = {
    {"AugMix", "training alone"},
    {"CutMix", "training alone"},
    {"Discretization with adapted boundaries", "the boundaries are not in the file"},
    {"FlaxLayer, JaxLayer, TFSMLayer, TorchModuleWrapper", "other frameworks"},
    {"HashedCrossing, Hashing, StringLookup, TextVectorization", "text"},
    {"IntegerLookup with an adapted vocabulary", "the vocabulary is not in the configuration"},
    {"Lambda", "a Python function: `--custom Lambda=FILE.mlir`"},
    {"LocallyConnected1D, LocallyConnected2D", "no longer in Keras"},
    {"MelSpectrogram, STFTSpectrogram", "not yet"},
    {"MixUp, RandAugment, RandomCrop, RandomElasticTransform, RandomErasing, RandomInvert, RandomPerspective, "
     "Solarization",
     "augmentation that is not an identity, or not yet"},
    {"a class of your own", "`--custom CLASS=FILE.mlir`"},
};

} // namespace

std::string supportPage() {
  std::string layers, functions;
  int layerCount = 0, functionCount = 0;
  for (const auto &[name, importer] : importers()) {
    if (name.starts_with("$"))
      continue;
    bool isFunction = name.starts_with("ops.") || name.starts_with("tf.");
    (isFunction ? functions : layers) += fmt::format("| {} | {} |\n", name, importer.becomes);
    ++(isFunction ? functionCount : layerCount);
  }
  for (const char *wrapper : {"SpectralNormalization", "TimeDistributed"}) {
    layers += fmt::format("| {} | {} |\n", wrapper,
                          std::string_view(wrapper) == "TimeDistributed" ? "the layer, on all steps of all rows at once"
                                                                         : "the layer with the kernel of the file");
    ++layerCount;
  }
  std::string rest;
  for (const auto &[name, reason] : others)
    rest += fmt::format("| {} | {} |\n", name, reason);
  return fmt::format("<!-- Written from the tables of import/keras by `ninja keras-page`; do not edit. -->\n"
                     "# Which Keras layers are supported?\n\n"
                     "{} classes of layers are imported, and {} functions that models call like layers. An option that "
                     "is not\n"
                     "supported is an error that names it. [keras.md](../keras.md) tells how a model is read.\n\n"
                     "| layer | becomes |\n|---|---|\n{}\n"
                     "`ops.` stands for keras.ops, `tf.` for functions of TensorFlow in models of Keras 2.\n\n"
                     "| function | becomes |\n|---|---|\n{}\n"
                     "| not imported | why |\n|---|---|\n{}",
                     layerCount, functionCount, layers, functions, rest);
}

} // namespace lathe::keras
