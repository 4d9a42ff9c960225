#include "cli/print/store/TrendPrint.h"

#include "jobs/Common.h"
#include "report/Rows.h"
#include "support/Text.h"

#include <algorithm>

namespace lathe::cli {
namespace {

using jobs::millisecondsText;
using nlohmann::json;

constexpr size_t plotWidth = 24;

/// The ratio of a change as text: "1.034 times slower".
std::string ratioText(double ratio) {
  return ratio >= 1 ? fmt::format("{:.3f} times slower", ratio) : fmt::format("{:.3f} times faster", 1 / ratio);
}

/// A line of characters that shows the interval or range of the median, on a scale from the smallest to the largest
/// time of the series.
std::string plotOf(const report::Observation &observation, double low, double high) {
  auto place = [&](double value) {
    double share = high > low ? (std::clamp(value, low, high) - low) / (high - low) : 0.5;
    return size_t(share * double(plotWidth - 1) + 0.5);
  };
  std::string line(plotWidth, ' ');
  for (size_t i = place(observation.spread.interval.low); i <= place(observation.spread.interval.high); ++i)
    line[i] = '-';
  line[place(observation.median)] = 'o';
  return line;
}

const report::ChangePoint *changeAt(const report::TrendSeries &series, size_t index) {
  for (const report::ChangePoint &change : series.changes)
    if (change.index == index)
      return &change;
  return nullptr;
}

std::string titleOf(const report::TrendSeries &series) {
  std::string who = series.provider + (series.variant.empty() ? "" : ":" + series.variant);
  std::string setting = report::settingText(series.setting);
  return fmt::format("{} {}\n{}, {}, {}{}{}\n", printable(series.op), printable(series.problem), printable(who),
                     name(series.kind), printable(setting), setting.empty() ? "" : ", ", printable(series.cpu));
}

Table historyOf(const report::TrendSeries &series) {
  Table table({textColumn("date"), textColumn("commit").shrink(8), textColumn("version").drop(3),
               textColumn("platform").drop(4), numberColumn("median", "ms"), numberColumn("low", "ms").drop(2),
               numberColumn("high", "ms").drop(2), textColumn("low to high").drop(2),
               textColumn("plot").onlyText().drop(1), textColumn("change")});
  auto [least, most] = std::minmax_element(series.observations.begin(), series.observations.end(),
                                           [](auto &a, auto &b) { return a.median < b.median; });
  auto ms = [](double seconds) { return millisecondsText(seconds); };
  for (size_t i = 0; i < series.observations.size(); ++i) {
    const report::Observation &one = series.observations[i];
    const report::ChangePoint *change = changeAt(series, i);
    table.row({one.measured.substr(0, 16), one.revision.empty() ? one.build.substr(0, 8) : one.revision, one.version,
               one.platform.substr(0, 8), ms(one.median), ms(one.spread.interval.low), ms(one.spread.interval.high),
               one.spread.isRange ? "range" : "95 %", plotOf(one, least->median, most->median),
               change ? fmt::format("{}, p {:.4f}", ratioText(change->ratio), change->p) : ""});
  }
  return table;
}

Table overviewOf(const std::vector<report::TrendSeries> &all) {
  Table table({textColumn("operator").drop(2), textColumn("problem").shrink(20), textColumn("provider").shrink(12),
               textColumn("kind").drop(5), textColumn("setting").drop(3).shrink(8),
               textColumn("CPU").drop(4).shrink(12), numberColumn("runs"), numberColumn("first", "ms"),
               numberColumn("last", "ms"), textColumn("last change").shrink(24)});
  for (const report::TrendSeries &series : all) {
    std::string change;
    if (!series.changes.empty()) {
      const report::ChangePoint &last = series.changes.back();
      const report::Observation &first = series.observations[last.index];
      change = fmt::format("{} since {} {}", ratioText(last.ratio), first.measured.substr(0, 10), first.revision);
    }
    table.row({series.op, series.problem, series.provider + (series.variant.empty() ? "" : ":" + series.variant),
               std::string(name(series.kind)), report::settingText(series.setting), series.cpu,
               std::to_string(series.observations.size()), millisecondsText(series.observations.front().median),
               millisecondsText(series.observations.back().median), change});
  }
  return table;
}

json seriesJson(const report::TrendSeries &series) {
  json observations = json::array(), changes = json::array();
  for (const report::Observation &one : series.observations)
    observations.push_back({{"experiment", one.experiment},
                            {"measured", one.measured},
                            {"version", one.version},
                            {"revision", one.revision},
                            {"build", one.build},
                            {"platform", one.platform},
                            {"samples", one.samples},
                            {"median_ms", one.median * 1e3},
                            {"low_ms", one.spread.interval.low * 1e3},
                            {"high_ms", one.spread.interval.high * 1e3},
                            {"confidence", one.spread.isRange ? json() : json(0.95)}});
  for (const report::ChangePoint &change : series.changes) {
    const report::Observation &first = series.observations[change.index], &last = series.observations[change.index - 1];
    changes.push_back({{"index", change.index},
                       {"ratio", change.ratio},
                       {"p", change.p},
                       {"measured", first.measured},
                       {"revision", first.revision},
                       {"revision_before", last.revision}});
  }
  return {{"operator", series.op},     {"problem", series.problem},    {"provider", series.provider},
          {"variant", series.variant}, {"kind", name(series.kind)},    {"setting", store::toJson(series.setting)},
          {"cpu", series.cpu},         {"observations", observations}, {"changes", changes}};
}

} // namespace

std::string trendText(const std::vector<report::TrendSeries> &all, bool histories, const std::string &store,
                      const TableStyle &style) {
  std::string text = histories ? "" : overviewOf(all).str(style);
  for (size_t i = 0; histories && i < all.size(); ++i)
    text += (i ? "\n" : "") + titleOf(all[i]) + historyOf(all[i]).str(style);
  auto changed = std::count_if(all.begin(), all.end(), [](auto &series) { return !series.changes.empty(); });
  return text + fmt::format("{}: {}, {} with a change; by chance one in a hundred has one\n", store,
                            counted(int64_t(all.size()), "series", "series"), changed);
}

json trendJson(const std::vector<report::TrendSeries> &all, const std::string &store) {
  json series = json::array();
  for (const report::TrendSeries &one : all)
    series.push_back(seriesJson(one));
  return {{"store", store}, {"series", series}};
}

std::string trendCsv(const std::vector<report::TrendSeries> &all) {
  std::string text =
      "operator,problem,provider,variant,kind,setting,cpu,experiment,measured,version,revision,build,platform,"
      "samples,median_ns,low_ns,high_ns,confidence,change_ratio,change_p\n";
  for (const report::TrendSeries &series : all)
    for (size_t i = 0; i < series.observations.size(); ++i) {
      const report::Observation &one = series.observations[i];
      const report::ChangePoint *change = changeAt(series, i);
      for (const std::string &cell : {series.op, series.problem, series.provider, series.variant,
                                      std::string(name(series.kind)), store::toJson(series.setting).dump(), series.cpu,
                                      one.experiment, one.measured, one.version, one.revision, one.build, one.platform})
        text += csvCell(cell) + ",";
      text += fmt::format("{},{:.17g},{:.17g},{:.17g},{},{},{}\n", one.samples, one.median * 1e9,
                          one.spread.interval.low * 1e9, one.spread.interval.high * 1e9,
                          one.spread.isRange ? "" : "0.95", change ? fmt::format("{:.6g}", change->ratio) : "",
                          change ? fmt::format("{:.4g}", change->p) : "");
    }
  return text;
}

} // namespace lathe::cli
