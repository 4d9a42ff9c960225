// Writes docs/generated/keras.md, which says how every layer is imported.
#include "import/keras/Flatten.h"

namespace lathe::keras {
namespace {

/// Layers of keras.layers that are not imported, with the reason.
constexpr std::pair<const char *, const char *> others[] = {
    {"CLAHE, Equalization, MaxNumBoundingBoxes, MixUp", "releases of Keras differ in what they do"},
    {"Discretization with adapted boundaries, of Keras 3", "the boundaries are not in the file"},
    {"FlaxLayer, JaxLayer, TFSMLayer, TorchModuleWrapper", "other frameworks"},
    {"HashedCrossing, Hashing, StringLookup, TextVectorization", "text; numbers are hashed as texts"},
    {"IntegerLookup with an adapted vocabulary, in an .h5 file", "the vocabulary is not in the file"},
    {"Lambda", "a Python function: `--custom Lambda=FILE.mlir`"},
    {"LocallyConnected1D, LocallyConnected2D with implementation 2 or 3", "another form of the weights"},
    {"RandomCrop of Keras 3, where it has something to do", "releases of Keras differ in what it does"},
    {"a class of your own", "`--custom CLASS=FILE.mlir`"},
};

/// Layers that the reader replaces by their inner layers.
constexpr std::pair<const char *, const char *> wrappers[] = {
    {"Pipeline", "its layers, one after the other"},
    {"SpectralNormalization", "the layer with the kernel of the file"},
    {"TimeDistributed", "the layer, on all steps of all rows at once"},
};

} // namespace

const char *reasonAgainst(const std::string &className) {
  for (const auto &[names, reason] : others)
    for (std::string_view rest = names; !rest.empty();) {
      size_t end = std::min(rest.find(", "), rest.size());
      if (rest.substr(0, end) == className)
        return reason;
      rest.remove_prefix(std::min(end + 2, rest.size()));
    }
  return nullptr;
}

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
  for (const auto &[wrapper, becomes] : wrappers) {
    layers += fmt::format("| {} | {} |\n", wrapper, becomes);
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
