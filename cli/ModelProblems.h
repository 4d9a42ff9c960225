// The operators of a model as problems of the laboratory.
#pragma once

#include "lab/problems/ProblemList.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace lathe::cli {

struct ModelProblems {
  std::vector<lab::ListedProblem> problems; // distinct ones, with counts; the name is the first node's
  /// What kernels compute besides, by operator: a scaling whose factor is broadcast, say.
  std::vector<std::pair<std::string, int64_t>> besides;
};

/// Of a module at kernels level: every kernel's main operator with the element-wise operators behind it that an
/// epilogue has (of one operand, and residual additions), as often as the model calls it; operators that views and
/// references compute are left out. Symbolic extents are 1.
ModelProblems problemsOf(mlir::ModuleOp module);

} // namespace lathe::cli
