// The function that a model is, and its ports.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace lathe {

/// The function @main; throws Error when the module has none.
mlir::func::FuncOp mainFunction(mlir::ModuleOp module);

/// Names of its arguments and results as callers know them: `nn.name`, or "input0", "output0". Each kind is unique: of
/// two results "y" the second is "y:1".
std::vector<std::string> inputNames(mlir::func::FuncOp main);
std::vector<std::string> outputNames(mlir::func::FuncOp main);

} // namespace lathe
