// Measures the processor time that other programs use during a measurement.
#pragma once

#include "store/Records.h"

#include <chrono>
#include <functional>
#include <optional>

namespace lathe::lab {

/// Processor time that the whole machine has spent since boot; nothing if the system does not report it.
struct MachineTime {
  double busySeconds = 0;   // part of busySeconds that other guests of the host used
  double stolenSeconds = 0; // part of busySeconds that other guests of the host used
};
std::optional<MachineTime> machineTime();

/// Processor time of this process without its children, in seconds.
double ownCpuSeconds();

/// Measures how many processors other programs use on average, from its construction on.
class DisturbanceMeter {
public:
  /// Begins to measure. `ownSeconds` returns the processor time of the measured processes, which is subtracted.
  explicit DisturbanceMeter(std::function<double()> ownSeconds = ownCpuSeconds);
  /// The disturbance measured so far; its figures are empty if the system does not report processor times.
  store::Disturbance read() const;

private:
  std::function<double()> ownSeconds;
  std::chrono::steady_clock::time_point began;
  std::optional<MachineTime> before;
  double ownBefore;
};

/// Limit on the processors that other programs use: above it, times are reported as unreliable.
inline constexpr double disturbingProcessors = 0.15;

} // namespace lathe::lab
