#include "report/Counted.h"

namespace lathe::report {

std::vector<Counted> counted(const std::vector<Row> &rows) {
  std::vector<Counted> result;
  for (const Row &row : rows) {
    if (!row.counts() || !row.cpuSeconds || !row.processors)
      continue;
    Counted &entry = result.emplace_back();
    entry.row = &row;
    if (row.cycles.value_or(0) <= 0)
      continue;
    if (row.instructions)
      entry.instructionsPerCycle = *row.instructions / *row.cycles;
    if (row.flops > 0)
      entry.flopsPerCycle = row.flops / *row.cycles;
  }
  return result;
}

nlohmann::json toJson(const Counted &counted) {
  nlohmann::json document = identityJson(*counted.row);
  document["median_ms"] = counted.row->median * 1e3;
  document["cpu_ms"] = *counted.row->cpuSeconds * 1e3;
  document["processors"] = *counted.row->processors;
  auto put = [&](const char *key, const std::optional<double> &value) {
    if (value)
      document[key] = *value;
  };
  put("cycles", counted.row->cycles);
  put("instructions", counted.row->instructions);
  put("instructions_per_cycle", counted.instructionsPerCycle);
  put("ghz", counted.row->gigahertz);
  put("flops_per_cycle", counted.flopsPerCycle);
  put("cache_misses", counted.row->cacheMisses);
  return document;
}

} // namespace lathe::report
