// Hardware counters of runs: busy processors, instructions per cycle, frequency, cache misses.
#pragma once

#include "report/Rows.h"

namespace lathe::report {

struct Counted {
  const Row *row = nullptr;
  std::optional<double> instructionsPerCycle; // instructions per cycle, counted in user mode only
  std::optional<double> flopsPerCycle;        // nominal operations per cycle
};

/// Returns the counters of each row that counts (Row::counts) and has a processor time.
std::vector<Counted> counted(const std::vector<Row> &rows);

nlohmann::json toJson(const Counted &counted);

} // namespace lathe::report
