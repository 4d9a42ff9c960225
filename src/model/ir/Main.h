// The function @main of a model and its ports.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace lathe {

/// Returns the function @main of a module. Throws Error if the module has none.
mlir::func::FuncOp mainFunction(mlir::ModuleOp module);

/// Names of the arguments (results) of @main for users of the model: `nn.name`, or "input0" ("output0"). Names are
/// unique among inputs and among outputs: the second of two results "y" is "y:1".
std::vector<std::string> inputNames(mlir::func::FuncOp main);
std::vector<std::string> outputNames(mlir::func::FuncOp main);

} // namespace lathe
