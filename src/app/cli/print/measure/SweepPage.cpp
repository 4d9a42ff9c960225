#include "cli/print/measure/SweepPage.h"

#include "cli/print/measure/EvaluatePrint.h"
#include "evaluate/ConfusionPicture.h"
#include "evaluate/Dataset.h"
#include "jobs/sweep/Decisions.h"
#include "lab/machine/Disturbance.h"
#include "lab/machine/PlatformFacts.h"
#include "support/Text.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace lathe::cli {
namespace {

using nlohmann::json;
using print::Section;

/// Rows without a time or without decisions, with reasons.
Section failures(const Sweep &sweep) {
  Table table({textColumn("row"), textColumn("reason")});
  for (const SweepRow &row : sweep.rows)
    if (!row.reason.empty())
      table.row({rowText(row, severalModels(sweep)), row.reason});
  return {"Rows without a time", {}, std::move(table)};
}

Table changedTable(const std::vector<ChangedDecision> &changed, const std::vector<std::string> &classes) {
  constexpr size_t shown = 50;
  Table table({numberColumn("picture"), textColumn("file"), textColumn("class"), textColumn("first row"),
               textColumn("this row")});
  for (size_t i = 0; i < std::min(shown, changed.size()); ++i) {
    const ChangedDecision &one = changed[i];
    table.row({std::to_string(one.number), one.file, one.label ? className(classes, *one.label) : "",
               className(classes, one.before), className(classes, one.now)});
  }
  return table;
}

/// Confusion matrices and changed decisions. Rows with equal decisions on all pictures share a section.
void addDecisions(std::vector<Section> &sections, const Sweep &sweep) {
  std::map<std::vector<size_t>, std::vector<const SweepRow *>> groups;
  std::vector<const std::vector<size_t> *> order;
  std::vector<std::string> classes = evaluate::shortNames(sweep.names);
  for (const SweepRow &row : sweep.rows)
    if (!row.decisions.empty()) {
      auto [group, isNew] = groups.try_emplace(row.decisions);
      if (isNew)
        order.push_back(&group->first);
      group->second.push_back(&row);
    }
  for (const std::vector<size_t> *decisions : order) {
    const std::vector<const SweepRow *> &rows = groups.at(*decisions);
    std::vector<std::string> names;
    for (const SweepRow *row : rows)
      names.push_back(rowText(*row, severalModels(sweep)));
    Decided decided = decidedBy(*rows[0], sweep);
    std::string which = fmt::format("{}", fmt::join(names, "; "));
    std::string figures =
        decided.labelled ? fmt::format("{} of {} right. ", decided.right, decided.labelled) : std::string();
    figures += fmt::format("{} of {} as the first row decides.", decided.agreeing, decisions->size());
    Section matrix{"Decisions of " + which, {figures}};
    if (auto confusion = confusionOf(*rows[0], sweep)) {
      matrix.paragraphs.emplace_back(
          "Confusion matrix of the classes that occur: rows are classes, columns decisions.");
      matrix.table = confusionTable(*confusion, classes, textColumn("class"));
      matrix.svg = evaluate::confusionSvg(*confusion, classes);
    }
    sections.push_back(std::move(matrix));
    std::vector<ChangedDecision> changed = changedIn(*rows[0], sweep);
    if (changed.empty())
      continue;
    Table table = changedTable(changed, classes);
    std::vector<std::string> more;
    if (changed.size() > table.rowCount())
      more.push_back(fmt::format("The first {} of {}; --json has all.", table.rowCount(), changed.size()));
    sections.push_back({"Changed decisions of " + which, more, std::move(table)});
  }
}

/// The operator of a node "model.tflite: node 14 'fc' (FULLY_CONNECTED, schema 3)", named as in its format; `otherwise`
/// if the node does not state it.
std::string operatorOf(const std::string &node, const std::string &otherwise) {
  size_t open = node.rfind(" ("), comma = node.find(',', open);
  return open == std::string::npos || comma == std::string::npos ? otherwise : node.substr(open + 2, comma - open - 2);
}

/// The node without its file, which has a separate column.
std::string withoutFile(const std::string &node, const SweepRow &row) {
  const std::string file = row.model.model + ": ";
  return node.starts_with(file) ? node.substr(file.size()) : node;
}

/// Operators of one kind that keep the layout for the same reason.
struct Kept {
  std::set<std::string> nodes;
  std::vector<std::string> rows;
};

/// Lists each kind of operator with each reason once, for all rows.
void addLayouts(std::vector<Section> &sections, const Sweep &sweep) {
  std::map<std::tuple<std::string, std::string, std::string>, Kept> kept; // by model, operator and reason
  for (const SweepRow &row : sweep.rows) {
    if (row.compiled.is_null())
      continue;
    std::set<std::tuple<std::string, std::string, std::string>> here;
    for (const json &one : row.compiled.at("layouts").at("unconverted")) {
      std::string node = one.at("node");
      std::tuple key(shownModel(row), operatorOf(node, one.at("op")), one.at("reason").get<std::string>());
      here.insert(key);
      kept[key].nodes.insert(withoutFile(node, row));
    }
    for (const auto &key : here)
      kept[key].rows.push_back(rowText(row, false));
  }
  if (kept.empty())
    return;
  Table table({textColumn("model"), textColumn("operator"), numberColumn("nodes"), textColumn("first node"),
               textColumn("why it is computed in the model's own order"), textColumn("rows")});
  for (const auto &[key, one] : kept) {
    const auto &[model, op, reason] = key;
    table.row({model, op, std::to_string(one.nodes.size()), *one.nodes.begin(), reason,
               fmt::format("{}", fmt::join(one.rows, "; "))});
  }
  sections.push_back({"Operators that keep the layout of the model",
                      {"All other operators that have channels compute in the layout that was chosen or asked for."},
                      std::move(table)});
}

void addUncompiled(std::vector<Section> &sections, const Sweep &sweep) {
  Table table({textColumn("row"), textColumn("node"), textColumn("operator"), numberColumn("share of the time", "%"),
               textColumn("reason")});
  for (const SweepRow &row : sweep.rows)
    for (const UncompiledOperator &one : row.uncompiled)
      table.row(
          {rowText(row, severalModels(sweep)), one.node, one.op, fmt::format("{:.1f}", one.share * 100), one.reason});
  if (table.rowCount())
    sections.push_back({"Operators without a kernel", {}, std::move(table)});
}

/// Notes that readers need to interpret the times.
std::vector<std::string> notes(const Sweep &sweep) {
  std::vector<std::string> lines{
      "Speedup: time of the first row over the time of the row. Memory: largest resident set of the process that was "
      "timed."};
  for (const SweepRow &row : sweep.rows)
    if (row.foreignBuild) {
      lines.push_back(fmt::format("{} is not a native build: its decisions are those of the original runtime, its "
                                  "times say nothing of a native one, and no ratio is made of them.",
                                  row.title));
      break;
    }
  if (sweep.timing.disturbance.otherProcessors.value_or(0) > lab::disturbingProcessors)
    lines.push_back(fmt::format("Other programs used {:.2f} processors while the rows were timed.",
                                *sweep.timing.disturbance.otherProcessors));
  return lines;
}

} // namespace

print::Document sweepDocument(const Sweep &sweep, const std::string &command, bool finished) {
  store::Platform here = store::platformFromJson(lab::platformFacts());
  print::Document document{"Sweep of " + (sweep.rows.empty() ? std::string("nothing") : shownModel(sweep.rows[0]))};
  document.paragraphs.push_back(command);
  document.paragraphs.push_back(fmt::format("{}, {}", here.cpu, counted(here.hardwareThreads, "thread")));
  if (!finished)
    document.paragraphs.emplace_back("Interrupted: the same command continues.");
  document.sections.push_back({"Rows", notes(sweep), sweepTable(sweep)});
  if (std::any_of(sweep.rows.begin(), sweep.rows.end(), [](auto &row) { return !row.reason.empty(); }))
    document.sections.push_back(failures(sweep));
  addDecisions(document.sections, sweep);
  addLayouts(document.sections, sweep);
  addUncompiled(document.sections, sweep);
  return document;
}

} // namespace lathe::cli
