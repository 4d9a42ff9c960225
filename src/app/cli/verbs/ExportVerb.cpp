#include "cli/CompilerVerbs.h"
#include "cli/print/PortText.h"
#include "jobs/ModelFormat.h"

#include "export/onnx/Export.h"
#include "passes/interpret/Ports.h"
#include "support/Text.h"

#include <iostream>

namespace lathe::cli {

int exportVerb(const Arguments &arguments) {
  ModelOptions flags;
  std::string output;
  Options options(
      "export",
      "Write a model of any format as ONNX, with its weights. Names of nodes, inputs and outputs are kept, and "
      "so are symbolic\n"
      "extents. `lathe extract` writes a part of a model.",
      "  lathe export frozen.pb -o frozen.onnx\n"
      "  lathe export mobilenet.keras --shape input=1x224x224x3 -o mobilenet.onnx\n"
      "  lathe compare mobilenet.onnx                          is read by ONNX Runtime, too\n");
  addModel(options, flags, ModelUse::graph);
  options.addOutput("-o,--output", output, "Write the model to F.onnx (-: standard output)")
      ->type_name("F.onnx")
      ->required();
  options.addQuiet();
  options.addJson();
  options.parseAll(arguments);
  requireNoTerminal(output, "an ONNX file");
  requireOnnxName(output);

  Progress progress("export " + flags.model);
  Source source = loadSource(flags);
  requireOnnxForm(*source.module, flags.model);
  exportOnnxFile(*source.module, output);
  nlohmann::json json{{"model", flags.model},
                      {"file", output},
                      {"inputs", nlohmann::json::array()},
                      {"outputs", nlohmann::json::array()}};
  mlir::func::FuncOp main = mainFunction(*source.module);
  std::string text = output + "\n";
  text += describePorts("input", inputPorts(*source.module), json["inputs"]);
  text += describePorts("output", outputPorts(main, nn::SymbolicShapes(main)), json["outputs"]);
  if (options.printsText())
    std::cout << text;
  options.writeJson(json);
  return success;
}

} // namespace lathe::cli
