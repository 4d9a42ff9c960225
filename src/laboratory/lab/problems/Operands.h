// Generates values for the operands of a problem.
#pragma once

#include "lab/problems/Problem.h"
#include "runtime/Tensor.h"

namespace lathe::lab {

/// Generates the operands of a problem, by position in Problem::inputs(), undefined if missing. Equal seeds give equal
/// values on every machine.
std::vector<Tensor> makeOperands(const Problem &problem, uint64_t seed);

} // namespace lathe::lab
