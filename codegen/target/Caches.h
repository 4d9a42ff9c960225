// One core's caches and how fast bytes come from them: the machine facts that priors compute with.
#pragma once

#include "codegen/target/Target.h"

namespace lathe {

struct Caches {
  double firstLevel, secondLevel; // bytes
  double fromSecond,
      fromMemory;    // bytes a cycle one core reads; a third level counts as memory: a network's weights exceed it
  double aheadCosts; // of reading weights ahead, over waiting for as many bytes: the rest hides behind multiplications

  /// Cycles to read `bytes` again that were read before: what the second level does not hold comes from memory.
  double read(double bytes) const {
    double near = bytes < secondLevel ? bytes : secondLevel;
    return near / fromSecond + (bytes - near) / fromMemory;
  }
};

/// One core's, by the facts of the machine that the code is made for.
Caches cachesOf(const Target &target);

} // namespace lathe
