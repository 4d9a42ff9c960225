// What runs cost besides time: processors kept busy, instructions a cycle, frequency, cache misses.
#pragma once

#include "report/Rows.h"

namespace lathe::report {

struct Counted {
  const Row *row = nullptr;
  std::optional<double> instructionsPerCycle; // in the program's own code
  std::optional<double> flopsPerCycle;        // nominal operations
};

/// Of the rows that count and whose processor time was counted.
std::vector<Counted> counted(const std::vector<Row> &rows);

nlohmann::json toJson(const Counted &counted);

} // namespace lathe::report
