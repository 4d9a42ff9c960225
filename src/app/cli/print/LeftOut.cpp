#include "cli/print/LeftOut.h"

#include "import/Import.h"
#include "support/Text.h"

#include "mlir/IR/BuiltinAttributes.h"

#include <map>
#include <set>

namespace lathe::cli {
namespace {

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

} // namespace

std::string describeUnsupported(const std::vector<ImportIssue> &issues, const TableStyle &style, nlohmann::json &json) {
  Table table({textColumn("node").shrink(12), textColumn("operator").shrink(8).key("op"),
               numberColumn("version").key("opset").drop(2), textColumn("type").drop(1).shrink(10),
               textColumn("reason").shrink(30)});
  for (const ImportIssue &issue : issues)
    table.row({issue.node, issue.op, std::to_string(issue.opset), issue.type, issue.reason});
  Table operators = countedOperators(issues);
  json["unsupported"] = toJson(table);
  json["unsupported_operators"] = toJson(operators);
  return table.str(style) + operators.str(style);
}

std::string describeLeftBehind(mlir::ModuleOp module, nlohmann::json &json) {
  json["left_behind"] = 0;
  json["unknown_values"] = nlohmann::json::array();
  auto behind = module->getAttrOfType<mlir::IntegerAttr>(leftBehindAttribute);
  auto unknown = module->getAttrOfType<mlir::ArrayAttr>(unknownValuesAttribute);
  if (!behind || !unknown || behind.getInt() == 0)
    return "";
  std::string shapes;
  for (mlir::Attribute name : unknown) {
    std::string text = llvm::cast<mlir::StringAttr>(name).str();
    json["unknown_values"].push_back(text);
    shapes += fmt::format(" --shape {}=...", printable(text));
  }
  json["left_behind"] = behind.getInt();
  return fmt::format("{} behind it left out as well; give the extents of its results with{}\n",
                     counted(behind.getInt(), "node"), shapes);
}

std::string describeLeftOut(const std::vector<ImportIssue> &issues, mlir::ModuleOp module, const TableStyle &style,
                            nlohmann::json &json) {
  if (issues.empty())
    return "";
  std::string text = fmt::format("without {}, whose results are inputs:\n",
                                 issues.size() == 1 ? "a node that is not supported" : "nodes that are not supported");
  text += describeUnsupported(issues, style, json);
  return text + describeLeftBehind(module, json);
}

} // namespace lathe::cli
