// Collects layers without a definition, and definitions without a layer, in one error.
#include "import/UnusedDefinitions.h"
#include "import/keras/Flatten.h"
#include "support/Text.h"

#include <set>

namespace lathe::keras {
namespace {

/// Visits the layers of a model, also in nested models and wrappers, in the order of Flatten.cpp.
class LayerCheck {
public:
  LayerCheck(int version, const ImportOptions &options) : version(version), options(options) {}

  /// `prefix` precedes the names of the layers' nodes, as in flatten.
  void visit(const ModelConfig &model, const std::string &prefix) {
    for (const LayerConfig &layer : model.layers)
      visit(layer, prefix);
  }

  /// Throws UnsupportedError for layers without a definition, else UnusedDefinitions for definitions without a layer.
  void finish(const std::string &fileName) const {
    problems.throwIfAny(fileName, format().versionWord);
    std::vector<std::string> unused;
    for (const auto &[name, file] : options.custom)
      if (!classes.contains(name) && !activations.contains(name))
        unused.push_back(name);
    if (unused.empty())
      return;
    std::vector<std::string> known(classes.begin(), classes.end()), names = known;
    names.insert(names.end(), activations.begin(), activations.end());
    throw UnusedDefinitions(fmt::format("{}: no layer is of class '{}', which --custom defines{}; the classes are {}",
                                        fileName, oneLine(fmt::format("{}", fmt::join(unused, "', '"))),
                                        unused.size() == 1 ? suggestion(unused[0], names) : "", listedClasses(known)),
                            unused);
  }

private:
  int version;
  const ImportOptions &options;
  Problems problems;
  std::set<std::string> classes, activations; // classes and activations in the model

  void visit(const LayerConfig &layer, const std::string &prefix) {
    if (layer.className == "InputLayer")
      return;
    classes.insert(layer.className);
    findActivations(layer.config);
    if (options.custom.contains(layer.className))
      return;
    if (layer.model)
      return visit(*layer.model, prefix + layer.name + "/");
    if (layer.className == "TimeDistributed" || layer.className == "SpectralNormalization")
      return visit(readLayer(member(layer.config, "layer"), version), prefix + layer.name + "/");
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

  /// Includes activations of a cell or a wrapped layer.
  void findActivations(const json &config) {
    for (const auto &[key, value] : config.items()) {
      if (std::string name = key.ends_with("activation") ? activationName(value) : ""; !name.empty())
        activations.insert(name);
      if (value.is_structured())
        findActivations(value);
    }
  }

  static std::string listedClasses(std::vector<std::string> names) {
    constexpr size_t most = 12;
    size_t more = names.size() > most ? names.size() - most : 0;
    names.resize(names.size() - more);
    if (more)
      names.push_back(fmt::format("{} more", more));
    return oneLine(names.empty() ? "none" : listed(names));
  }
};

} // namespace

std::string operatorName(const LayerConfig &layer) {
  if (layer.className == "TFOpLambda" || layer.className == "SlicingOpLambda")
    return "tf." + textMember(layer.config, "function", layer.className);
  if (layer.module.starts_with("keras.src.ops") || layer.module.starts_with("keras.ops"))
    return "ops." + layer.className;
  return layer.className;
}

void checkLayers(const ModelConfig &model, int version, const ImportOptions &options, const std::string &fileName) {
  LayerCheck check(version, options);
  check.visit(model, "");
  check.finish(fileName);
}

} // namespace lathe::keras
