// Explains mistrusted outputs: finds the first node whose output no longer depends on the inputs.
#pragma once

#include "runtime/Tensor.h"

#include "mlir/IR/BuiltinOps.h"

#include <span>
#include <string>

namespace lathe::verify {

/// Explains why output number `output` is constant, all zero or nowhere finite. Runs the reference operators in
/// float64 on `inputs` and follows the output back to the first node with such a result: "first all zero in node
/// 'relu5' (relu)". Adds the number of weights of the model whose elements are all equal.
std::string traceMistrust(mlir::ModuleOp module, std::span<const Value> inputs, size_t output, int threads);

} // namespace lathe::verify
