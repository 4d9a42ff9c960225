// Waits before a measurement until the processors run at full speed. A virtual machine may map two of its processors to
// the two threads of one core, or give a core's other thread to another guest, for seconds at a time. Then times are up
// to twice as long, and no counter inside the machine shows it.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>

namespace lathe::lab {

/// A reading of the processors' speed: multiplications per time, in any unit.
struct SpeedReading {
  double alone = 0;   // rate of one thread that runs alone
  double slowest = 0; // lowest rate among threads that run at the same time; with one thread: `alone`
};

/// Measures the speed of the processors (both rates of SpeedReading) with new threads, in about 0.3 ms. If there are
/// as many threads as the process has processors, each thread is bound to one of them. With more threads than
/// processors nothing is measured: both rates are 0.
SpeedReading readSpeed(int threads);

/// Times are reported as unreliable if more than this share of the rounds of a measurement began below full speed.
inline constexpr double unreliableSlowShare = 0.3;

/// Decides from readings whether the processors run at full speed, and waits until they do.
///
/// Processors do not run at full speed if one of several threads has less than 0.7 of the rate of a thread alone (the
/// boosted clock of a single core explains less), or a rate below 0.9 of the 90th percentile of the last 64 readings. A
/// percentile of recent readings adapts to a machine that has become slower permanently.
class FullSpeed {
public:
  struct Hooks {
    std::function<SpeedReading()> read;
    std::function<double()> now; // clock that gives seconds
    std::function<void(double seconds)> sleep;
  };
  /// `threads`: number of threads of the measurements; `allowance`: seconds that may be spent on waiting. Never waits
  /// if the environment variable LATHE_NO_WAIT is set, as in tests.
  explicit FullSpeed(int threads, double allowance = 3);
  explicit FullSpeed(Hooks hooks, double allowance = 3);

  /// Waits until the processors run at full speed, and then returns true. Returns false after `atMost` seconds, or
  /// when the allowance is used up: the given allowance plus the time spent on measuring.
  bool await(double atMost);
  /// Reports that `seconds` were spent on measuring; the same number of seconds of waiting is allowed in addition.
  void measured(double seconds) { allowance += seconds; }

  double waitedSeconds() const { return waited; } // seconds waited in all calls of `await`
  size_t asked() const { return calls; }          // number of calls of `await`
  size_t slow() const { return refused; }         // number of calls of `await` that returned false

private:
  bool full(const SpeedReading &reading);

  Hooks hooks;
  std::deque<SpeedReading> recent;
  double allowance, waited = 0; // seconds that waiting may still take; seconds that it has taken
  size_t calls = 0, refused = 0;
};

} // namespace lathe::lab
