// Lists the operators of a model as benchmark problems of the laboratory.
#pragma once

#include "lab/problems/ProblemList.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace lathe::lab {

struct ModelProblems {
  // distinct problems with the number of times each occurs; each is named after its first node
  std::vector<ListedProblem> problems;
  /// Operators in kernels that no problem contains, for example a scaling with a broadcast factor, each with the
  /// number of times it occurs.
  std::vector<std::pair<std::string, int64_t>> besides;
};

/// Lists the operators of a module that is divided into kernels. A problem is the main operator of a kernel with the
/// element-wise operators after it that an epilogue can express (one operand, or a residual addition). A problem
/// counts once for each call of the kernel. Operators that views or reference functions compute are not listed. Open
/// extents count as 1.
ModelProblems problemsOf(mlir::ModuleOp module);

} // namespace lathe::lab
