#include "cli/verbs/store/StoreTrend.h"

#include "cli/flags/StoreFlags.h"
#include "report/Rows.h"
#include "report/Trend.h"
#include "support/Table.h"
#include "support/Text.h"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <set>
#include <tuple>

namespace lathe::cli {
namespace {

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

json documentOf(const report::TrendSeries &series) {
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

/// Compares texts with numbers in them by the numbers: "#2" is before "#10".
bool inNumericOrder(const std::string &a, const std::string &b) {
  auto isDigit = [](char letter) { return letter >= '0' && letter <= '9'; };
  for (size_t i = 0, j = 0;;) {
    if (i == a.size() || j == b.size())
      return i == a.size() && j < b.size();
    if (!isDigit(a[i]) || !isDigit(b[j])) {
      if (a[i] != b[j])
        return a[i] < b[j];
      ++i, ++j;
      continue;
    }
    auto number = [&](const std::string &text, size_t &at) { // skips leading zeros
      while (at < text.size() && text[at] == '0')
        ++at;
      size_t begin = at;
      while (at < text.size() && isDigit(text[at]))
        ++at;
      return std::string_view(text).substr(begin, at - begin);
    };
    std::string_view left = number(a, i), right = number(b, j);
    if (left != right)
      return left.size() != right.size() ? left.size() < right.size() : left < right;
  }
}

/// Sorts networks first, then problems, then kernels of profiles; each by the numbers in its text.
void sortForReaders(std::vector<report::TrendSeries> &all) {
  auto rank = [](const report::TrendSeries &series) {
    return series.op == "model" ? 0 : series.op == "kernel" ? 2 : 1;
  };
  std::stable_sort(all.begin(), all.end(), [&](const report::TrendSeries &a, const report::TrendSeries &b) {
    if (rank(a) != rank(b))
      return rank(a) < rank(b);
    return inNumericOrder(a.op + " " + a.problem, b.op + " " + b.problem);
  });
}

/// The observations as CSV for other programs, one row each.
std::string csvOf(const std::vector<report::TrendSeries> &all) {
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

/// Throws Error that names the missing times, and the providers with other times.
[[noreturn]] void failWithoutTimes(store::Store &store, const report::TrendFilter &filter) {
  const auto &[provider, variant] = std::tie(filter.points.provider, filter.points.variant);
  std::string wanted = filter.text.empty() ? "any problem" : "'" + filter.text + "'";
  auto timed = [&](const report::TrendFilter &wider) {
    std::set<std::string> providers;
    for (const report::TrendSeries &series : report::trendsOf(store, wider))
      providers.insert(series.provider + (variant.empty() ? "" : ":" + series.variant));
    return providers;
  };
  report::TrendFilter wider = filter;
  wider.points.provider = wider.points.variant = "";
  if (!provider.empty() || !variant.empty())
    if (std::set<std::string> others = timed(wider); !others.empty())
      fail("{}: has no times of {} by {}{}, only by {}", store.path(), wanted,
           provider.empty() ? "any provider" : provider, variant.empty() ? "" : ":" + variant,
           printable(fmt::format("{}", fmt::join(others, ", "))));
  fail("{}: has no times of {}", store.path(), wanted);
}

} // namespace

int storeTrend(const Arguments &arguments) {
  StoreFlags flags;
  FilterFlags filterFlags;
  report::TrendFilter filter;
  std::string csv, variant;
  Options options(
      "store trend",
      "Show the times of a network or a problem over dates and commits of lathe, and the points where they\n"
      "changed (docs/store.md). Without a name: one line a series.",
      "  lathe store trend\n  lathe store trend zoo:resnet50 --provider lathe\n"
      "  lathe store trend resnet50.onnx --csv trend.csv\n");
  options.add_option("name", filter.text, "a model, a part of a problem's text, or an operator (default: all)");
  filterFlags.add(options);
  options.add_option("--variant", variant, "Take only points of this variant");
  flags.add(options);
  options.addOutput("--csv", csv, "Write one row an observation as CSV (-: standard output)")->type_name("FILE");
  options.addWide();
  options.addJson();
  options.parseAll(arguments);
  store::Store store = flags.open();
  filter.points = filterFlags.filter(store);
  filter.points.variant = variant;
  bool named = !filter.text.empty();
  if (named && filter.text.find('/') != std::string::npos) // problems have file names without folders
    filter.text = std::filesystem::path(filter.text).filename().string();
  std::vector<report::TrendSeries> all = report::trendsOf(store, filter);
  if (all.empty())
    failWithoutTimes(store, filter);
  sortForReaders(all);
  if (options.printsText()) {
    if (!named)
      std::cout << overviewOf(all).str(options.tableStyle());
    for (size_t i = 0; named && i < all.size(); ++i)
      std::cout << (i ? "\n" : "") << titleOf(all[i]) << historyOf(all[i]).str(options.tableStyle());
    size_t changed =
        size_t(std::count_if(all.begin(), all.end(), [](auto &series) { return !series.changes.empty(); }));
    std::cout << fmt::format("{}: {}, {} with a change; by chance one in a hundred has one\n", store.path(),
                             counted(int64_t(all.size()), "series", "series"), changed);
  }
  if (!csv.empty())
    writeFile(csv, csvOf(all));
  json series = json::array();
  for (const report::TrendSeries &one : all)
    series.push_back(documentOf(one));
  options.writeJson({{"store", store.path()}, {"series", series}});
  return success;
}

} // namespace lathe::cli
