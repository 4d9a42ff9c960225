// Caches of one core and their bandwidths, by which the hand-written rules choose schedules.
#pragma once

#include "codegen/target/Target.h"

namespace lathe {

struct Caches {
  double firstLevel, secondLevel; // capacity of the two innermost caches for one core, in bytes
  /// Bytes per cycle that one core reads from the second level, and from memory while all threads read it. A third
  /// level counts as memory, because the weights of a network exceed it.
  double fromSecond, fromMemory;
  /// Cost of a byte that was prefetched, as a share of the cost of waiting for a byte. Multiplications hide the rest
  /// of the wait.
  double aheadCosts;

  /// Returns the cycles for reading `bytes` bytes again. Bytes that the second level cannot hold come from memory.
  double read(double bytes) const {
    double near = bytes < secondLevel ? bytes : secondLevel;
    return near / fromSecond + (bytes - near) / fromMemory;
  }
};

/// Returns the caches of one of `threads` cores from the machine facts of the target.
Caches cachesOf(const Target &target, int threads);

} // namespace lathe
