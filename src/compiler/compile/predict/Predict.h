// Predicts what a run of a model costs, by instruction of its plan, without running it.
#pragma once

#include "compile/Compile.h"

namespace lathe {

/// The predicted cost of one instruction of a plan.
struct PredictedInstruction {
  std::string name;             // name of the kernel, or of the operator of a reference
  std::string family, schedule; // only for kernels
  std::string shapes;           // only for kernels: "1x64x56x56 * 64x64x3x3 -> 1x64x56x56"
  std::vector<std::string> nodes;
  double flops = 0, bytes = 0; // operations and compulsory traffic of one run; open extents count as 1
  double constantBytes = 0;    // of the constants that it reads
  double cycles = 0;           // core cycles of one run on all threads; 0: nobody predicts them
  bool repeats = false;        // stands in a branch or in a loop: nobody knows how often it runs
};

/// The predicted cost of one run of the general plan of a model.
struct PlanPrediction {
  std::vector<PredictedInstruction> instructions; // in the order of the plan
  double besideOthers = 0;                        // cycles that streams save over all instructions one after the other
  Target target;
  CompileReport report;
};

/// Plans a run of `module` as `compile` does, and predicts it. Chooses schedules and makes the loops of kernels, but no
/// machine code. Rewrites the module. Throws Error.
PlanPrediction predictPlan(mlir::ModuleOp module, const CompileOptions &options);

} // namespace lathe
