// Problems that Eigen computes with array expressions: element-wise operators, reductions, softmax, layer
// normalisation.
#pragma once

#include "lab/providers/Provider.h"
#include "runtime/ThreadPool.h"

#include <functional>

namespace lathe::lab {

/// One prepared array expression.
struct ArrayProgram {
  /// Computes the units [begin, end): elements, or rows of a reduction.
  std::function<void(int64_t begin, int64_t end)> compute;
  int64_t units = 0;
  Tensor y;
  std::string implementation;
};

/// Operators that makeArrays supports.
std::vector<std::string> arrayOperators();
/// Makes the program of a problem in f32. Declines with the reason.
Outcome<ArrayProgram> makeArrays(const Problem &problem, const ProblemInputs &inputs);

} // namespace lathe::lab
