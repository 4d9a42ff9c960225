// Caches of one core and their bandwidths, the facts of the machine by which priors choose.
#pragma once

#include "codegen/target/Target.h"

namespace lathe {

struct Caches {
  double firstLevel, secondLevel; // capacity of the two innermost caches for one core, in bytes
  /// Bytes per cycle that one core reads from the second level and from memory. A third level counts as memory, because
  /// the weights of a network exceed it.
  double fromSecond, fromMemory;
  /// Cost of a prefetched byte as a share of the wait for a byte; multiplications hide the rest of the wait.
  double aheadCosts;

  /// Cycles to read `bytes` bytes again. Bytes that the second level cannot hold come from memory.
  double read(double bytes) const {
    double near = bytes < secondLevel ? bytes : secondLevel;
    return near / fromSecond + (bytes - near) / fromMemory;
  }
};

/// Returns the caches of one core from the machine facts of the target.
Caches cachesOf(const Target &target);

} // namespace lathe
