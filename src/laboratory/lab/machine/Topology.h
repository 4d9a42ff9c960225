// Which hardware the CPUs of this machine share, and CPUs for two processes that are measured beside each other.
#pragma once

#include "support/Error.h"

#include <sched.h>

#include <span>
#include <string>
#include <vector>

namespace lathe::lab {

/// A logical CPU. Two CPUs with an equal text share this hardware.
struct LogicalCpu {
  int number = 0;
  std::string core, cache, socket; // `cache`: the last level
};

/// The logical CPUs that this process may use. `cpus`: the kernel's folder of them.
std::vector<LogicalCpu> usableCpus(const std::string &cpus = "/sys/devices/system/cpu");

/// The names of places, in which two processes share less and less: "core" (threads of one core), "cache" (other cores at
/// one last-level cache), "socket" (another last-level cache), "machine" (another socket).
std::span<const std::string_view> placeNames();

struct CpusOfBoth {
  std::vector<int> measured, beside; // numbers of CPUs
  std::string place;                 // one of placeNames
};
/// Chooses a CPU for each thread of a measured process and of the process beside it, which shares `place` with it;
/// "any": the first of cache, socket, machine and core that has enough CPUs. Declines with the numbers if there are too
/// few.
Outcome<CpusOfBoth> cpusOfBoth(const std::vector<LogicalCpu> &cpus, int measuredThreads, int besideThreads,
                               const std::string &place);

/// Binds this thread to CPUs while the object exists. Processes that the thread starts meanwhile keep these CPUs. Does
/// nothing for an empty list. Throws Error if the kernel refuses.
class BoundToCpus {
public:
  explicit BoundToCpus(const std::vector<int> &cpus);
  ~BoundToCpus();
  BoundToCpus(const BoundToCpus &) = delete;
  BoundToCpus &operator=(const BoundToCpus &) = delete;

private:
  bool bound = false;
  cpu_set_t before;
};

} // namespace lathe::lab
