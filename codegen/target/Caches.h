// What priors plan with besides registers: a core's caches and how fast bytes come from them.
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

/// By the instructions of the CPU the code is made for: virtual machines hide its name, and nobody names "x86-64-v3".
Caches cachesOf(const Target &target);

} // namespace lathe
