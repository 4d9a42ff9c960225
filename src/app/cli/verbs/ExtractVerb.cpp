#include "cli/CompilerVerbs.h"
#include "cli/print/LeftOut.h"
#include "cli/print/PortText.h"
#include "jobs/ModelFormat.h"

#include "export/onnx/Export.h"
#include "import/Import.h"
#include "passes/Extract.h"
#include "passes/interpret/Evaluate.h"
#include "passes/interpret/Ports.h"
#include "support/PendingFile.h"
#include "support/Text.h"

#include <iostream>
#include <thread>

namespace lathe::cli {
namespace {

/// The path without its extension: "cut" for "cut.onnx".
std::string stem(const std::string &path) {
  size_t dot = path.rfind('.');
  return dot == std::string::npos || path.find('/', dot) != std::string::npos ? path : path.substr(0, dot);
}

struct ExtractFlags {
  ModelOptions model;
  InputOptions inputs;
  CutOptions cut;
  std::vector<std::string> nodes;
  std::string output;
  bool withInputs = false;

  void add(Options &options) {
    addModel(options, model, ModelUse::graph);
    addInputs(options, inputs, "random");
    options.add_option("--from", cut.from, "Begin the part here (default: the model's inputs)")->type_name("NAME...");
    options.add_option("--to", cut.to, "Make these the outputs (default: the model's outputs)")->type_name("NAME...");
    options.add_option("--node", nodes, "Take only this operator, as --from and --to")->type_name("NAME...");
    options.addOutput("-o,--output", output, "Write the part to CUT.onnx (-: standard output)")
        ->type_name("CUT.onnx")
        ->required();
    options.add_flag(
        "--inputs", withInputs,
        "Run the model on the references, write the part's inputs to CUT.inputs/ and outputs to CUT.expected/");
    options.addQuiet();
    options.addJson();
    options.afterParse([this, &options] {
      if (!withInputs)
        options.refuse({"--input", "--fill", "--seed", "--batch"}, "the model is only run with --inputs");
    });
  }

  /// Checks flags that depend on each other; --node counts as --from and --to.
  void finish() {
    require(!nodes.empty() || !cut.from.empty() || !cut.to.empty(), "nothing to cut: give --from, --to or --node");
    require(!withInputs || !PendingFile::isStream(output),
            "--inputs: its folders are named after the file of -o, got {}: give -o CUT.onnx", output);
    requireNoTerminal(output, "an ONNX file");
    for (std::vector<std::string> *ends : {&cut.from, &cut.to})
      ends->insert(ends->end(), nodes.begin(), nodes.end());
  }
};

/// Runs the whole model on its references and writes the values at the inputs and outputs of the part.
std::string writeInputs(const ExtractFlags &flags, mlir::ModuleOp module, const Cut &cut, nlohmann::json &json) {
  EvaluateOptions run;
  run.threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  mlir::ModuleOp whole = const_cast<Cut &>(cut).whole.get();
  std::vector<Value> values = evaluate(whole, gatherInputs(inputPorts(module), flags.inputs, flags.model.shapes), run);
  std::span<const Value> all(values);
  size_t count = cut.inputs.size();
  std::string fed = stem(flags.output) + ".inputs/", expected = stem(flags.output) + ".expected/";
  writeValues(fed, cut.inputs, all.first(count));
  writeValues(expected, cut.outputs, all.subspan(count));
  json["inputs_folder"] = fed;
  json["expected_folder"] = expected;
  return fmt::format("inputs in {}, what must come out in {}\n", fed, expected);
}

} // namespace

int extractVerb(const Arguments &arguments) {
  ExtractFlags flags;
  Options options("extract",
                  "Write a part of a model as ONNX, with its weights. Names are nodes as `check` and `verify` print "
                  "them (NODE:1 is the\n"
                  "second result), or tensors. A node given with --from belongs to the part, and its operands become "
                  "inputs; a tensor\n"
                  "given with --from becomes an input itself. On paths without a --from the part reaches back to the "
                  "model's inputs.",
                  "  lathe extract resnet50.onnx --node /layer1/layer1.0/conv1/Conv -o conv.onnx\n"
                  "  lathe extract model.onnx --from conv3 --to relu5 -o part.onnx --inputs\n"
                  "  lathe verify part.onnx -i part.inputs --seeds 0       on what the whole model feeds it\n");
  flags.add(options);
  options.parseAll(arguments);
  flags.finish();
  requireOnnxName(flags.output);

  const std::string &model = flags.model.model;
  Progress progress("extract " + model);
  if (!flags.model.isZoo())
    flags.cut.tensors = tensorOrigins(model, importOptions(flags.model));
  std::vector<ImportIssue> leftOut;
  Source source = loadPart(flags.model, leftOut);
  if (auto added = (*source.module)->getAttrOfType<mlir::IntegerAttr>(addedOutputsAttribute);
      added && flags.cut.to.empty()) {
    flags.cut.to = outputNames(mainFunction(*source.module));
    flags.cut.to.resize(flags.cut.to.size() - static_cast<size_t>(added.getInt()));
  }
  Cut cut = cutGraph(*source.module, flags.cut);
  exportOnnxFile(*cut.module, flags.output);

  nlohmann::json json{{"model", model},
                      {"file", flags.output},
                      {"nodes", cut.nodes},
                      {"inputs", nlohmann::json::array()},
                      {"outputs", nlohmann::json::array()}};
  mlir::func::FuncOp main = mainFunction(*cut.module);
  std::string text = fmt::format("{}: {}\n", flags.output, counted(int64_t(cut.nodes), "operator"));
  text += describeLeftOut(leftOut, *source.module, options.tableStyle(), json);
  text += describePorts("input", inputPorts(*cut.module), json["inputs"]);
  text += describePorts("output", outputPorts(main, nn::SymbolicShapes(main)), json["outputs"]);
  if (flags.withInputs) {
    progress.update("running the model on its references", 0, 0);
    text += writeInputs(flags, *source.module, cut, json);
  }
  if (options.printsText())
    std::cout << text;
  options.writeJson(json);
  return success;
}

} // namespace lathe::cli
