// Caches of one core and their bandwidths: the machine facts that priors use.
#pragma once

#include "codegen/target/Target.h"

namespace lathe {

struct Caches {
  double firstLevel, secondLevel; // bytes
  /// Bytes per cycle that one core reads. A third level counts as memory, because the weights of a
  /// network exceed it.
  double fromSecond, fromMemory;
  double aheadCosts; // cost of a prefetched byte relative to a byte that is waited for; multiplications hide the rest

  /// Cycles to read `bytes` again: bytes that the second level cannot hold come from memory.
  double read(double bytes) const {
    double near = bytes < secondLevel ? bytes : secondLevel;
    return near / fromSecond + (bytes - near) / fromMemory;
  }
};

/// Caches of one core, by the machine facts of the target.
Caches cachesOf(const Target &target);

} // namespace lathe
