// Generates values for the operands of a problem.
#pragma once

#include "lab/problems/Problem.h"
#include "runtime/Tensor.h"

namespace lathe::lab {

/// Generates random operands of a problem, by position in Problem::inputs(); missing operands are undefined. Equal
/// seeds give equal values on every machine.
std::vector<Tensor> makeOperands(const Problem &problem, uint64_t seed);

} // namespace lathe::lab
