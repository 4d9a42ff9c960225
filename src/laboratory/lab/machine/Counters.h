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

/// Counter values at one moment, relative to an arbitrary start.
struct CounterReading {
  int64_t cpuNs = 0;
  static constexpr size_t events = 3;
  std::array<std::optional<uint64_t>, events> values; // cycles, instructions, cache misses; empty: not counted
  uint64_t enabledNs = 0, runningNs = 0;              // nanoseconds that the counters were enabled, and that they ran
};

/// Difference of two readings. If the hardware counters ran for less than 99 % of the time, their values are empty
/// instead of scaled: the kernel multiplexes counters every few milliseconds, as long as the runs measured here. The
/// processor time stays.
Counts between(const CounterReading &before, const CounterReading &after);

/// Adds the values read from an event group: number of events, time enabled, time running, values.
/// `counted` says which events are in the group, in order. Returns false for malformed data.
bool addGroup(CounterReading &reading, std::span<const uint64_t> words,
              const std::array<bool, CounterReading::events> &counted);

/// Explains a failure of perf_event_open with errno `error`: the name of the error and its meaning here.
std::string counterFailure(int error);

/// An event to count, by the type and config of perf_event_attr.
struct CounterEvent {
  const char *name;
  uint32_t type;
  uint64_t config;
};
using CounterEvents = std::array<CounterEvent, CounterReading::events>;
extern const CounterEvents hardwareEvents; // cycles, instructions, cache misses, in this order

class Counters {
public:
  /// Starts counting for all present threads and the threads that they start. Other `events` are for tests: the kernel
  /// can count some software events on every machine.
  explicit Counters(const CounterEvents &events = hardwareEvents);
  ~Counters();
  Counters(const Counters &) = delete;
  Counters &operator=(const Counters &) = delete;

  CounterReading read() const;
  /// Why counters are missing: "cycles, instructions, cache_misses: perf_event_open: ENOENT, ..."; "": none is missing.
  const std::string &uncounted() const { return reason; }

private:
  void close();

  std::vector<int> leaders, members; // file descriptors: group leaders (one per thread); all other events
  std::array<bool, CounterReading::events> counted{};
  std::string reason;
};

} // namespace lathe::lab
