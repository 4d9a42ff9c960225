#include "cli/CompilerVerbs.h"

#include "stage/Stage.h"
#include "support/Text.h"

#include <iostream>

namespace lathe::cli {

int stageVerb(const Arguments &arguments) {
  ModelOptions flags;
  std::string output;
  bool flat = false;
  Options options(
      "stage",
      "Write a model of any format as source that builds its graph: readable Python or C++, with one function "
      "for every\n"
      "repeated block, and the weights beside it in the safetensors format. Running the source writes the "
      "graph as textual IR,\n"
      "which every verb reads; an edited source makes another network (docs/staging.md).",
      "  lathe stage zoo:resnet50 -o net.py         writes net.py and net.safetensors\n"
      "  python3 net.py net.mlir                    the same graph again\n"
      "  lathe run net.mlir --fill random\n"
      "  lathe stage model.tflite -o net.cpp\n");
  addModel(options, flags, ModelUse::graph);
  options
      .addOutput("-o,--output", output,
                 "Write the source to F.py (Python) or F.cpp (C++), the weights to F.safetensors")
      ->type_name("F.py|F.cpp")
      ->required();
  options.add_flag("--flat", flat, "Write repeated blocks out instead of one function for each");
  options.addQuiet();
  options.addJson();
  options.parseAll(arguments);

  Progress progress("stage " + flags.model);
  Source source = loadSource(flags);
  StageReport report = stageToFiles(*source.module, output, !flat);
  std::string text = fmt::format("{} ({}, {})\n", report.source, counted(int64_t(report.lines), "line"),
                                 counted(int64_t(report.functions), "function"));
  if (!report.weights.empty())
    text += fmt::format("{} ({}, {})\n", report.weights, counted(int64_t(report.weightCount), "weight"),
                        bytesText(double(report.weightBytes)));
  if (options.printsText())
    std::cout << text;
  options.writeJson({{"model", flags.model},
                     {"file", report.source},
                     {"weights_file", report.weights},
                     {"lines", report.lines},
                     {"functions", report.functions},
                     {"weights", report.weightCount},
                     {"weight_bytes", report.weightBytes}});
  return success;
}

} // namespace lathe::cli
