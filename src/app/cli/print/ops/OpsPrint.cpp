#include "cli/print/ops/OpsPrint.h"

#include "lab/machine/Disturbance.h"
#include "support/Text.h"

#include <algorithm>
#include <map>
#include <set>

namespace lathe::cli {

using nlohmann::json;

namespace {

/// "12.3 us", or the status of a point without a time.
std::string timeText(const json &point) {
  if (!point.contains("time"))
    return point["status"].get<std::string>();
  std::string text = fmt::format("{:.1f} us", point["time"]["median_ms"].get<double>() * 1e3);
  if (point.value("left_out", false))
    text += fmt::format(" (left out after {})", counted(int64_t(point["rounds_ns"].size()), "round"));
  return text;
}

/// "faster", "ambiguous (too few starts)"; rows of earlier versions lack the reason.
std::string verdictText(const json &verdict) {
  auto word = verdict["verdict"].get<std::string>();
  std::string why = verdict.value("ambiguous_because", verdict.value("within_overhead", false) ? "call overhead" : "");
  return why.empty() ? word : fmt::format("{} ({})", word, why);
}

/// `parts` two spaces apart, on as many lines as a terminal of `width` columns needs (0: one).
std::string wrapped(const std::vector<std::string> &parts, size_t width) {
  std::string text, line;
  for (const std::string &part : parts) {
    std::string shown = printable(part);
    if (width && !line.empty() && displayWidth(line) + 2 + displayWidth(shown) > width) {
      text += line + "\n";
      line = "    ";
    } else if (!line.empty()) {
      line += "  ";
    }
    line += shown;
  }
  return text + line + "\n";
}

/// The column of a point as text: "lathe:auto:records", and what runs beside: "lathe:auto beside relu x=64".
std::string columnOf(const json &point) {
  std::string schedule = point.value("schedule", "");
  std::string text = point["provider"].get<std::string>() + ":" + point["variant"].get<std::string>() +
                     (schedule.empty() ? "" : ":" + schedule);
  if (auto company = point.find("company"); company != point.end())
    text += " beside " + (*company)["problem"].get<std::string>();
  return text;
}

/// A line for each point in company: its time, and the ratio to the time alone.
std::string companyText(const json &row) {
  std::string text;
  const json &points = row["points"];
  for (size_t i = 0; i < points.size(); ++i) {
    if (!points[i].contains("company"))
      continue;
    text += fmt::format("  {} {}", columnOf(points[i]), timeText(points[i]));
    for (const json &one : row.value("slow_downs", json::array()))
      if (one["together"] == i)
        text += fmt::format(", {:.3f} times as long as alone ({:.3f} to {:.3f}), {:.0f} runs/s of the companion",
                            one["ratio"].get<double>(), one["ratio_low"].get<double>(), one["ratio_high"].get<double>(),
                            points[i]["figures"]["companion_rate"].get<double>());
    text += "\n";
  }
  return text;
}

std::string summariesText(const std::vector<lab::OpsSummary> &summaries, const TableStyle &style) {
  Table table({textColumn("kind"), numberColumn("threads").drop(1), textColumn("layout").drop(4),
               textColumn("caches").drop(3), textColumn("peer"), numberColumn("problems"), numberColumn("mean ratio"),
               numberColumn("faster"), numberColumn("same").drop(2), numberColumn("ambiguous"),
               numberColumn("call overhead").drop(6), numberColumn("slower"), numberColumn("slower by > 3 %").drop(5)});
  for (const lab::OpsSummary &s : summaries)
    table.row({s.resources.empty() ? s.kind : s.kind + ", " + s.resources, std::to_string(s.threads), s.layout, s.cache,
               s.peer, std::to_string(s.rows), s.geometricMean ? fmt::format("{:.3f}", *s.geometricMean) : "",
               std::to_string(s.faster), std::to_string(s.same), std::to_string(s.ambiguous),
               s.withinOverhead ? std::to_string(s.withinOverhead) : "", std::to_string(s.slower),
               std::to_string(s.slowerBeyond3)});
  return summaries.empty()
             ? ""
             : "\nPeer's time over ours, best variant of each; geometric mean over problems:\n" + table.str(style);
}

/// True if too many rounds of the row began before the processor reached full speed.
bool beganSlowly(const json &row) {
  size_t rounds = 0;
  for (const json &start : row.value("starts", json::array()))
    rounds += start.get<size_t>();
  return double(row.value("slow_rounds", 0)) > lab::unreliableSlowShare * double(rounds);
}

std::string totalsText(const OpsRows &result) {
  const std::vector<json> &rows = result.rows;
  size_t disturbed = 0, slow = 0, drifting = 0;
  for (const json &row : rows) {
    disturbed += row.value("other_processors", 0.0) > lab::disturbingProcessors;
    slow += beganSlowly(row);
    drifting += std::any_of(row["points"].begin(), row["points"].end(),
                            [](const json &point) { return point.value("drifts", false); });
  }
  auto of = [](size_t count, const char *noun) { return counted(int64_t(count), noun); };
  std::string text = fmt::format("{}, {} measured now, {} did not pass", of(rows.size(), "row"), result.measured,
                                 of(result.wrongPoints(), "point"));
  if (disturbed)
    text += fmt::format("; other programs disturbed {}: do not trust the times", of(disturbed, "row"));
  if (slow)
    text +=
        fmt::format("; the processors ran below full speed under {} (\"slow_rounds\" in the JSON)", of(slow, "row"));
  if (drifting)
    text += fmt::format("; times of {} rose or fell all along (\"drift\" in the JSON)", of(drifting, "row"));
  if (result.kept)
    text += fmt::format("; {} measured before", of(result.kept, "row"));
  if (result.left)
    text += fmt::format("; {} left for another time", of(result.left, "row"));
  return text + "\n";
}

std::string overheadText(const std::vector<json> &rows) {
  std::map<std::pair<int, std::string>, double> calls; // from the newest row
  size_t within = 0;
  for (const json &row : rows) {
    for (const json &point : row["points"])
      if (point.contains("call_us"))
        calls[{row["threads"].get<int>(), point["provider"].get<std::string>()}] = point["call_us"].get<double>();
    for (const json &verdict : row["verdicts"])
      within += verdict.value("within_overhead", false);
  }
  std::string text;
  int threads = 0;
  for (auto &[key, microseconds] : calls) {
    text += key.first == threads ? ", "
                                 : fmt::format("{}a call with one element, {}: ", text.empty() ? "" : "\n",
                                               counted(key.first, "thread"));
    text += fmt::format("{} {:.2f} us", key.second, microseconds);
    threads = key.first;
  }
  if (within)
    text += fmt::format("\n{} may be that of these calls: ambiguous, and in no mean",
                        within == 1 ? "1 difference" : fmt::format("{} differences", within));
  return text.empty() ? "" : text + "\n";
}

std::string uncountedText(const std::vector<json> &rows) {
  std::map<std::string, std::set<std::string>> providers; // by reason
  size_t refused = 0, rounds = 0;
  for (const json &row : rows)
    for (const json &point : row["points"]) {
      if (std::string reason = point.value("uncounted", ""); !reason.empty() && point.contains("time"))
        providers[reason].insert(point["provider"].get<std::string>());
      for (const json &counts : point.value("counts", json::array())) {
        ++rounds;
        refused += counts.value("multiplexed", false);
      }
    }
  std::string text;
  for (auto &[reason, names] : providers)
    text += fmt::format("not counted of {}: {}\n", fmt::join(names, ", "), reason);
  if (refused)
    text += fmt::format(
        "hardware counters of {} of {} rounds were not kept: other programs had them for a part of the time\n", refused,
        rounds);
  return text;
}

} // namespace

std::string rowText(const json &row, size_t width) {
  std::string layout = row.value("layout", "any");
  std::vector<std::string> parts = {fmt::format("{:<52}", row["text"].get<std::string>()),
                                    fmt::format("{} {} {}{}", counted(row["threads"].get<int>(), "thread"),
                                                row.value("cache", "hot"), layout == "any" ? "" : layout + " ",
                                                row["kind"].get<std::string>())};
  if (row.contains("resources"))
    parts.push_back(row["resources"].get<std::string>());
  for (const json &point : row["points"])
    if (!point.contains("company"))
      parts.push_back(fmt::format("{} {}", columnOf(point), timeText(point)));
  for (const json &verdict : row["verdicts"])
    parts.push_back(fmt::format("{} / {} {:.3f} {}", verdict["peer"].get<std::string>(),
                                row["points"][0]["provider"].get<std::string>(), verdict["ratio"].get<double>(),
                                verdictText(verdict)));
  std::string text = wrapped(parts, width);
  text += companyText(row);
  bool wrong = false;
  for (const json &point : row["points"]) {
    std::string status = point["status"];
    if (status == "passed" || status == "unimplemented" || status == "same_as")
      continue;
    wrong = true;
    text += fmt::format("  {} {}: {}\n", columnOf(point), status, point.value("reason", ""));
  }
  return wrong ? fmt::format("{}  {}\n", text, row["repro"].get<std::string>()) : text;
}

std::string listText(const std::vector<lab::ListedProblem> &problems, const TableStyle &style) {
  Table table({textColumn("problem").shrink(24), textColumn("kind"), numberColumn("GFLOP"), numberColumn("count"),
               textColumn("name").drop(2).shrink(10), textColumn("suites").drop(1).shrink(10)});
  for (auto &entry : problems)
    table.row({entry.text, entry.problem.kind(), fmt::format("{:.3f}", entry.problem.flops() * 1e-9),
               std::to_string(entry.count), entry.name, fmt::format("{}", fmt::join(entry.suites, " "))});
  return table.str(style);
}

Table suiteTable(const std::vector<lab::SuiteSummary> &suites) {
  Table table({textColumn("suite"), numberColumn("problems"), textColumn("kinds").shrink(12),
               textColumn("list").drop(1).shrink(16)});
  for (auto &suite : suites)
    table.row({suite.name, std::to_string(suite.problems),
               valueCell(fmt::format("{}", fmt::join(suite.kinds, " ")), suite.kinds), suite.path});
  return table;
}

std::string effortText(const OpsEffort &effort, size_t problems) {
  auto of = [](size_t count, const char *noun) { return counted(int64_t(count), noun); };
  return fmt::format("{} x {} = {}, {}; about {}, at most {}\n", of(problems, "problem"),
                     of(effort.settings, "setting"), of(effort.rows, "row"), of(effort.points, "point"),
                     waitText(effort.least), waitText(effort.most));
}

std::string opsText(const OpsRows &result, const TableStyle &style) {
  return summariesText(lab::summarizeOps(result.rows), style) + totalsText(result) + overheadText(result.rows) +
         uncountedText(result.rows) + result.stored;
}

json opsJson(const OpsRows &result) {
  json summaries = json::array();
  for (auto &summary : lab::summarizeOps(result.rows))
    summaries.push_back(lab::toJson(summary));
  return {{"providers", result.columns},
          {"rows", result.rows},
          {"summaries", summaries},
          {"kept", result.kept},
          {"left", result.left}};
}

} // namespace lathe::cli
