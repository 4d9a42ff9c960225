// What the source must say beyond operators: types that the builder would not find by itself.
#pragma once

#include "stage/GraphBuilder.h"

#include "llvm/ADT/DenseMap.h"

namespace lathe::staging {

/// Builds the graph anew, with bodies. Returns the result types of each operator for which the builder finds other
/// types. Throws Error for a module at kernels level, and for an operator that the builder refuses.
llvm::DenseMap<mlir::Operation *, std::vector<std::string>> typesToState(mlir::ModuleOp module);

/// Extents of an argument as the builder takes them: "?" where nothing is known of one.
std::vector<std::string> extentTexts(mlir::func::FuncOp function, unsigned argument);

/// nn.extents of an operator (ir/SymbolicShapes.h); empty where there is none.
std::vector<std::string> extentsOf(mlir::Operation *op);

} // namespace lathe::staging
