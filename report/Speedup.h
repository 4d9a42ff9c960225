// How much faster everything is than one of its own.
#pragma once

#include "report/Rows.h"

namespace lathe::report {

/// PROVIDER, PROVIDER:VARIANT or PROVIDER:VARIANT:SCHEDULE; what is left out is whatever was fastest.
struct ColumnChoice {
  std::string provider;
  std::optional<std::string> variant, schedule;

  /// Throws Error for an empty provider.
  static ColumnChoice parse(const std::string &text);
  bool matches(const Row &row) const;
  std::string str() const;
};

struct Speedup {
  const Row *row = nullptr, *baseline = nullptr;
  lab::RatioEstimate ratio;    // baseline's time / the row's: above 1 the row is faster
  bool withinOverhead = false; // the difference may be that of the calls (lab/judging/Verdict.h): in no geometric mean
};

struct SpeedupSummary {
  std::string column; // "onednn:auto", or a provider alone: the fastest of what it has in each cell
  std::string setting;
  size_t problems = 0;              // in the mean
  lab::RatioEstimate geometricMean; // interval: over problems (lab::geometricMean)
};

struct Speedups {
  std::vector<Speedup> rows;
  std::vector<SpeedupSummary> summaries;
};

/// Every row that counts over the baseline of its cell; cells without a baseline are left out.
Speedups speedups(const std::vector<Row> &rows, const ColumnChoice &baseline);

nlohmann::json toJson(const Speedups &speedups);
nlohmann::json toJson(const lab::RatioEstimate &ratio); // ratio, ratio_low, ratio_high

} // namespace lathe::report
