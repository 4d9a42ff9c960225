// The report of `lathe sweep`.
#pragma once

#include "cli/sweep/Timing.h"

namespace lathe::cli {

/// What is known of the grid.
struct Sweep {
  std::vector<SweepRow> rows;
  SweepTiming timing;
  bool classifies = false; // --data was given
};

/// The table, the operators without kernels with their shares of the time, and the reasons of rows without a time.
std::string sweepText(const Sweep &sweep, const TableStyle &style);
nlohmann::json sweepJson(const Sweep &sweep, bool finished);
/// Points of the rows that ran, with their times.
std::vector<store::Point> sweepPoints(const Sweep &sweep);

} // namespace lathe::cli
