// Search spaces of the kernels of a model: for every distinct kernel the algorithms of its family
// with candidate values, constraints and the number of legal combinations.
#pragma once

#include "codegen/space/SpaceSize.h"
#include "compile/Compile.h"

namespace lathe {

struct AlgorithmSpace {
  const Algorithm *algorithm;
  std::vector<Knob> knobs;
  SpaceSize size;
};

struct KernelSpace {
  std::vector<std::string> kernels; // names of the functions with this task
  std::string task;                 // codegen/Task.h
  std::string family, prior;        // prior: the schedule without search; "" if there is none
  std::vector<AlgorithmSpace> algorithms;
};

/// Returns the spaces of all distinct kernels of a module, in order. Lowers the module to kernels
/// level. Throws Error.
std::vector<KernelSpace> searchSpaces(mlir::ModuleOp module, const CompileOptions &options);

} // namespace lathe
