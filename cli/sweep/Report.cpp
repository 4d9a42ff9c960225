#include "cli/sweep/Report.h"

#include "lab/StoreRecords.h"
#include "lab/machine/Disturbance.h"
#include "support/Text.h"

#include <algorithm>
#include <filesystem>
#include <set>

namespace lathe::cli {
namespace {

using nlohmann::json;

/// "zoo:resnet50", or the name of the file.
std::string shownModel(const SweepRow &row) {
  return row.model.isZoo() ? row.model.model : std::filesystem::path(row.model.model).filename().string();
}

/// "-O 3, native, 1 thread", with the model if there are several, and the layout if one was asked for.
std::string rowText(const SweepRow &row, bool several) {
  return fmt::format("{}-O {}, {}{}, {}", several ? shownModel(row) + ", " : "", row.model.level,
                     row.model.layout == "auto" ? "" : row.model.layout + ", ", row.model.target,
                     counted(row.model.threads, "thread"));
}

bool severalModels(const Sweep &sweep) {
  return std::any_of(sweep.rows.begin(), sweep.rows.end(),
                     [&](const SweepRow &row) { return row.model.model != sweep.rows.front().model.model; });
}

bool showsLayouts(const Sweep &sweep) {
  return std::any_of(sweep.rows.begin(), sweep.rows.end(),
                     [](const SweepRow &row) { return row.model.layout != "auto"; });
}

/// The row that the decisions of others are compared with.
const SweepRow *firstDecider(const Sweep &sweep) {
  for (const SweepRow &row : sweep.rows)
    if (!row.decisions.empty())
      return &row;
  return nullptr;
}

size_t agreeing(const SweepRow &row, const SweepRow &first) {
  size_t count = 0;
  for (size_t i = 0; i < row.decisions.size(); ++i)
    count += row.decisions[i] == first.decisions.at(i);
  return count;
}

std::string percentText(size_t part, size_t whole) {
  return whole ? fmt::format("{:.1f}", 100.0 * double(part) / double(whole)) : "";
}

std::vector<TableCell> cellsOf(const SweepRow &row, const Sweep &sweep, bool several) {
  std::vector<TableCell> cells;
  if (several)
    cells.push_back(shownModel(row));
  cells.push_back(std::to_string(row.model.level));
  if (showsLayouts(sweep))
    cells.push_back(row.model.layout);
  cells.insert(cells.end(), {row.model.target, std::to_string(row.model.threads)});
  cells.push_back(row.timed() ? fmt::format("{:.4f}", row.time.median * 1e3) : "");
  const lab::JudgedPair *speedup = row.speedup ? &*row.speedup : nullptr;
  cells.push_back(speedup ? fmt::format("{:.3f}", speedup->ratio.ratio) : row.timed() ? "1" : "");
  cells.push_back(speedup ? fmt::format("{:.3f} to {:.3f}{}", speedup->ratio.interval.low,
                                        speedup->ratio.interval.high, speedup->ratio.isRange ? " (range)" : "")
                          : "");
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
  const SweepRow *first = firstDecider(sweep);
  cells.push_back(percentText(row.right, row.labelled));
  cells.push_back(row.decisions.empty() ? "" : percentText(agreeing(row, *first), row.decisions.size()));
  return cells;
}

Table tableOf(const Sweep &sweep) {
  bool several = severalModels(sweep);
  std::vector<TableColumn> columns;
  if (several)
    columns.push_back(textColumn("model").shrink(12));
  columns.push_back(numberColumn("-O").key("level"));
  if (showsLayouts(sweep))
    columns.push_back(textColumn("layout"));
  columns.insert(columns.end(),
                 {textColumn("target").shrink(8), numberColumn("threads").drop(2), numberColumn("median", "ms"),
                  numberColumn("speedup"), textColumn("95 % interval").drop(4)});
  if (showsLayouts(sweep))
    columns.push_back(numberColumn("conversions").drop(2));
  columns.insert(columns.end(), {numberColumn("compile", "s"), numberColumn("package"),
                                 numberColumn("of original").drop(1), numberColumn("references").drop(3)});
  if (sweep.classifies)
    columns.insert(columns.end(), {numberColumn("top-1", "%").drop(5), numberColumn("agree", "%")});
  Table table(columns);
  for (const SweepRow &row : sweep.rows)
    if (row.done)
      table.row(cellsOf(row, sweep, several));
  return table;
}

/// What has no kernel in a row, and its share of the time.
std::string uncompiledText(const SweepRow &row, bool several) {
  constexpr size_t shown = 5, nameWidth = 48;
  double all = 0;
  for (const UncompiledOperator &one : row.uncompiled)
    all += one.share;
  std::string text = fmt::format("{}: {} without a kernel, {:.1f} % of the time\n", rowText(row, several),
                                 counted(int64_t(row.uncompiled.size()), "operator"), all * 100);
  for (size_t i = 0; i < std::min(shown, row.uncompiled.size()); ++i) {
    const UncompiledOperator &one = row.uncompiled[i];
    const std::string file = row.model.model + ": "; // the row names it already
    std::string node = one.node.starts_with(file) ? one.node.substr(file.size()) : one.node;
    text += fmt::format("  {:.1f} %  {} ({}): {}\n", one.share * 100, shortened(printable(node), nameWidth), one.op,
                        printable(one.reason));
  }
  if (row.uncompiled.size() > shown)
    text += fmt::format("  and {} more (--json lists them)\n", row.uncompiled.size() - shown);
  return text;
}

json rowJson(const SweepRow &row, const Sweep &sweep) {
  json result{{"model", row.model.model},
              {"level", row.model.level},
              {"layout", row.model.layout},
              {"target", row.model.target},
              {"threads", row.model.threads},
              {"reason", row.reason},
              {"verification", row.verification},
              {"compiled", row.compiled},
              {"time", row.timed() ? lab::toJson(row.time) : json()},
              {"speedup", row.speedup ? lab::toJson(static_cast<const lab::JudgedRatio &>(*row.speedup)) : json()},
              {"without_kernel", json::array()}};
  for (const UncompiledOperator &one : row.uncompiled)
    result["without_kernel"].push_back(
        {{"node", one.node}, {"op", one.op}, {"reason", one.reason}, {"share_of_time", one.share}});
  if (!row.decisions.empty()) {
    result["pictures"] = row.decisions.size();
    result["labelled"] = row.labelled;
    result["top1"] = row.right;
    result["agreeing"] = agreeing(row, *firstDecider(sweep));
    result["decisions"] = row.decisions;
  }
  return result;
}

} // namespace

std::string sweepText(const Sweep &sweep, const TableStyle &style) {
  bool several = severalModels(sweep);
  std::string text = tableOf(sweep).str(style);
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

namespace {

/// What the table of a sweep shows beside the time.
void addFigures(store::Point &point, const SweepRow &row, const Sweep &sweep) {
  if (!row.compiled.is_null()) {
    point.prepareSeconds = row.compiled.at("time_s").get<double>();
    point.figures["package_bytes"] = row.compiled.at("package_bytes");
    point.figures["original_bytes"] = row.compiled.at("original_bytes");
    point.figures["conversions"] = double(row.compiled.at("layouts").at("conversions").size());
    point.figures["references"] = double(row.compiled.at("references").size());
  }
  if (row.decisions.empty())
    return;
  auto pictures = double(row.decisions.size());
  point.figures["pictures"] = pictures;
  point.figures["agreeing"] = double(agreeing(row, *firstDecider(sweep))) / pictures;
  if (row.labelled)
    point.figures["top1"] = double(row.right) / double(row.labelled);
}

} // namespace

std::vector<store::Point> sweepPoints(const Sweep &sweep) {
  std::vector<store::Point> points;
  for (const SweepRow &row : sweep.rows) {
    if (!row.point)
      continue;
    store::Point point = *row.point;
    point.disturbance = sweep.timing.disturbance;
    addFigures(point, row, sweep);
    if (row.timed()) {
      point.rounds = lab::samplesOf(row.rounds, row.counts);
      if (sweep.timing.starts.size() > 1)
        point.starts = sweep.timing.starts;
    } else if (row.ended) {
      point.status = store::PointStatus::crashed;
      point.reason = row.reason;
    }
    points.push_back(std::move(point));
  }
  return points;
}

} // namespace lathe::cli
