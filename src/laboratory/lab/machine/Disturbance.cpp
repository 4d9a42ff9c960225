#include "lab/machine/Disturbance.h"

#include <algorithm>
#include <ctime>
#include <fstream>
#include <string>
#include <unistd.h>

namespace lathe::lab {

std::optional<MachineTime> machineTime() {
  std::ifstream file("/proc/stat");
  std::string label;
  double user = 0, nice = 0, system = 0, idle = 0, waiting = 0, interrupts = 0, softInterrupts = 0, stolen = 0;
  if (!(file >> label >> user >> nice >> system >> idle >> waiting >> interrupts >> softInterrupts >> stolen))
    return std::nullopt;
  double ticks = double(sysconf(_SC_CLK_TCK));
  return MachineTime{(user + nice + system + interrupts + softInterrupts + stolen) / ticks, stolen / ticks};
}

double ownCpuSeconds() {
  timespec own{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &own);
  return double(own.tv_sec) + double(own.tv_nsec) * 1e-9;
}

DisturbanceMeter::DisturbanceMeter(std::function<double()> ownSeconds)
    : ownSeconds(std::move(ownSeconds)), began(std::chrono::steady_clock::now()), before(machineTime()),
      ownBefore(this->ownSeconds()) {}

store::Disturbance DisturbanceMeter::read() const {
  double elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  auto after = machineTime();
  if (!before || !after || elapsed <= 0)
    return {};
  double others = after->busySeconds - before->busySeconds - (ownSeconds() - ownBefore);
  return {std::max(0.0, others / elapsed), std::max(0.0, (after->stolenSeconds - before->stolenSeconds) / elapsed)};
}

} // namespace lathe::lab
