// Times libraries on single operators side by side.
#pragma once

#include "jobs/ops/OpsOptions.h"

#include <functional>

namespace lathe::jobs {

/// The amount of work of a request, for two cases: every verdict is clear after the first starts, or none is until the
/// last start.
struct OpsEffort {
  size_t settings = 0, rows = 0, points = 0;
  double least = 0, most = 0; // seconds
};
OpsEffort effortOf(const OpsOptions &options, const std::vector<lab::ListedProblem> &problems);

struct OpsRows {
  /// In the order of the problems: those of the log, and those measured. Each has the form of lab::toJson, with its
  /// "key" in the log and the command that repeats it, "repro".
  std::vector<nlohmann::json> rows;
  std::vector<std::string> columns;        // names of the columns for the first problem
  size_t measured = 0, kept = 0, left = 0; // rows: now, in the store already, for another time
  std::string stored;                      // Recording::line

  /// Number of points that failed, crashed, timed out or are mistrusted.
  size_t wrongPoints() const;
};

/// Called before the first row with the line of Recording::resume, and with each row that was measured.
using OpsWatch = std::function<void(const std::string &resumed, const nlohmann::json &row)>;

/// Measures the rows that neither the log nor the store has. `problems` are of `options`, which are finished.
OpsRows benchOps(OpsOptions options, const std::vector<lab::ListedProblem> &problems, const OpsWatch &watch);

} // namespace lathe::jobs
