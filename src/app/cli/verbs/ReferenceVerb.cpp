#include "cli/CompilerVerbs.h"

#include "cli/print/TopElements.h"
#include "ir/SymbolicShapes.h"
#include "jobs/compare/SideParts.h"
#include "passes/Passes.h"
#include "passes/interpret/EvaluationBytes.h"
#include "passes/interpret/Ports.h"
#include "support/Memory.h"

#include <chrono>

namespace lathe::cli {

int referenceVerb(const Arguments &arguments) {
  ModelOptions model;
  InputOptions inputs;
  std::string output;
  int64_t top = 0;
  bool reference = false;
  Options options("run", "Run a model on the reference operators.",
                  "  lathe run model.onnx --reference --fill random\n");
  addModel(options, model, ModelUse::run);
  addStore(options, model); // of run, of which this is a flag, like the next
  addLoading(options, model);
  addInputs(options, inputs, "");
  options.addOutput("-o,--output", output, outputHelp)->type_name("PATH");
  options.add_flag("--reference", reference, "");
  addTop(options, top);
  options.addQuiet();
  options.addJson();
  options.parseAll(arguments);

  Source source = loadSource(model);
  if (overrideDefaults(model, unknownInputs(inputPorts(*source.module), inputs))) {
    Source again = loadSource(model);
    std::swap(source, again); // the first module must be destroyed before its context
  }
  if (!output.empty())
    requireValuesPath(output, outputNames(mainFunction(*source.module)).size());
  mlir::func::FuncOp main = mainFunction(*source.module);
  inputs.variables = variablesOf(inputPorts(*source.module), outputPorts(main, nn::SymbolicShapes(main)));
  std::vector<Value> values = gatherInputs(inputPorts(*source.module), inputs, model.shapes);
  widenEveryHalf(*source.module); // as in kernels
  auto start = std::chrono::steady_clock::now();
  EvaluateOptions evaluation;
  evaluation.threads = model.threads;
  requireMemory(evaluationBytes(*source.module, values, evaluation), model.model + ": the reference");
  std::vector<Value> results = evaluate(*source.module, values, evaluation);
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::vector<std::string> names = outputNames(mainFunction(*source.module));
  nlohmann::json json{
      {"model", model.model}, {"reference", true}, {"run_ms", seconds * 1e3}, {"outputs", nlohmann::json::array()}};
  printOutputs(names, results, json, options.printsText());
  if (top)
    printTop(names, results, top, json, options.printsText());
  if (!output.empty())
    writeValues(output, names, results);
  options.writeJson(json);
  return success;
}

} // namespace lathe::cli
