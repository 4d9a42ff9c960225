// Counters of runs: busy processors, instructions a cycle, frequency, cache misses.
#pragma once

#include "report/Rows.h"

namespace lathe::report {

struct Counted {
  const Row *row = nullptr;
  std::optional<double> instructionsPerCycle; // counted in user mode only
  std::optional<double> flopsPerCycle;        // nominal operations a cycle
};

/// The counters of each row that counts and has a processor time.
std::vector<Counted> counted(const std::vector<Row> &rows);

nlohmann::json toJson(const Counted &counted);

} // namespace lathe::report
