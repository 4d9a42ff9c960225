// Outlines a group of operators as a private kernel function.
#pragma once

#include "passes/kernels/Fuse.h"

#include "mlir/IR/BuiltinOps.h"

namespace lathe {

/// A kernel function, with the values of @main that a call passes to it and the values that the call replaces.
struct OutlinedKernel {
  mlir::func::FuncOp function;
  /// Values of @main that the call passes, and that its results replace.
  llvm::SmallVector<mlir::Value> arguments, results;
};

/// Copies the group into a new private function at the end of the module, with the attributes that
/// passes/kernels/Partition.h lists. @main is not changed.
OutlinedKernel outline(mlir::ModuleOp module, const Group &group, const nn::SymbolicShapes &shapes,
                       const std::string &name);

/// Makes the type of the function equal to the types of its arguments and returned values, after layouts changed.
void refreshType(mlir::func::FuncOp function);

} // namespace lathe
