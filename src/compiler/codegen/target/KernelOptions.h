// Options that, together with the target, decide the code of a kernel.
#pragma once

#include "support/Precision.h"

#include <cstdint>
#include <map>
#include <string>

namespace lathe {

struct KernelOptions {
  int threads = 1;          // number of threads for which schedules are chosen
  bool exactMath = false;   // true: forbids algorithms that reassociate sums
  bool smallMemory = false; // true: forbids forms of the weights that take more bytes, except padding to whole vectors
  Precision precision = Precision::fp32; // precision that the hand-written rules choose
  bool relaxedMath = false; // true: functions and quotients may have the errors of codegen/builder/RelaxedMath.h
  /// Typical values of open extents (symbols). Schedules are chosen for these values where a decision needs a number
  /// (KernelFacts::assumed).
  std::map<std::string, int64_t> typical = {};
};

} // namespace lathe
