#include "cli/print/measure/SweepReport.h"

#include "jobs/sweep/Decisions.h"
#include "lab/StoreRecords.h"
#include "lab/machine/Disturbance.h"
#include "support/Text.h"

#include <algorithm>
#include <filesystem>
#include <set>

namespace lathe::cli {

using nlohmann::json;

std::string shownModel(const SweepRow &row) {
  return row.model.isZoo() ? row.model.model : std::filesystem::path(row.model.model).filename().string();
}

std::string rowText(const SweepRow &row, bool several) {
  std::string model = several ? shownModel(row) + ", " : "", threads = counted(row.model.threads, "thread");
  if (!row.resources.none())
    threads += ", " + row.resources.text();
  if (!row.runtime.empty())
    return fmt::format("{}{}, {}", model, row.title, threads);
  return fmt::format("{}-O {}, {}{}, {}", model, row.model.level,
                     row.model.layout == LayoutChoice::automatic ? "" : name(row.model.layout) + ", ", row.model.target,
                     threads);
}

bool severalModels(const Sweep &sweep) {
  return std::any_of(sweep.rows.begin(), sweep.rows.end(),
                     [&](const SweepRow &row) { return row.model.model != sweep.rows.front().model.model; });
}

namespace {

bool showsLayouts(const Sweep &sweep) {
  return std::any_of(sweep.rows.begin(), sweep.rows.end(),
                     [](const SweepRow &row) { return row.model.layout != LayoutChoice::automatic; });
}

std::string percentText(size_t part, size_t whole) {
  return whole ? fmt::format("{:.1f}", 100.0 * double(part) / double(whole)) : "";
}

bool showsRuntimes(const Sweep &sweep) {
  return std::any_of(sweep.rows.begin(), sweep.rows.end(), [](const SweepRow &row) { return !row.runtime.empty(); });
}

bool showsResources(const Sweep &sweep) {
  return std::any_of(sweep.rows.begin(), sweep.rows.end(), [](const SweepRow &row) { return !row.resources.none(); });
}

bool showsRatios(const Sweep &sweep) {
  return std::any_of(sweep.rows.begin(), sweep.rows.end(), [](const SweepRow &row) { return row.overRuntime; });
}

/// Adds the cells that identify the row.
void addName(std::vector<TableCell> &cells, const SweepRow &row, const Sweep &sweep) {
  bool ours = row.runtime.empty();
  if (severalModels(sweep))
    cells.push_back(shownModel(row));
  if (showsRuntimes(sweep))
    cells.push_back(ours ? "lathe" : row.title);
  cells.push_back(ours ? std::to_string(row.model.level) : "");
  if (showsLayouts(sweep))
    cells.push_back(ours ? name(row.model.layout) : "");
  cells.insert(cells.end(), {ours ? row.model.target : "", std::to_string(row.model.threads)});
  if (showsResources(sweep))
    cells.push_back(row.resources.text());
}

void addRatio(std::vector<TableCell> &cells, const std::optional<lab::JudgedPair> &pair, const std::string &otherwise) {
  cells.push_back(pair ? fmt::format("{:.3f}", pair->ratio.ratio) : otherwise);
  cells.push_back(pair ? fmt::format("{:.3f} to {:.3f}{}", pair->ratio.interval.low, pair->ratio.interval.high,
                                     pair->ratio.isRange ? " (range)" : "")
                       : "");
}

std::vector<TableCell> cellsOf(const SweepRow &row, const Sweep &sweep) {
  std::vector<TableCell> cells;
  addName(cells, row, sweep);
  cells.push_back(row.timed() ? millisecondsText(row.time.median) : "");
  addRatio(cells, row.speedup, row.timed() && !row.foreignBuild ? "1" : "");
  if (showsRatios(sweep))
    addRatio(cells, row.overRuntime, "");
  cells.push_back(row.timed() ? valueCell(bytesText(double(row.peakBytes)), row.peakBytes) : TableCell());
  if (row.compiled.is_null()) {
    cells.resize(cells.size() + (showsLayouts(sweep) ? 5 : 4));
  } else {
    if (showsLayouts(sweep))
      cells.push_back(std::to_string(row.compiled.at("layouts").at("conversions").size()));
    double package = row.compiled.at("package_bytes"), original = row.compiled.at("original_bytes");
    cells.push_back(fmt::format("{:.2f}", row.compiled.at("time_s").get<double>()));
    cells.push_back(valueCell(bytesText(package), package));
    cells.push_back(original > 0 ? fmt::format("{:.2f}", package / original) : "");
    cells.push_back(std::to_string(row.compiled.at("references").size()));
  }
  if (!sweep.classifies)
    return cells;
  Decided decided = decidedBy(row, sweep);
  cells.push_back(percentText(decided.right, decided.labelled));
  cells.push_back(percentText(decided.agreeing, row.decisions.size()));
  return cells;
}

} // namespace

Table sweepTable(const Sweep &sweep) {
  std::vector<TableColumn> columns;
  if (severalModels(sweep))
    columns.push_back(textColumn("model").shrink(12));
  if (showsRuntimes(sweep))
    columns.push_back(textColumn("runtime").shrink(10));
  columns.push_back(numberColumn("-O").key("level"));
  if (showsLayouts(sweep))
    columns.push_back(textColumn("layout"));
  columns.insert(columns.end(), {textColumn("target").shrink(8), numberColumn("threads").drop(2)});
  if (showsResources(sweep))
    columns.push_back(textColumn("resources").shrink(12));
  columns.insert(columns.end(),
                 {numberColumn("median", "ms"), numberColumn("speedup"), textColumn("95 % interval").drop(4)});
  if (showsRatios(sweep))
    columns.insert(columns.end(),
                   {numberColumn("over runtime"), textColumn("95 % interval").key("over_runtime_interval").drop(6)});
  columns.push_back(numberColumn("memory").drop(7));
  if (showsLayouts(sweep))
    columns.push_back(numberColumn("conversions").drop(2));
  columns.insert(columns.end(), {numberColumn("compile", "s"), numberColumn("package"),
                                 numberColumn("of original").drop(1), numberColumn("references").drop(3)});
  if (sweep.classifies)
    columns.insert(columns.end(), {numberColumn("top-1", "%").drop(5), numberColumn("agree", "%")});
  Table table(columns);
  for (const SweepRow &row : sweep.rows)
    if (row.done)
      table.row(cellsOf(row, sweep));
  return table;
}

namespace {

/// The operators without a kernel in a row, and their share of the time.
std::string uncompiledText(const SweepRow &row, bool several) {
  constexpr size_t shown = 5, nameWidth = 48;
  double all = 0;
  for (const UncompiledOperator &one : row.uncompiled)
    all += one.share;
  std::string text = fmt::format("{}: {} without a kernel, {:.1f} % of the time\n", rowText(row, several),
                                 counted(int64_t(row.uncompiled.size()), "operator"), all * 100);
  for (size_t i = 0; i < std::min(shown, row.uncompiled.size()); ++i) {
    const UncompiledOperator &one = row.uncompiled[i];
    const std::string file = row.model.model + ": "; // the row already names it
    std::string node = one.node.starts_with(file) ? one.node.substr(file.size()) : one.node;
    text += fmt::format("  {:.1f} %  {} ({}): {}\n", one.share * 100, shortened(printable(node), nameWidth), one.op,
                        printable(one.reason));
  }
  if (row.uncompiled.size() > shown)
    text += fmt::format("  and {} more (--json lists them)\n", row.uncompiled.size() - shown);
  return text;
}

void addDecisions(json &result, const SweepRow &row, const Sweep &sweep) {
  Decided decided = decidedBy(row, sweep);
  result["pictures"] = row.decisions.size();
  result["labelled"] = decided.labelled;
  result["top1"] = decided.right;
  result["agreeing"] = decided.agreeing;
  result["decisions"] = row.decisions;
  result["changed"] = json::array();
  for (const ChangedDecision &one : changedIn(row, sweep))
    result["changed"].push_back({{"picture", one.number},
                                 {"file", one.file},
                                 {"class", one.label ? json(*one.label) : json()},
                                 {"first_row", one.before},
                                 {"decision", one.now}});
  result["confusion"] = json::array(); // for the classes that occur: [class, decision, pictures]
  if (auto confusion = confusionOf(row, sweep))
    for (size_t label : confusion->present())
      for (size_t decision : confusion->present())
        if (size_t count = confusion->of(label, decision))
          result["confusion"].push_back({label, decision, count});
}

json rowJson(const SweepRow &row, const Sweep &sweep) {
  json result{
      {"model", row.model.model},
      {"runtime", row.runtime.empty() ? "lathe" : row.runtime},
      {"runtime_title", row.title},
      {"level", row.model.level},
      {"layout", name(row.model.layout)},
      {"target", row.model.target},
      {"threads", row.model.threads},
      {"reason", row.reason},
      {"verification", row.verification},
      {"compiled", row.compiled},
      {"time", row.timed() ? lab::toJson(row.time) : json()},
      {"speedup", row.speedup ? lab::toJson(static_cast<const lab::JudgedRatio &>(*row.speedup)) : json()},
      {"over_runtime", row.overRuntime ? lab::toJson(static_cast<const lab::JudgedRatio &>(*row.overRuntime)) : json()},
      {"peak_resident_bytes", row.timed() ? json(row.peakBytes) : json()},
      {"without_kernel", json::array()}};
  for (const UncompiledOperator &one : row.uncompiled)
    result["without_kernel"].push_back(
        {{"node", one.node}, {"op", one.op}, {"reason", one.reason}, {"share_of_time", one.share}});
  if (!row.resources.none())
    result.update({{"resources", row.resources.text()}, {"held", row.held}});
  if (!row.decisions.empty())
    addDecisions(result, row, sweep);
  return result;
}

} // namespace

std::string sweepText(const Sweep &sweep, const TableStyle &style) {
  bool several = severalModels(sweep);
  std::string text = sweepTable(sweep).str(style);
  for (const SweepRow &row : sweep.rows)
    if (!row.uncompiled.empty())
      text += uncompiledText(row, several);
  for (const SweepRow &row : sweep.rows)
    if (!row.reason.empty())
      text += fmt::format("{}: {}\n", rowText(row, several), printable(row.reason));
  if (sweep.timing.disturbance.otherProcessors.value_or(0) > lab::disturbingProcessors)
    text += fmt::format("warning: other programs used {:.2f} processors while the rows were timed\n",
                        *sweep.timing.disturbance.otherProcessors);
  return text;
}

json sweepJson(const Sweep &sweep, bool finished) {
  json document{{"finished", finished}, {"starts", sweep.timing.starts}, {"rows", json::array()}};
  for (const SweepRow &row : sweep.rows)
    if (row.done)
      document["rows"].push_back(rowJson(row, sweep));
  return document;
}

} // namespace lathe::cli
