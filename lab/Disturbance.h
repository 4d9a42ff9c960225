// What else the machine did while times were taken.
#pragma once

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

/// Above this many processors kept busy by others, times are said not to be trusted.
inline constexpr double disturbingProcessors = 0.15;

} // namespace lathe::lab
