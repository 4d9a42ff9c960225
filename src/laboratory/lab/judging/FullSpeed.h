// Waits before a measurement until the processors run at full speed. A virtual machine may map two of its processors to
// the two threads of one core, or give a core's other thread to another guest, for seconds at a time. Then times are up
// to twice as long, and no counter inside the machine shows it.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>

namespace lathe::lab {

/// Rate of multiplications of a thread, in any unit.
struct SpeedReading {
  double alone = 0;   // a single thread
  double slowest = 0; // the slowest of several threads that run at the same time; with one thread: `alone`
};

/// Measures both rates with new threads, in about 0.3 ms. With as many threads as the process has processors, each
/// thread is bound to one of them. More threads than processors are not measured: both rates are 0.
SpeedReading readSpeed(int threads);

/// If a larger share of the rounds began below full speed, the times are reported as unreliable.
inline constexpr double unreliableSlowShare = 0.3;

/// Decides from readings whether the processors run at full speed, and waits until they do.
///
/// They do not if one of several threads has less than 0.7 of the rate of a thread alone (the boosted clock of a single
/// core explains less), or a rate below 0.9 of the 90th percentile of the last 64 readings. A percentile of recent
/// readings adapts to a machine that has become slower permanently.
class FullSpeed {
public:
  struct Hooks {
    std::function<SpeedReading()> read;
    std::function<double()> now; // seconds
    std::function<void(double seconds)> sleep;
  };
  /// For measurements with this number of threads; `allowance` in seconds. Never waits if the environment has
  /// LATHE_NO_WAIT, as in tests.
  explicit FullSpeed(int threads, double allowance = 3);
  explicit FullSpeed(Hooks hooks, double allowance = 3);

  /// Returns true as soon as the processors run at full speed. Returns false after `atMost` seconds, or when the
  /// allowance is used up: the given allowance plus the time spent on measuring.
  bool await(double atMost);
  /// Adds to the allowance of waiting.
  void measured(double seconds) { allowance += seconds; }

  double waitedSeconds() const { return waited; } // in all calls of `await`
  size_t asked() const { return calls; }          // calls of `await`
  size_t slow() const { return refused; }         // calls that returned false

private:
  bool full(const SpeedReading &reading);

  Hooks hooks;
  std::deque<SpeedReading> recent;
  double allowance, waited = 0; // seconds
  size_t calls = 0, refused = 0;
};

} // namespace lathe::lab
