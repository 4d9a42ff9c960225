// Reading recurrent kernels and the functions of their gates; codegen/families/Recurrent.cpp emits the code.
#pragma once

#include "codegen/Generate.h"
#include "codegen/builder/KernelBuilder.h"
#include "codegen/space/RecurrentPlan.h"

namespace lathe {

/// Throws Declined for what no schedule computes.
std::unique_ptr<KernelFacts> readRecurrent(const KernelProblem &problem);

/// The function's value at `x` (scalar or vector). Declines one without a scalar expression.
mlir::Value emitActivation(KernelBuilder &k, ElementType type, const CellActivation &function, mlir::Value x);

} // namespace lathe
