#include "cli/CompilerVerbs.h"
#include "cli/print/LayoutPrint.h"
#include "cli/print/VariantsPrint.h"

#include "import/Import.h"
#include "support/Text.h"

#include <iostream>
#include <map>
#include <set>

namespace lathe::cli {
namespace {

using nlohmann::json;

/// The scope that a node is in: its name up to the last slash.
std::string scopeOf(const std::string &node) {
  size_t slash = node.rfind('/');
  return slash == std::string::npos ? "" : node.substr(0, slash);
}

/// Operators that cannot be imported: how many nodes of each, and the scopes that they are in.
Table countedOperators(const std::vector<ImportIssue> &issues) {
  std::map<std::string, std::pair<int64_t, std::set<std::string>>> operators;
  for (const ImportIssue &issue : issues) {
    auto &[count, scopes] = operators[issue.op];
    ++count;
    scopes.insert(scopeOf(issue.node));
  }
  Table table({textColumn("operator").shrink(8).key("op"), numberColumn("nodes"), textColumn("scopes").shrink(20)});
  for (const auto &[op, found] : operators)
    if (!op.empty())
      table.row({op, std::to_string(found.first), fmt::format("{}", fmt::join(found.second, " "))});
  return table;
}

/// Nodes that cannot be imported, with the reasons.
int reportUnsupported(const UnsupportedError &error, const std::string &model, const Options &options, json document) {
  Table table({textColumn("node").shrink(12), textColumn("operator").shrink(8).key("op"),
               numberColumn("version").key("opset").drop(2), textColumn("type").drop(1).shrink(10),
               textColumn("reason").shrink(30)});
  for (const ImportIssue &issue : error.issues)
    table.row({issue.node, issue.op, std::to_string(issue.opset), issue.type, issue.reason});
  Table operators = countedOperators(error.issues);
  document["unsupported"] = toJson(table);
  document["unsupported_operators"] = toJson(operators);
  document["supported"] = false;
  if (options.printsText())
    std::cout << fmt::format("{}: not supported: {}\n{}", printable(model),
                             counted(int64_t(error.issues.size()), "node"), table.str(options.tableStyle()))
              << operators.str(options.tableStyle());
  options.writeJson(document);
  return failedVerdict;
}

/// What would be compiled, and what would run on references.
void reportSupported(const CompileReport &report, const std::string &model, const LayoutReport *layouts,
                     const Options &options, json document) {
  double share = report.flops > 0 ? report.compiledFlops / report.flops : 1;
  Table references({textColumn("node").shrink(12), textColumn("operator").shrink(8).key("op"),
                    textColumn("type").drop(1).shrink(10),
                    textColumn("runs on its reference because").shrink(30).key("reason")});
  for (const ReferenceUse &use : report.references)
    references.row({use.node, use.op, use.type, use.reason});
  document["references"] = toJson(references);
  document["supported"] = true;
  document["kernels"] = report.kernels;
  document["layout_conversions"] = report.layoutConversions;
  document["notes"] = report.notes;
  document["flops"] = report.flops;
  document["compiled_flops_share"] = share;
  document["variants"] = variantsJson(report);
  if (layouts)
    document["layouts"] = layoutJson(*layouts);
  document["symbols"] = report.symbols;
  if (options.printsText()) {
    std::cout << fmt::format("{}: every node is supported\n", printable(model));
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
    if (layouts)
      std::cout << layoutText(*layouts, options.tableStyle());
  }
  options.writeJson(document);
}

} // namespace

int checkVerb(const Arguments &arguments) {
  ModelFlags model;
  bool strict = false, layouts = false;
  Options options("check",
                  "List every operator that is unsupported or falls back to a reference, without generating code.\n"
                  "Exit code 1 when a node is unsupported.",
                  "  lathe check model.onnx\n  lathe check zoo:densenet121 --strict --json check.json\n"
                  "  lathe check model.tflite --layout nhwc --layouts\n");
  model.add(options, ModelUse::kernels);
  model.addVariants(options);
  options.add_flag("--strict", strict, "Return exit code 1 also for operators that fall back to references");
  options.add_flag("--layouts", layouts, layoutsHelp);
  options.addQuiet();
  options.addWide();
  options.addJson();
  options.parseAll(arguments);

  Progress progress("check " + model.model);
  json document{{"model", model.model}, {"unsupported", json::array()}, {"references", json::array()}};
  Source source;
  try {
    source = loadSource(model);
  } catch (const UnsupportedError &error) {
    return reportUnsupported(error, model.model, options, std::move(document));
  }
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
