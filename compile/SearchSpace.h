// The search spaces of a model's kernels: for every distinct kernel, every algorithm of its family with the values worth
// trying, the constraints between them and how many combinations are legal.
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
  std::vector<std::string> kernels; // names of the functions that share it
  std::string task;                 // codegen/Task.h
  std::string family, prior;        // prior: the schedule chosen without search; "" where there is none
  std::vector<AlgorithmSpace> algorithms;
};

/// Of every distinct kernel of the module (which is brought to kernels level), in order. Throws Error.
std::vector<KernelSpace> searchSpaces(mlir::ModuleOp module, const CompileOptions &options);

} // namespace lathe
