// The function @main of a model and its ports.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace lathe {

/// Returns @main. Throws Error if the module has none.
mlir::func::FuncOp mainFunction(mlir::ModuleOp module);

/// Names of the arguments and the results of @main for callers: `nn.name`, or "input0", "output0". Names are unique
/// among inputs and among outputs: the second of two results "y" is "y:1".
std::vector<std::string> inputNames(mlir::func::FuncOp main);
std::vector<std::string> outputNames(mlir::func::FuncOp main);

} // namespace lathe
