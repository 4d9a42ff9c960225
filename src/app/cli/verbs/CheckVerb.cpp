#include "cli/CompilerVerbs.h"
#include "cli/print/LayoutPrint.h"
#include "cli/print/LeftOut.h"
#include "cli/print/VariantsPrint.h"

#include "support/Text.h"

#include <iostream>

namespace lathe::cli {
namespace {

using nlohmann::json;

/// Describes which kernels would be compiled, and which operators would run on references.
void describeCompiled(const CompileReport &report, const Options &options, json &document) {
  double share = report.flops > 0 ? report.compiledFlops / report.flops : 1;
  Table references({textColumn("node").shrink(12), textColumn("operator").shrink(8).key("op"),
                    textColumn("type").drop(1).shrink(10),
                    textColumn("runs on its reference because").shrink(30).key("reason")});
  for (const ReferenceUse &use : report.references)
    references.row({use.node, use.op, use.type, use.reason});
  document["references"] = toJson(references);
  document["kernels"] = report.kernels;
  document["layout_conversions"] = report.layoutConversions;
  document["notes"] = report.notes;
  document["flops"] = report.flops;
  document["compiled_flops_share"] = share;
  document["variants"] = variantsJson(report);
  document["symbols"] = report.symbols;
  if (options.printsText()) {
    if (references.rowCount())
      std::cout << references.str(options.tableStyle());
    std::cout << fmt::format("reference calls: {}; {:.2f} % of {} compiled, in {} with {}\n", report.references.size(),
                             share * 100, flopsText(report.flops), counted(int64_t(report.kernels), "kernel"),
                             counted(int64_t(report.layoutConversions), "layout conversion"));
    if (!report.symbols.empty())
      std::cout << fmt::format("extents known at run time: {}\n", printable(listed(report.symbols)));
    std::cout << variantsText(report);
    for (const std::string &note : report.notes)
      std::cout << "note: " << note << "\n";
  }
}

void reportSupported(const CompileReport &report, const std::string &model, const LayoutReport *layouts,
                     const Options &options, json document) {
  document["supported"] = true;
  if (layouts)
    document["layouts"] = layoutJson(*layouts);
  if (options.printsText())
    std::cout << fmt::format("{}: every node is supported\n", printable(model));
  describeCompiled(report, options, document);
  if (layouts && options.printsText())
    std::cout << layoutText(*layouts, options.tableStyle());
  options.writeJson(document);
}

/// Nodes that cannot be imported, with the reasons, and what becomes of the others.
int reportUnsupported(const std::vector<ImportIssue> &issues, mlir::ModuleOp rest, const ModelOptions &model,
                      const Options &options, json document) {
  std::string table = describeUnsupported(issues, options.tableStyle(), document);
  document["supported"] = false;
  if (options.printsText())
    std::cout << fmt::format("{}: not supported: {}\n{}", printable(model.model),
                             counted(int64_t(issues.size()), "node"), table);
  if (rest) {
    Progress progress("check " + model.model);
    std::string behind = describeLeftBehind(rest, document);
    CompileReport report = checkCompiled(rest, compileOptions(model, &progress));
    if (options.printsText())
      std::cout << fmt::format("\nThe rest of the model:\n{}", behind);
    describeCompiled(report, options, document);
  }
  options.writeJson(document);
  return failedVerdict;
}

} // namespace

int checkVerb(const Arguments &arguments) {
  ModelOptions model;
  bool strict = false, layouts = false;
  Options options("check",
                  "List every operator that is unsupported or falls back to a reference, without generating code.\n"
                  "Exit code 1 when a node is unsupported.",
                  "  lathe check model.onnx\n  lathe check zoo:densenet121 --strict --json check.json\n"
                  "  lathe check model.tflite --layout nhwc --layouts\n");
  addModel(options, model, ModelUse::kernels);
  addVariants(options, model);
  options.add_flag("--strict", strict, "Return exit code 1 also for operators that fall back to references");
  options.add_flag("--layouts", layouts, layoutsHelp);
  options.addShowing();
  options.parseAll(arguments);

  Progress progress("check " + model.model);
  json document{{"model", model.model}, {"unsupported", json::array()}, {"references", json::array()}};
  Source source;
  std::vector<ImportIssue> issues;
  try {
    source = loadPart(model, issues);
  } catch (const UnsupportedError &error) { // no supported node is left
    issues = error.issues;
  }
  if (!issues.empty())
    return reportUnsupported(issues, source.module ? *source.module : mlir::ModuleOp(), model, options,
                             std::move(document));
  CompileReport report = checkCompiled(*source.module, compileOptions(model, &progress));
  std::optional<LayoutReport> layoutsOf;
  if (layouts)
    layoutsOf.emplace(layoutReport(report, model, true));
  reportSupported(report, model.model, layoutsOf ? &*layoutsOf : nullptr, options, std::move(document));
  bool falls = !report.references.empty();
  for (const VariantReport &variant : report.variants)
    falls |= !variant.references.empty();
  return strict && falls ? failedVerdict : success;
}

} // namespace lathe::cli
