// What else the machine did while times were taken.
#pragma once

#include "store/Records.h"

#include <chrono>
#include <functional>
#include <optional>

namespace lathe::lab {

/// Processor time that the whole machine has spent since it started; none where the system does not tell.
struct MachineTime {
  double busySeconds = 0;   // by programs, interrupts, and what was stolen
  double stolenSeconds = 0; // by other guests of a virtual machine's host
};
std::optional<MachineTime> machineTime();

/// Processor time of this process, its children not included.
double ownCpuSeconds();

/// Processors that all other programs kept busy on average, from its making on.
class DisturbanceMeter {
public:
  /// `ownSeconds`: processor time of what is measured, which does not count.
  explicit DisturbanceMeter(std::function<double()> ownSeconds = ownCpuSeconds);
  /// None where the system does not tell.
  store::Disturbance read() const;

private:
  std::function<double()> ownSeconds;
  std::chrono::steady_clock::time_point began;
  std::optional<MachineTime> before;
  double ownBefore;
};

/// Above this many processors kept busy by others, times are said not to be trusted.
inline constexpr double disturbingProcessors = 0.15;

} // namespace lathe::lab
