// The outcome of measuring one schedule of a task.
#pragma once

#include "store/Records.h"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

namespace lathe::tune {

struct Measurement {
  std::string schedule;
  /// passed: the results are right, and `seconds` has samples. unimplemented: the schedule is not legal. failed: the
  /// compiler reports an error, or the results are wrong. crashed, timedOut, memoryExceeded: the process that built or
  /// ran the candidate ended so.
  store::PointStatus status = store::PointStatus::failed;
  std::string reason;          // for every status but passed
  std::vector<double> seconds; // one sample per run, in order; all are kept
  double build = 0, run = 0;   // seconds spent on building, and on checking and timing

  bool passed() const { return status == store::PointStatus::passed; }
  /// Time of one run in seconds, to compare with other schedules: the median of the samples. Infinite without samples.
  double best() const {
    if (seconds.empty())
      return std::numeric_limits<double>::infinity();
    std::vector<double> sorted = seconds;
    std::sort(sorted.begin(), sorted.end());
    return (sorted[(sorted.size() - 1) / 2] + sorted[sorted.size() / 2]) / 2;
  }
};

} // namespace lathe::tune
