#include "report/ScheduleGains.h"

#include "report/Best.h"
#include "report/Speedup.h"

#include <map>

namespace lathe::report {

using nlohmann::json;

ScheduleGains scheduleGains(const std::vector<Row> &rows) {
  ScheduleGains result;
  struct Group {
    std::vector<double> ratios;
    size_t better = 0;
  };
  std::map<std::pair<std::string, std::string>, Group> groups; // by setting and column
  for (auto &cell : byCell(rows)) {
    std::map<std::string, std::vector<const Row *>> columns;
    for (const Row *row : cell)
      if (row->counts() || row->status == store::PointStatus::sameAs)
        columns[columnOf(*row)].push_back(row);
    for (auto &[column, members] : columns) {
      const Row *standard = fastest(members, [](const Row &row) { return row.setting.schedule.empty(); });
      if (!standard || members.size() < 2)
        continue;
      ScheduleGain gain{fastest(members), standard, {}, lab::Verdict::same, members.size()};
      gain.ratio = {1, {1, 1}};
      if (!gain.isDefault()) {
        lab::JudgedRatio judged = judgeTimes(*standard, *gain.best);
        gain.ratio = judged.ratio;
        gain.verdict = judged.verdict;
        gain.because = lab::ambiguityOf(judged, standard->disturbed || gain.best->disturbed);
      }
      Group &group = groups[{contextText(*standard), column}];
      group.ratios.push_back(gain.ratio.ratio);
      group.better += gain.verdict == lab::Verdict::faster;
      result.rows.push_back(gain);
    }
  }
  for (auto &[key, group] : groups)
    result.summaries.push_back(
        {key.second, key.first, group.ratios.size(), group.better, lab::geometricMean(group.ratios)});
  return result;
}

json toJson(const ScheduleGains &gains) {
  json points = json::array(), summaries = json::array();
  for (const ScheduleGain &gain : gains.rows) {
    json document = identityJson(*gain.best);
    document.update(toJson(gain.ratio));
    document["verdict"] = name(gain.verdict);
    document["ambiguous_because"] = gain.because;
    document["median_ms"] = gain.best->median * 1e3;
    document["default_median_ms"] = gain.standard->median * 1e3;
    document["schedule"] = scheduleOf(*gain.best);
    document["schedules"] = gain.schedules;
    points.push_back(std::move(document));
  }
  for (const ScheduleSummary &summary : gains.summaries)
    summaries.push_back({{"column", summary.column},
                         {"setting", summary.setting},
                         {"problems", summary.problems},
                         {"better", summary.better},
                         {"geometric_mean", summary.geometricMean.ratio},
                         {"geometric_mean_low", summary.geometricMean.interval.low},
                         {"geometric_mean_high", summary.geometricMean.interval.high}});
  return {{"points", points}, {"summaries", summaries}};
}

} // namespace lathe::report
