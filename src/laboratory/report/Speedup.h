// Speedups over a baseline provider.
#pragma once

#include "report/Rows.h"

namespace lathe::report {

/// The choice of a baseline for speedups: PROVIDER, PROVIDER:VARIANT or PROVIDER:VARIANT:SCHEDULE, optionally followed
/// by @PLATFORM. Missing parts match the fastest row of each cell. With a platform (a part of its name, see
/// PlatformNames.h, or the beginning of its key), rows of all platforms are compared with it.
struct ColumnChoice {
  std::string provider;
  std::optional<std::string> variant, schedule, platform;

  /// Parses the text of a baseline. Throws Error if its provider is empty.
  static ColumnChoice parse(const std::string &text);
  bool matches(const Row &row) const;
  std::string str() const;
};

struct Speedup {
  const Row *row = nullptr, *baseline = nullptr;
  lab::RatioEstimate ratio; // ratio of times: `baseline` / `row`
  // call overhead may explain the ratio (lab/judging/Verdict.h); the speedup is excluded from means
  bool withinOverhead = false;
};

struct SpeedupSummary {
  std::string column; // the rows compared: a column "onednn:auto"; "onednn": its fastest variant in each cell
  std::string setting;
  size_t problems = 0; // number of problems in the geometric mean
  // geometric mean of the speedups; its interval is over the problems (lab::geometricMean)
  lab::RatioEstimate geometricMean;
};

struct Speedups {
  std::string baseline; // text of the column
  std::vector<Speedup> rows;
  std::vector<SpeedupSummary> summaries;
};

/// Returns the speedup of every row that counts (Row::counts) over the baseline row of its cell. Leaves out cells
/// without a baseline. Rows of different platforms are judged as not measured in turns.
Speedups speedups(const std::vector<Row> &rows, const ColumnChoice &baseline);

nlohmann::json toJson(const Speedups &speedups);

} // namespace lathe::report
