#include "cli/FrontVerbs.h"
#include "cli/Inputs.h"
#include "cli/Packages.h"
#include "cli/verbs/Measure.h"
#include "runtime/Context.h"

#include <chrono>
#include <iostream>

namespace lathe::cli {
namespace {

nlohmann::json memoryJson(const runtime::MemoryUse &memory, const runtime::Model &package) {
  return {{"constant_bytes", memory.constantBytes}, {"arena_bytes", memory.arenaBytes},
          {"live_bytes", memory.liveBytes},         {"scratch_bytes", memory.scratchBytes},
          {"output_bytes", memory.outputBytes},     {"copied_bytes", memory.copiedBytes},
          {"code_bytes", package.codeBytes()}};
}

} // namespace

int runVerb(const Arguments &arguments) {
  ModelFlags model;
  InputFlags inputs;
  std::string output;
  bool reference = false;
  Options options(
      "run", "Run a model or a package once and describe its outputs.",
      "  lathe run resnet50.lathe -i input=cat.npy -o outputs.npz\n"
      "  lathe run resnet50.onnx --fill random --seed 7\n"
      "  lathe run zoo:resnet18 --fill ones --reference\n"
      "A model is compiled first; the package is kept in ~/.cache/lathe and used again while the model, the flags\n"
      "and the compiler stay the same.\n");
  model.add(options, ModelUse::run);
  model.addStore(options);
  model.addLoading(options);
  inputs.add(options, "");
  options.addOutput("-o,--output", output, outputHelp)->type_name("PATH");
  options.add_flag("--reference", reference, "Run the whole model on the reference operators instead of compiled code");
  options.addQuiet();
  options.addJson();
  options.afterParse([&] {
    if (!reference)
      return;
    model.refuseCompileFlags("--reference compiles nothing");
    options.refuse({"--check-constants"}, "--reference loads no package");
  });
  options.parseAll(arguments);
  if (reference)
    return forwardToCompiler("reference", arguments);
  if (!output.empty())
    requireValuesPath(output, 1);

  auto package = packageFor(model).model;
  if (!output.empty())
    requireValuesPath(output, package->outputs().size());
  runtime::Context context(package, {.threads = model.threads});
  std::vector<Value> values = gatherInputs(package->inputs(), inputs, model.shapes);
  for (size_t i = 0; i < values.size(); ++i)
    context.setInput(i, values[i]);
  auto start = std::chrono::steady_clock::now();
  context.run();
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();

  std::vector<std::string> names;
  std::vector<Value> results;
  for (size_t i = 0; i < package->outputs().size(); ++i) {
    names.push_back(package->outputs()[i].name);
    results.push_back(context.output(i));
  }
  nlohmann::json json{{"model", model.model},
                      {"run_ms", seconds * 1e3},
                      {"peak_rss_bytes", peakResidentBytes()},
                      {"memory", memoryJson(context.memory(), *package)},
                      {"outputs", nlohmann::json::array()}};
  printOutputs(names, results, json, options.printsText());
  if (!output.empty())
    writeValues(output, names, results);
  options.writeJson(json);
  return success;
}

} // namespace lathe::cli
