// What a schedule gains over the one that is chosen without search.
#pragma once

#include "report/Rows.h"

namespace lathe::report {

/// The fastest schedule of a column (provider and variant) in a cell where it was measured with its default and at
/// least one other. One that was found to be the default's very implementation counts as measured.
struct ScheduleGain {
  const Row *best = nullptr, *standard = nullptr; // the same where the default is the fastest
  lab::RatioEstimate ratio;                       // the default's time / the best one's
  lab::Verdict verdict = lab::Verdict::same;      // faster: the best one beats the default beyond doubt
  size_t schedules = 0;                           // that run, the default among them

  bool isDefault() const { return best == standard; }
};

struct ScheduleSummary {
  std::string column, setting;
  size_t problems = 0, better = 0;  // better: beyond doubt
  lab::RatioEstimate geometricMean; // interval: over problems
};

struct ScheduleGains {
  std::vector<ScheduleGain> rows;
  std::vector<ScheduleSummary> summaries;
};

ScheduleGains scheduleGains(const std::vector<Row> &rows);

nlohmann::json toJson(const ScheduleGains &gains);

} // namespace lathe::report
