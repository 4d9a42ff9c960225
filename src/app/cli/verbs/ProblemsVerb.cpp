// `lathe ops problems`: prints the operators of a model as problems of the laboratory.
#include "cli/CompilerVerbs.h"
#include "lab/providers/graph/ModelProblems.h"

#include <iostream>

namespace lathe::cli {

int problemsVerb(const Arguments &arguments) {
  ModelOptions model;
  std::string csv;
  Options options("ops problems",
                  "List the distinct operators of a compiled model (constants folded, operators fused) with their "
                  "counts, as problems\n"
                  "for `lathe ops bench`. Symbolic extents that no --shape gives are 1.",
                  "  lathe ops problems resnet50.onnx\n"
                  "  lathe ops problems zoo:mobilenet_v1 --csv mobilenet.csv\n"
                  "  lathe ops bench --problems mobilenet.csv --suite zoo:mobilenet_v1\n");
  addModel(options, model, ModelUse::kernels);
  options.addOutput("--csv", csv, "Write the list to FILE, its suite named after the model (-: standard output)");
  options.addShowing();
  options.parseAll(arguments);

  Source source = loadSource(model);
  lowerToKernels(*source.module, compileOptions(model, nullptr));
  lab::ModelProblems found = lab::problemsOf(*source.module);

  Table table({numberColumn("count"), numberColumn("GFLOP"), textColumn("problem").shrink(30),
               textColumn("first node").drop(1).shrink(12)});
  Table list(
      {textColumn("suite"), textColumn("name"), numberColumn("count"), textColumn("kind"), textColumn("problem")});
  nlohmann::json problems = nlohmann::json::array(), besides = nlohmann::json::object();
  for (auto &entry : found.problems) {
    table.row(
        {std::to_string(entry.count), fmt::format("{:.3f}", entry.problem.flops() * 1e-9), entry.text, entry.name});
    problems.push_back({{"problem", toJson(entry.problem)},
                        {"kind", entry.kind},
                        {"text", entry.text},
                        {"name", entry.name},
                        {"nodes", entry.nodes},
                        {"count", entry.count}});
    list.row({model.model, entry.name, std::to_string(entry.count), entry.kind, entry.text});
  }
  for (auto &[op, count] : found.besides)
    besides[op] = count;
  if (!csv.empty())
    writeFile(csv, list.csv());
  if (options.printsText()) {
    std::cout << table.str(options.tableStyle());
    std::string also;
    for (auto &[op, count] : found.besides)
      also += fmt::format("{}{} {}", also.empty() ? "" : ", ", count, op);
    if (!also.empty())
      std::cout << "Kernels compute besides: " << also << "\n";
  }
  options.writeJson(
      {{"model", model.model}, {"source", sourceText(model, source)}, {"problems", problems}, {"besides", besides}});
  return success;
}

} // namespace lathe::cli
