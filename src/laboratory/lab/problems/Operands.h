// Generates values for the operands of a problem.
#pragma once

#include "lab/problems/Problem.h"
#include "runtime/Tensor.h"

namespace lathe::lab {

/// Operands by position in Problem::inputs(), undefined if missing. Equal on every machine for
/// equal seeds.
std::vector<Tensor> makeOperands(const Problem &problem, uint64_t seed);

} // namespace lathe::lab
