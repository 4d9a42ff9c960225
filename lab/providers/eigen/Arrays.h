// Problems that Eigen computes with array expressions: element-wise operators, reductions, softmax, layer
// normalisation.
#pragma once

#include "lab/providers/Provider.h"
#include "runtime/ThreadPool.h"

#include <functional>

namespace lathe::lab {

/// One prepared array expression.
struct ArrayProgram {
  /// Computes units [begin, end): elements, or rows of what is reduced.
  std::function<void(int64_t begin, int64_t end)> compute;
  int64_t units = 0;
  Tensor y;
  std::string implementation;
};

/// Operators that makeArrays takes.
std::vector<std::string> arrayOperators();
/// Declines with the reason. f32 only.
Outcome<ArrayProgram> makeArrays(const Problem &problem, const ProblemInputs &inputs);

} // namespace lathe::lab
