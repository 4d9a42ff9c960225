#include "cli/CompilerVerbs.h"

#include "import/Import.h"
#include "support/Text.h"

#include <iostream>

namespace lathe::cli {

int checkVerb(const Arguments &arguments) {
  ModelFlags model;
  bool strict = false;
  Options options("check",
                  "List every operator that is unsupported or falls back to a reference, without generating code.\n"
                  "Exit code 1 when a node is unsupported.",
                  "  lathe check model.onnx\n  lathe check zoo:densenet121 --strict --json check.json\n");
  model.add(options, ModelUse::kernels);
  options.add_flag("--strict", strict, "Return exit code 1 also for operators that fall back to references");
  options.addQuiet();
  options.addWide();
  options.addJson();
  options.parseAll(arguments);

  Progress progress("check " + model.model);
  nlohmann::json json{
      {"model", model.model}, {"unsupported", nlohmann::json::array()}, {"references", nlohmann::json::array()}};
  Source source;
  try {
    source = loadSource(model);
  } catch (const UnsupportedError &error) {
    Table table({textColumn("node").shrink(12), textColumn("operator").shrink(8), numberColumn("opset").drop(2),
                 textColumn("type").drop(1).shrink(10), textColumn("reason").shrink(30)});
    for (const ImportIssue &issue : error.issues) {
      table.row({issue.node, issue.op, std::to_string(issue.opset), issue.type, issue.reason});
      json["unsupported"].push_back({{"node", issue.node},
                                     {"op", issue.op},
                                     {"opset", issue.opset},
                                     {"type", issue.type},
                                     {"reason", issue.reason}});
    }
    json["supported"] = false;
    if (options.printsText())
      std::cout << fmt::format("{}: not supported: {}\n{}", model.model, counted(int64_t(error.issues.size()), "node"),
                               table.str(options.tableStyle()));
    options.writeJson(json);
    return failedVerdict;
  }
  CompileReport report = checkCompiled(*source.module, compileOptions(model, &progress));
  double share = report.flops > 0 ? report.compiledFlops / report.flops : 1;
  for (const ReferenceUse &use : report.references)
    json["references"].push_back({{"node", use.node}, {"op", use.op}, {"type", use.type}, {"reason", use.reason}});
  json["supported"] = true;
  json["kernels"] = report.kernels;
  json["layout_conversions"] = report.layoutConversions;
  json["notes"] = report.notes;
  json["flops"] = report.flops;
  json["compiled_flops_share"] = share;
  if (options.printsText()) {
    std::cout << fmt::format("{}: every node is supported\n", model.model);
    if (!report.references.empty()) {
      Table table({textColumn("node").shrink(12), textColumn("operator").shrink(8),
                   textColumn("type").drop(1).shrink(10), textColumn("runs on its reference because").shrink(30)});
      for (const ReferenceUse &use : report.references)
        table.row({use.node, use.op, use.type, use.reason});
      std::cout << table.str(options.tableStyle());
    }
    std::cout << fmt::format("reference calls: {}; {:.2f} % of {} compiled, in {} with {}\n", report.references.size(),
                             share * 100, flopsText(report.flops), counted(int64_t(report.kernels), "kernel"),
                             counted(int64_t(report.layoutConversions), "layout conversion"));
    for (const std::string &note : report.notes)
      std::cout << "note: " << note << "\n";
  }
  options.writeJson(json);
  return strict && !report.references.empty() ? failedVerdict : success;
}

} // namespace lathe::cli
