// What runs cost besides time on the wall: processor time, and what the processor's own counters say (lab/machine/Counters.h).
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace lathe::lab {

/// Of some runs together, over all threads of the process. What was not counted is not there.
struct Counts {
  std::optional<int64_t> cpuNs; // in the system, too
  // In the program's own code; in the system nothing is counted.
  std::optional<int64_t> cycles, instructions;
  std::optional<int64_t> cacheMisses; // of the last level, as the kernel understands it for this processor
  /// Somebody else had the processor's counters for a part of the time: there are none rather than extrapolated ones.
  bool multiplexed = false;

  /// What is missing on either side is missing in the sum.
  Counts &operator+=(const Counts &other);
  bool operator==(const Counts &) const = default;
};

/// {"cpu_ns", "cycles", "instructions", "cache_misses", "multiplexed"}, those that there are.
nlohmann::json toJson(const Counts &counts);
/// Throws json::exception for another shape, and what is negative.
Counts countsFromJson(const nlohmann::json &document);

/// Times of some runs one after the other, and what they cost together.
struct Timing {
  std::vector<double> seconds;
  Counts counts;
};

} // namespace lathe::lab
