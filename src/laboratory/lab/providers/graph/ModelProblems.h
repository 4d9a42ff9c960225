// The operators of a model as problems of the laboratory.
#pragma once

#include "lab/problems/ProblemList.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace lathe::lab {

struct ModelProblems {
  std::vector<ListedProblem> problems; // distinct problems with counts; each is named after its first node
  /// Other operators in kernels, which no problem contains, with counts: for example a scaling with a broadcast factor.
  std::vector<std::pair<std::string, int64_t>> besides;
};

/// Lists the operators of a module at kernels level. A problem is the main operator of a kernel with the element-wise
/// operators after it that an epilogue can express (one operand, or a residual addition). It counts once for each call
/// of the kernel. Operators that are computed by views and references are not listed. Open extents count as 1.
ModelProblems problemsOf(mlir::ModuleOp module);

} // namespace lathe::lab
