#include "cli/CompilerVerbs.h"
#include "cli/print/DiffModelsPrint.h"
#include "import/TensorScales.h"
#include "import/UnusedDefinitions.h"
#include "jobs/compare/SideParts.h"
#include "jobs/diff/ValueDiff.h"
#include "passes/Passes.h"
#include "passes/Pipeline.h"
#include "stage/diff/PlainForm.h"

#include <algorithm>
#include <iostream>

namespace lathe::cli {
namespace {

/// A model behind the graph passes that change no layout and form no kernels: batch norms are in the weights, constants are
/// evaluated, formulas are one operator, and images have the channels first.
Source normalised(const ModelOptions &flags) {
  Source source = loadSource(flags);
  require(!hasKernels(*source.module), "{}: is text at kernels level, expected a graph; give the model", flags.model);
  PipelineOptions options;
  options.level = 1;
  options.widensHalf = false;
  optimizeGraph(*source.module, options);
  plainForm(mainFunction(*source.module));
  foldPad(*source.module); // pads that are now beside their convolutions
  foldScale(*source.module, options.exactMath);
  foldConstants(*source.module);
  simplify(*source.module);
  deadCode(*source.module);
  return source;
}

/// Leaves each model the flags that its format has. One that neither has stays: the import of A says what it expected.
void share(ModelOptions &a, ModelOptions &b) {
  ModelOptions own = a, other = b;
  clearForeignFlags(own);
  clearForeignFlags(other);
  auto nobody = [](const auto &given, const auto &x, const auto &y) { return x != given && y != given; };
  if (nobody(a.requantizeRounding, own.requantizeRounding, other.requantizeRounding))
    own.requantizeRounding = a.requantizeRounding;
  if (nobody(a.signature, own.signature, other.signature))
    own.signature = a.signature;
  if (nobody(a.custom, own.custom, other.custom))
    own.custom = a.custom;
  if (!own.custom.empty()) // A may lack the layer if B has it: normalisedFirst
    leaveDefinitionsUnused(other);
  a = own;
  b = other;
}

/// A, whose unused definitions B must use.
Source normalisedFirst(ModelOptions &a, ModelOptions &b) {
  try {
    return normalised(a);
  } catch (const UnusedDefinitions &unused) {
    if (b.custom.empty())
      throw;
    std::vector<std::string> required = a.custom; // B does not get the others
    leaveDefinitionsUnused(a);
    for (size_t i = 0; i < required.size(); ++i)
      for (const std::string &name : unused.classes)
        if (required[i].starts_with(name + "="))
          b.custom[i] = required[i];
  }
  return normalised(a);
}

/// The flags of the command line.
struct DiffFlags {
  ModelOptions model;
  InputOptions inputs; // with --values
  std::string other, otherSignature;
  std::vector<std::string> otherShapes;
  double tolerance = 1e-6;
  bool all = false, values = false;

  void add(Options &options);
  ModelOptions second(); // the flags of OTHER; those of `model` lose what its format has not
};

/// The values of both models beside each other; exit code 1 where one differs by more than the tolerance.
int compareValues(DiffFlags &flags, ModelOptions &second, const Options &options) {
  constexpr double usual = 1e-4; // of f32, as `lathe compare` has it
  double tolerance = options.given("--tolerance") ? flags.tolerance : usual;
  Source a = loadSource(flags.model), b = loadSource(second);
  auto scalesOf = [](const ModelOptions &model) {
    return model.isZoo() ? std::map<std::string, Quantization>() : tensorScales(model.model, importOptions(model));
  };
  ValueDiff diff = diffValues({flags.model.model, a, scalesOf(flags.model)}, {second.model, b, scalesOf(second)},
                              flags.inputs, flags.model.shapes, flags.model.threads, [&] {
                                Source first = normalisedFirst(flags.model, second);
                                return std::pair(std::move(first), normalised(second));
                              });
  require(!diff.values.empty(), "{} and {} have no value in common: neither a name of nodes nor a place in the graphs",
          flags.model.model, second.model);
  if (options.printsText())
    std::cout << valueDiffText(diff, flags.model.model, second.model, tolerance, options.tableStyle());
  nlohmann::json document = valueDiffJson(diff, tolerance);
  document["a"] = flags.model.model;
  document["b"] = second.model;
  options.writeJson(document);
  bool same = std::all_of(diff.values.begin(), diff.values.end(), [&](const ValueError &value) {
    return value.broken.empty() && value.relativeL2 <= tolerance;
  });
  return same ? success : failedVerdict;
}

void DiffFlags::add(Options &options) {
  addModel(options, model, ModelUse::graph);
  options.add_option("OTHER", other, "The other model, of any format")->required();
  options.add_option("--other-shape", otherShapes, "--shape of OTHER, as NAME=1x3x224x224")->type_name("NAME=DIMS");
  options
      .add_option("--other-signature", otherSignature,
                  "--signature of OTHER (default: that of MODEL, if OTHER has signatures)")
      ->type_name("NAME");
  options
      .add_option("--tolerance", tolerance,
                  "Take constants of floats as equal whose difference has at most this share of the L2 norm: rounding "
                  "of folding")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  options.add_flag("--all", all, "Print every difference instead of the first 20");
  options.add_flag(
      "--values", values,
      "Run both models on the reference operators instead, with the same inputs, and print the error of each "
      "value that both have (default tolerance: 0.0001)");
  addInputs(options, inputs, "random");
  options.reads([this] { return std::vector<std::string>{other}; });
  options.addWide();
  options.addJson();
  options.afterParse([this, &options] {
    if (!values)
      options.refuse({"--input", "--fill", "--seed", "--batch"}, "only --values runs the models");
    else
      options.refuse({"--all"}, "--values prints all values");
  });
}

ModelOptions DiffFlags::second() {
  ModelOptions second = model;
  second.model = other;
  second.shapes = otherShapes;
  require(!second.isZoo() || otherShapes.empty(), "--other-shape: {} has no symbolic extents", other);
  share(model, second);
  if (!otherSignature.empty())
    second.signature = otherSignature;
  require(otherSignature.empty() || !second.isZoo(), "--other-signature: {} has no signatures", other);
  return second;
}

} // namespace

int diffModelsVerb(const Arguments &arguments) {
  DiffFlags flags;
  Options options(
      "diff-models",
      "Map the graphs of two models onto each other and list what differs: operators without a partner,\n"
      "attributes, constants, inputs and outputs. Formats may differ: batch norms are folded and channels come\n"
      "first before graphs are compared. With --values, print the errors of values inside instead, and where they "
      "grow.\n"
      "Exit code 0 if nothing differs, 1 if something does.",
      "  lathe diff-models resnet50.keras resnet50.onnx\n"
      "  lathe diff-models before.onnx after.onnx --all --json differences.json\n"
      "  lathe diff-models float.tflite int8.tflite --values -i x=image.npy\n"
      "  lathe diff-models resnet50.onnx zoo:resnet50");
  flags.add(options);
  options.parseAll(arguments);
  ModelOptions second = flags.second();
  if (flags.values)
    return compareValues(flags, second, options);
  Source a = normalisedFirst(flags.model, second), b = normalised(second);
  GraphDiff diff = diffGraphs(mainFunction(*a.module), mainFunction(*b.module), flags.tolerance);
  if (options.printsText())
    std::cout << graphDiffText(diff, flags.model.model, flags.other, flags.all ? SIZE_MAX : 20);
  nlohmann::json document = graphDiffJson(diff);
  document["a"] = flags.model.model;
  document["b"] = flags.other;
  options.writeJson(document);
  return diff.count() ? failedVerdict : success;
}

} // namespace lathe::cli
