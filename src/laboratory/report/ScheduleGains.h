// Gains: how much faster the best measured schedule is than the default schedule.
#pragma once

#include "report/Rows.h"

namespace lathe::report {

/// The fastest schedule of a column (provider and variant) in a cell with the default and at least one other schedule.
/// A schedule with the same implementation as the default counts as measured.
struct ScheduleGain {
  /// best: row of the fastest schedule; standard: row of the default schedule. Both may be the same row.
  const Row *best = nullptr, *standard = nullptr;
  lab::RatioEstimate ratio;                  // ratio of times: `standard` / `best`
  lab::Verdict verdict = lab::Verdict::same; // faster: `best` is faster with certainty
  size_t schedules = 0;                      // number of schedules that were measured, including the default
  std::string because = {};                  // why `verdict` is ambiguous (lab::ambiguityOf)

  bool isDefault() const { return best == standard; }
};

struct ScheduleSummary {
  std::string column, setting;
  size_t problems = 0, better = 0;  // number of problems; number of problems whose `verdict` is faster
  lab::RatioEstimate geometricMean; // geometric mean of the ratios; its interval is over the problems
};

struct ScheduleGains {
  std::vector<ScheduleGain> rows;
  std::vector<ScheduleSummary> summaries;
};

ScheduleGains scheduleGains(const std::vector<Row> &rows);

nlohmann::json toJson(const ScheduleGains &gains);

} // namespace lathe::report
