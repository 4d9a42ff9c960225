// Hardware counters and processor time of this process, with all its present and later threads.
//
// A reading costs a few microseconds (docs/measuring.md), so read before the first and after the
// last of several short runs. Uses perf_event_open of Linux in user mode, which needs no privileges
// unless kernel.perf_event_paranoid is above 2.
#pragma once

#include "lab/judging/Counts.h"

#include <array>
#include <span>
#include <string>

namespace lathe::lab {

/// Values of the hardware counters at one moment, relative to an arbitrary start.
struct CounterReading {
  int64_t cpuNs = 0;
  static constexpr size_t events = 3;
  std::array<std::optional<uint64_t>, events> values; // cycles, instructions, cache misses; empty: not counted
  uint64_t enabledNs = 0, runningNs = 0;              // nanoseconds that the counters were enabled, and that they ran
};

/// Returns the difference of two readings of the counters. If the hardware counters ran for less than 99 % of the
/// time, their values are empty instead of scaled: the kernel multiplexes counters every few milliseconds, and the
/// runs measured here take as long. The processor time stays.
Counts between(const CounterReading &before, const CounterReading &after);

/// Adds to a reading the values read from an event group of perf_event_open: number of events, time enabled, time
/// running, values. `counted` says which events are in the group, in order. Returns false for malformed data.
bool addGroup(CounterReading &reading, std::span<const uint64_t> words,
              const std::array<bool, CounterReading::events> &counted);

/// Explains a failure of perf_event_open with errno `error`: returns the name of the error and its meaning for this
/// call.
std::string counterFailure(int error);

/// An event to count, as the type and config of perf_event_attr.
struct CounterEvent {
  const char *name;
  uint32_t type;
  uint64_t config;
};
using CounterEvents = std::array<CounterEvent, CounterReading::events>;
extern const CounterEvents hardwareEvents; // cycles, instructions, cache misses, in this order

class Counters {
public:
  /// Starts counting for all present threads of this process and the threads that they start. Other `events` than the
  /// default are for tests: the kernel can count some software events on every machine.
  explicit Counters(const CounterEvents &events = hardwareEvents);
  ~Counters();
  Counters(const Counters &) = delete;
  Counters &operator=(const Counters &) = delete;

  CounterReading read() const;
  /// The reason why counters are missing: "cycles, instructions, cache_misses: perf_event_open: ENOENT, ..."; "": none
  /// is missing.
  const std::string &uncounted() const { return reason; }

private:
  void close();

  std::vector<int> leaders, members; // file descriptors: of group leaders (one per thread); of all other events
  std::array<bool, CounterReading::events> counted{};
  std::string reason;
};

} // namespace lathe::lab
