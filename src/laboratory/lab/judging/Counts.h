// Costs of runs besides wall time: processor time and hardware counters (lab/machine/Counters.h).
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace lathe::lab {

/// Totals of several runs over all threads of the process. Values that were not counted are empty.
struct Counts {
  std::optional<int64_t> cpuNs; // processor time of the process, user and system
  // The following events are counted in user mode only.
  std::optional<int64_t> cycles, instructions;
  std::optional<int64_t> cacheMisses; // last-level cache, as the kernel defines it for this processor
  /// True if other users had the hardware counters for part of the time; cycles, instructions and
  /// cache misses are then empty.
  bool multiplexed = false;

  /// Adds the counts of other runs. A value missing on either side is missing in the sum.
  Counts &operator+=(const Counts &other);
  bool operator==(const Counts &) const = default;
};

/// JSON with the keys "cpu_ns", "cycles", "instructions", "cache_misses" and "multiplexed"; missing values are left
/// out.
nlohmann::json toJson(const Counts &counts);
/// Reads the JSON of toJson. Throws json::exception for another shape and for negative values.
Counts countsFromJson(const nlohmann::json &document);

/// Times of several runs, and the counts of all of them together.
struct Timing {
  std::vector<double> seconds;
  Counts counts;
};

} // namespace lathe::lab
