// Outlines a group of operators as a private kernel function.
#pragma once

#include "passes/kernels/Fuse.h"

#include "mlir/IR/BuiltinOps.h"

namespace lathe {

/// A kernel function, with the values of @main that a call passes to it and the values that the call replaces.
struct OutlinedKernel {
  mlir::func::FuncOp function;
  /// Values of @main that the call passes to the function, and values that the call's results replace.
  llvm::SmallVector<mlir::Value> arguments, results;
};

/// Copies a group of operators into a new private function at the end of the module, with the attributes that
/// passes/kernels/Partition.h lists. @main is not changed.
OutlinedKernel outline(mlir::ModuleOp module, const Group &group, const nn::SymbolicShapes &shapes,
                       const std::string &name);

/// Sets the type of a function to the types of its arguments and returned values, after layouts have changed.
void refreshType(mlir::func::FuncOp function);

} // namespace lathe
