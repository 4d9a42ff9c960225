// Benchmark problems that Eigen computes with array expressions: element-wise operators, reductions, softmax, layer
// normalisation.
#pragma once

#include "lab/providers/Provider.h"
#include "runtime/ThreadPool.h"

#include <functional>

namespace lathe::lab {

/// A problem prepared as an array expression of Eigen.
struct ArrayProgram {
  /// Computes the units numbered `begin` to `end` - 1. A unit is an element of the result, or a row of a reduction.
  std::function<void(int64_t begin, int64_t end)> compute;
  int64_t units = 0;
  Tensor y;
  std::string implementation;
};

/// Returns the names of the operators that makeArrays supports.
std::vector<std::string> arrayOperators();
/// Prepares an f32 problem as an array expression. Declines all other problems and says why.
Outcome<ArrayProgram> makeArrays(const Problem &problem, const ProblemInputs &inputs);

} // namespace lathe::lab
