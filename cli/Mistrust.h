// Why outputs say nothing: where in the model they lose what the inputs held.
#pragma once

#include "runtime/Tensor.h"

#include "mlir/IR/BuiltinOps.h"

#include <span>
#include <string>

namespace lathe::cli {

/// For an output that is constant, all zero or nowhere finite when the references compute it from `inputs`: the node
/// from which on it is so, and what the model's weights have to do with it. "all zero from node 'relu5' (relu) on; all
/// 23 weights hold one value each, ..."
std::string traceMistrust(mlir::ModuleOp module, std::span<const Value> inputs, size_t output, int threads);

} // namespace lathe::cli
