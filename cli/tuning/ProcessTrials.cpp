#include "cli/tuning/ProcessTrials.h"

namespace lathe::cli {

tune::MeasureOptions measureOptionsOf(const CompileOptions &compiling) {
  tune::MeasureOptions options;
  options.target = compiling.target;
  options.machineText = compiling.machineText;
  options.machineName = compiling.machineName;
  options.threads = compiling.threads;
  options.exactMath = compiling.exactMath;
  options.smallMemory = compiling.smallMemory;
  options.relaxedMath = compiling.level >= 4;
  options.precision = compiling.precision;
  return options;
}

} // namespace lathe::cli
