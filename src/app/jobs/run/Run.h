// Runs a package once, or in steps that pass states on.
#pragma once

#include "jobs/Steps.h"

namespace lathe::jobs {

struct RunJob {
  ModelOptions model;
  InputOptions inputs;
  StepOptions stepping;
  std::string output;      // path for writeValues; "": the outputs are not written
  bool dequantize = false; // outputs that have a scale become the real numbers they stand for
};

struct RunResult {
  std::vector<std::string> names; // of the outputs
  std::vector<Value> outputs;     // those of several steps are stacked along a new first axis
  std::vector<double> seconds;    // of each step, without what sets its inputs
  runtime::MemoryUse memory;
  uint64_t codeBytes = 0, peakBytes = 0; // of the package; peak memory of this process
};

/// Does the job in this process, and writes the outputs. A warning is on stderr where a quantised model hides a NaN of
/// an input.
RunResult runModel(RunJob job);

} // namespace lathe::jobs
