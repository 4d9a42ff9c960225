// CPUs for two processes that are measured beside each other.
#pragma once

#include "machine/Topology.h"
#include "support/Error.h"

#include <span>
#include <string>
#include <string_view>

namespace lathe::lab {

/// The names of places, in which two processes share less and less: "core" (threads of one core), "cache" (other cores
/// at one last-level cache), "socket" (another last-level cache), "machine" (another socket).
std::span<const std::string_view> placeNames();

/// The place that the closest two CPUs of `some` and `others` share. A CPU that both have counts as one core.
std::string closestPlace(const Topology &machine, const NumberList &some, const NumberList &others);

struct CpusOfBoth {
  NumberList measured, beside; // numbers of CPUs
  std::string place;           // one of placeNames
};
/// Chooses a CPU for each thread of a measured process and of the process beside it, among the CPUs that this process
/// may use. `place` says what the two processes share; "any": the first of cache, socket, machine and core that has
/// enough CPUs. If there are too few, declines and says how many there are.
Outcome<CpusOfBoth> cpusOfBoth(const Topology &machine, int measuredThreads, int besideThreads,
                               const std::string &place);

} // namespace lathe::lab
