#include "report/Speedup.h"

#include "report/Best.h"
#include "schedule/Algorithms.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

namespace lathe::report {

using nlohmann::json;

ColumnChoice ColumnChoice::parse(const std::string &text) {
  constexpr const char *expected = "'{}': expected PROVIDER, PROVIDER:VARIANT or PROVIDER:VARIANT:SCHEDULE, and "
                                   "@PLATFORM behind it";
  ColumnChoice choice;
  size_t at = text.rfind('@');
  std::string column = text.substr(0, at);
  if (at != text.npos) {
    choice.platform = text.substr(at + 1);
    require(!choice.platform->empty(), expected, text);
  }
  size_t first = column.find(':');
  choice.provider = column.substr(0, first);
  require(!choice.provider.empty(), expected, text);
  if (first == column.npos)
    return choice;
  size_t second = column.find(':', first + 1);
  choice.variant = column.substr(first + 1, second == column.npos ? second : second - first - 1);
  if (second != column.npos)
    choice.schedule = canonicalSchedule(column.substr(second + 1));
  return choice;
}

static bool isPlatform(const Row &row, const std::string &text) {
  auto same = [](char a, char b) { return std::tolower((unsigned char)a) == std::tolower((unsigned char)b); };
  const std::string &name = row.platformName;
  return row.platform.starts_with(text) ||
         std::search(name.begin(), name.end(), text.begin(), text.end(), same) != name.end();
}

bool ColumnChoice::matches(const Row &row) const {
  return row.provider == provider && (!variant || row.variant == *variant) &&
         (!schedule || row.setting.schedule == *schedule) && (!platform || isPlatform(row, *platform));
}

std::string ColumnChoice::str() const {
  return provider + (variant ? ":" + *variant : "") + (schedule ? ":" + *schedule : "") +
         (platform ? "@" + *platform : "");
}

/// The fastest row of the baseline in a cell. If one of its rows is the same as another column, that column was timed
/// instead.
static const Row *baselineOf(const std::vector<const Row *> &cell, const ColumnChoice &baseline) {
  std::set<std::string> same; // columns
  for (const Row *row : cell)
    if (row->status == store::PointStatus::sameAs && baseline.matches(*row))
      same.insert(row->reason);
  return fastest(cell, [&](const Row &row) { return baseline.matches(row) || same.contains(scheduledColumnOf(row)); });
}

Speedups speedups(const std::vector<Row> &rows, const ColumnChoice &baseline) {
  Speedups result{baseline.str()};
  // Ratios by setting and column; a provider's fastest row is under the provider's name.
  std::map<std::pair<std::string, std::string>, std::vector<double>> ratios;
  std::map<std::string, std::vector<std::string>> columns; // of a provider
  for (auto &cell : byCell(rows, baseline.platform.has_value())) {
    const Row *base = baselineOf(cell, baseline);
    if (!base)
      continue;
    std::map<std::pair<std::string, std::string>, double> best; // by setting and provider
    for (const Row *row : cell) {
      if (!row->counts() || row == base)
        continue;
      lab::JudgedRatio judged = judgeTimes(*base, *row);
      result.rows.push_back({row, base, judged.ratio, judged.withinOverhead});
      if (judged.withinOverhead)
        continue;
      std::string column = scheduledColumnOf(*row), setting = contextText(*row);
      ratios[{setting, column}].push_back(judged.ratio.ratio);
      auto &known = columns[row->provider];
      if (std::find(known.begin(), known.end(), column) == known.end())
        known.push_back(column);
      double &most = best[{setting, row->provider}];
      most = std::max(most, judged.ratio.ratio);
    }
    for (auto &[key, ratio] : best)
      if (key.second != baseline.provider)
        ratios[key].push_back(ratio);
  }
  for (auto &[key, values] : ratios) {
    auto &[setting, column] = key;
    auto provider = columns.find(column);
    if (provider != columns.end() && provider->second.size() == 1 && provider->second[0] != column)
      continue; // it has only one column, with the same ratio
    result.summaries.push_back({column, setting, values.size(), lab::geometricMean(values)});
  }
  return result;
}

json toJson(const Speedups &speedups) {
  json rows = json::array(), summaries = json::array();
  for (const Speedup &speedup : speedups.rows) {
    json document = identityJson(*speedup.row);
    document.update(toJson(speedup.ratio));
    document["within_overhead"] = speedup.withinOverhead;
    document["median_ms"] = speedup.row->median * 1e3;
    document["baseline"] = scheduledColumnOf(*speedup.baseline);
    document["baseline_median_ms"] = speedup.baseline->median * 1e3;
    rows.push_back(std::move(document));
  }
  for (const SpeedupSummary &summary : speedups.summaries) {
    json document = {{"column", summary.column}, {"setting", summary.setting}, {"problems", summary.problems}};
    document["geometric_mean"] = summary.geometricMean.ratio;
    document["geometric_mean_low"] = summary.geometricMean.interval.low;
    document["geometric_mean_high"] = summary.geometricMean.interval.high;
    summaries.push_back(std::move(document));
  }
  return {{"points", rows}, {"summaries", summaries}};
}

} // namespace lathe::report
