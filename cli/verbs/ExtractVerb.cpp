#include "cli/CompilerVerbs.h"

#include "export/onnx/Export.h"
#include "import/Import.h"
#include "passes/interpret/Evaluate.h"
#include "passes/interpret/Extract.h"
#include "passes/interpret/Ports.h"
#include "support/PendingFile.h"
#include "support/Text.h"

#include <iostream>
#include <thread>

namespace lathe::cli {
namespace {

/// "cut.onnx" to "cut".
std::string stem(const std::string &path) {
  size_t dot = path.rfind('.');
  return dot == std::string::npos || path.find('/', dot) != std::string::npos ? path : path.substr(0, dot);
}

} // namespace

int extractVerb(const Arguments &arguments) {
  ModelFlags model;
  InputFlags inputs;
  CutOptions cutOptions;
  std::vector<std::string> nodes;
  std::string output;
  bool withInputs = false;
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
  model.add(options, ModelUse::graph);
  inputs.add(options, "random");
  options.add_option("--from", cutOptions.from, "Begin the part here (default: the model's inputs)")
      ->type_name("NAME...");
  options.add_option("--to", cutOptions.to, "Make these the outputs (default: the model's outputs)")
      ->type_name("NAME...");
  options.add_option("--node", nodes, "Take only this operator, as --from and --to")->type_name("NAME...");
  options.addOutput("-o,--output", output, "Write the part to CUT.onnx (-: standard output)")
      ->type_name("CUT.onnx")
      ->required();
  options.add_flag(
      "--inputs", withInputs,
      "Run the model on the references, write the part's inputs to CUT.inputs/ and outputs to CUT.expected/");
  options.addQuiet();
  options.addJson();
  options.afterParse([&] {
    if (!withInputs)
      options.refuse({"--input", "--fill", "--seed", "--batch"}, "the model is only run with --inputs");
  });
  options.parseAll(arguments);
  require(!nodes.empty() || !cutOptions.from.empty() || !cutOptions.to.empty(),
          "nothing to cut: give --from, --to or --node");
  require(!withInputs || !PendingFile::isStream(output),
          "--inputs: its folders are named after the file of -o, got {}: give -o CUT.onnx", output);
  requireNoTerminal(output, "an ONNX file");
  for (std::vector<std::string> *ends : {&cutOptions.from, &cutOptions.to})
    ends->insert(ends->end(), nodes.begin(), nodes.end());

  Progress progress("extract " + model.model);
  if (!model.isZoo())
    cutOptions.tensors = tensorOrigins(model.model);
  Source source = loadSource(model);
  Cut cut = cutGraph(*source.module, cutOptions);
  exportOnnxFile(*cut.module, output);

  nlohmann::json json{{"model", model.model},
                      {"file", output},
                      {"nodes", cut.nodes},
                      {"inputs", nlohmann::json::array()},
                      {"outputs", nlohmann::json::array()}};
  std::string text = fmt::format("{}: {}\n", output, counted(int64_t(cut.nodes), "operator"));
  std::vector<runtime::Port> ports = inputPorts(*cut.module);
  for (const runtime::Port &port : ports) {
    text += fmt::format("input  {}: {} {}\n", port.name, name(port.type), str(port.dims));
    json["inputs"].push_back({{"name", port.name}, {"type", name(port.type)}, {"dims", str(port.dims)}});
  }
  nn::SymbolicShapes shapes(mainFunction(*cut.module));
  for (auto [result, info] : llvm::zip(cut.outputs, shapes.results())) {
    text += fmt::format("output {}: {} {}\n", result, name(info.type), str(info.dims));
    json["outputs"].push_back({{"name", result}, {"type", name(info.type)}, {"dims", str(info.dims)}});
  }

  if (withInputs) {
    progress.update("running the model on its references", 0, 0);
    EvaluateOptions run;
    run.threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    std::vector<Value> values =
        evaluate(*cut.whole, gatherInputs(inputPorts(*source.module), inputs, model.shapes), run);
    std::span<const Value> all(values);
    size_t count = cut.inputs.size();
    std::string fed = stem(output) + ".inputs/", expected = stem(output) + ".expected/";
    writeValues(fed, cut.inputs, all.first(count));
    writeValues(expected, cut.outputs, all.subspan(count));
    json["inputs_folder"] = fed;
    json["expected_folder"] = expected;
    text += fmt::format("inputs in {}, what must come out in {}\n", fed, expected);
  }
  if (options.printsText())
    std::cout << text;
  options.writeJson(json);
  return success;
}

} // namespace lathe::cli
