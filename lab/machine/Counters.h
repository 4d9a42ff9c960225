// The processor's counters, and the processor time, of this process: all its threads, those that it starts later, too.
//
// A reading costs a few microseconds (docs/measuring.md), so whoever times short runs reads before the first and after
// the last of them. Linux's perf_event_open; only what happens in the program's own code, which a process may count
// without privileges unless kernel.perf_event_paranoid is above 2.
#pragma once

#include "lab/machine/Counts.h"

#include <array>
#include <span>
#include <string>

namespace lathe::lab {

/// The counters at one moment, since some moment in the past.
struct CounterReading {
  int64_t cpuNs = 0;
  static constexpr size_t events = 3;
  std::array<std::optional<uint64_t>, events> values; // cycles, instructions, cache misses; those that are counted
  uint64_t enabledNs = 0, runningNs = 0;              // how long the processor's counters should have counted, and did
};

/// What happened from one reading to the next. Where the counters were at work for less than 99 % of the time they are
/// refused, not scaled: the kernel hands them on every few milliseconds, which is as long as what is counted here.
Counts between(const CounterReading &before, const CounterReading &after);

/// Adds what reading a group of events gave: number of events, time enabled, time running, values; `counted` says which
/// events are in the group, in their order. False where the words are something else.
bool addGroup(CounterReading &reading, std::span<const uint64_t> words,
              const std::array<bool, CounterReading::events> &counted);

/// Why perf_event_open failed with `error` (an errno): its name, and what it means here.
std::string counterFailure(int error);

/// Type and config as in perf_event_attr.
struct CounterEvent {
  const char *name;
  uint32_t type;
  uint64_t config;
};
using CounterEvents = std::array<CounterEvent, CounterReading::events>;
extern const CounterEvents hardwareEvents; // cycles, instructions, cache misses

class Counters {
public:
  /// Counts from now on. Threads that are there are counted, and so are those that they start. Other `events` than the
  /// hardware's are for tests: the kernel counts some of its own on every machine.
  explicit Counters(const CounterEvents &events = hardwareEvents);
  ~Counters();
  Counters(const Counters &) = delete;
  Counters &operator=(const Counters &) = delete;

  CounterReading read() const;
  /// "cycles, instructions, cache_misses: perf_event_open: ENOENT, ..."; "" when all are counted.
  const std::string &uncounted() const { return reason; }

private:
  void close();

  std::vector<int> leaders, members; // descriptors: of each thread's group, and of the other events in them
  std::array<bool, CounterReading::events> counted{};
  std::string reason;
};

} // namespace lathe::lab
