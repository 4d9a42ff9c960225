// Counters of runs: busy processors, instructions a cycle, frequency, cache misses.
#pragma once

#include "report/Rows.h"

namespace lathe::report {

struct Counted {
  const Row *row = nullptr;
  std::optional<double> instructionsPerCycle; // user mode only
  std::optional<double> flopsPerCycle;        // by nominal operations
};

/// Results for rows that count and have a processor time.
std::vector<Counted> counted(const std::vector<Row> &rows);

nlohmann::json toJson(const Counted &counted);

} // namespace lathe::report
