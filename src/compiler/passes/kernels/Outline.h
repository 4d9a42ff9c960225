// Outlines a group of operators as a private kernel function.
#pragma once

#include "passes/kernels/Fuse.h"

#include "mlir/IR/BuiltinOps.h"

namespace lathe {

/// A kernel function with the values of @main that its call passes and replaces.
struct OutlinedKernel {
  mlir::func::FuncOp function;
  llvm::SmallVector<mlir::Value> arguments, results; // in @main
};

/// Copies the group into a new private function at the end of the module. @main is not changed.
/// Attributes as in passes/kernels/Partition.h.
OutlinedKernel outline(mlir::ModuleOp module, const Group &group, const nn::SymbolicShapes &shapes,
                       const std::string &name);

/// Updates the type of the function from its arguments and returned values, after layouts changed.
void refreshType(mlir::func::FuncOp function);

} // namespace lathe
