// Costs of runs besides wall time: processor time and hardware counters (lab/machine/Counters.h).
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace lathe::lab {

/// Costs of several runs, added over all threads of the process. Values that were not counted are empty.
struct Counts {
  std::optional<int64_t> cpuNs; // processor time of the process, user and system
  // The following events are counted in user mode only, not in the kernel.
  std::optional<int64_t> cycles, instructions;
  // misses of the last-level cache, as the kernel defines them for this processor
  std::optional<int64_t> cacheMisses;
  /// True if other users had the hardware counters for part of the time; cycles, instructions and cache misses are
  /// then empty.
  bool multiplexed = false;

  /// Adds the counts of other runs. A value that is missing in one of both is missing in the sum.
  Counts &operator+=(const Counts &other);
  bool operator==(const Counts &) const = default;
};

/// JSON of counts, with the keys "cpu_ns", "cycles", "instructions", "cache_misses" and "multiplexed"; missing values
/// are left out.
nlohmann::json toJson(const Counts &counts);
/// Reads counts from the JSON that toJson makes. Throws json::exception for another form and for negative values.
Counts countsFromJson(const nlohmann::json &document);

/// Times of several runs, and the counters of all of these runs together.
struct Timing {
  std::vector<double> seconds;
  Counts counts;
  int64_t besideRuns = 0; // runs of a companion that ended within these runs
};

} // namespace lathe::lab
