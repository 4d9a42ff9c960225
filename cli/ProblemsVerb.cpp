// `lathe ops problems`: the operators of a model as problems of the laboratory.
#include "cli/CompilerVerbs.h"
#include "cli/ModelProblems.h"

#include <iostream>

namespace lathe::cli {

int problemsVerb(const Arguments &arguments) {
  ModelFlags model;
  std::string csv;
  Options options(
      "ops problems",
      "Lists the distinct operators of a model as it is compiled (constants folded, operators fused), with how "
      "often each\noccurs: problems for `lathe ops bench`. Symbolic extents that no --shape gives are 1.",
      "  lathe ops problems resnet50.onnx\n"
      "  lathe ops problems zoo:mobilenet_v1 --csv mobilenet.csv\n"
      "  lathe ops bench conv --problems mobilenet.csv --suite zoo:mobilenet_v1\n");
  model.add(options, ModelUse::kernels);
  options.addOutput("--csv", csv, "writes the list, its suite called as the model (-: standard output)");
  options.addQuiet();
  options.addJson();
  options.parseAll(arguments);

  Source source = loadSource(model);
  lowerToKernels(*source.module, compileOptions(model, nullptr));
  ModelProblems found = problemsOf(*source.module);

  Table table({"count", "GFLOP", "problem", "first node"});
  nlohmann::json problems = nlohmann::json::array(), besides = nlohmann::json::object();
  std::string lines = "suite,name,count,kind,problem\n";
  for (auto &entry : found.problems) {
    table.row(
        {std::to_string(entry.count), fmt::format("{:.3f}", entry.problem.flops() * 1e-9), entry.text, entry.name});
    problems.push_back({{"problem", toJson(entry.problem)},
                        {"kind", entry.kind},
                        {"text", entry.text},
                        {"name", entry.name},
                        {"nodes", entry.nodes},
                        {"count", entry.count}});
    // A list's cells have no commas; lists of attributes do.
    auto cell = [](const std::string &text) { return text.find(',') == std::string::npos ? text : '"' + text + '"'; };
    lines +=
        fmt::format("{},{},{},{},{}\n", cell(model.model), cell(entry.name), entry.count, entry.kind, cell(entry.text));
  }
  for (auto &[op, count] : found.besides)
    besides[op] = count;
  if (!csv.empty())
    writeFile(csv, lines);
  if (options.printsText()) {
    std::cout << table.str();
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
