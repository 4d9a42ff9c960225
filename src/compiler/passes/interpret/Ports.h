// The inputs and outputs (ports) of a model in the form that packages have.
#pragma once

#include "ir/SymbolicShapes.h"
#include "runtime/Model.h"

#include "mlir/IR/BuiltinOps.h"

#include <vector>

namespace lathe {

/// Returns the inputs of the function @main.
std::vector<runtime::Port> inputPorts(mlir::ModuleOp module);
/// Returns the outputs of the function `main`. `shapes`: shapes of the function's values.
std::vector<runtime::Port> outputPorts(mlir::func::FuncOp main, const nn::SymbolicShapes &shapes);

} // namespace lathe
