// The outcome of measuring one schedule of a task.
#pragma once

#include "lab/judging/Statistics.h"
#include "store/Records.h"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

namespace lathe::tune {

/// Number that stands for the time, in seconds, of a schedule or task that was not measured.
inline constexpr double unmeasured = std::numeric_limits<double>::infinity();

struct Measurement {
  std::string schedule;
  /// Outcome of the measurement. passed: the results are right, and `seconds` has samples. unimplemented: the schedule
  /// is not legal. failed: the compiler reports an error, or the results are wrong. crashed, timedOut, memoryExceeded:
  /// how the process that built or ran the candidate ended.
  store::PointStatus status = store::PointStatus::failed;
  std::string reason;          // reason for a status other than passed
  std::vector<double> seconds; // samples: seconds of each run, in order
  double build = 0, run = 0;   // seconds spent on building, and on checking and timing
  bool inCompany = false;      // a companion ran during all samples

  bool passed() const { return status == store::PointStatus::passed; }
  /// The time of one run in seconds by which schedules are compared: the smallest of the samples, because other
  /// programs can only make a run longer. In company the median, because the smallest sample met the companion where
  /// it disturbs least. Infinite without samples.
  double best() const {
    if (inCompany && !seconds.empty())
      return lab::median(seconds);
    auto least = std::min_element(seconds.begin(), seconds.end());
    return least == seconds.end() ? unmeasured : *least;
  }
};

} // namespace lathe::tune
