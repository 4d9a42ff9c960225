// Options that a kernel is compiled with, besides its target.
#pragma once

#include "support/Precision.h"

#include <cstdint>
#include <map>
#include <string>

namespace lathe {

struct KernelOptions {
  int threads = 1;          // for which schedules are chosen
  bool exactMath = false;   // forbid algorithms that reassociate sums
  bool smallMemory = false; // forbid forms of the weights that take more bytes, except padding to whole vectors
  Precision precision = Precision::fp32; // that priors choose
  bool relaxedMath = false;              // functions and quotients have the errors of codegen/builder/RelaxedMath.h
  /// Values of symbols for which schedules are chosen, where facts need a value (KernelFacts::assumed).
  std::map<std::string, int64_t> typical = {};
};

} // namespace lathe
