// Reads the facts of recurrent kernels and emits their activation functions; codegen/families/Recurrent.cpp emits the
// rest of the code.
#pragma once

#include "codegen/Generate.h"
#include "codegen/builder/KernelBuilder.h"
#include "codegen/space/RecurrentPlan.h"

namespace lathe {

/// Reads the facts of a recurrent kernel from its function. Throws Declined if no schedule can compute it.
std::unique_ptr<KernelFacts> readRecurrent(const KernelProblem &problem);

/// Packs constant recurrent weights in the order of RecurrentPlan::packedOffset.
std::vector<char> packedWeights(const RecurrentPlan &plan, const nn::ConstantData &data);

/// Emits code that packs the recurrent weights of direction `d` at run time; `to` creates the address to which it
/// writes.
void emitPacking(KernelBuilder &k, const RecurrentPlan &plan, mlir::Value d, const std::function<mlir::Value()> &to);

/// Emits activation function `function` of `x` (scalar or vector). Throws Declined for a function without scalar code.
mlir::Value emitActivation(KernelBuilder &k, ElementType type, const CellActivation &function, mlir::Value x);

} // namespace lathe
