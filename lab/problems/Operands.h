// Values for a problem's operands.
#pragma once

#include "lab/problems/Problem.h"
#include "runtime/Tensor.h"

namespace lathe::lab {

/// By position in Problem::inputs(), undefined where one is missing. The same for a seed on every machine.
std::vector<Tensor> makeOperands(const Problem &problem, uint64_t seed);

} // namespace lathe::lab
