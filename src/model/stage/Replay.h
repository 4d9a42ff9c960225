// Finds types that the source must state, because the builder does not infer them.
#pragma once

#include "stage/GraphBuilder.h"

#include "llvm/ADT/DenseMap.h"

namespace lathe::staging {

/// Builds the graph again, with bodies. Returns the result types of each operator for which the builder infers other
/// types. Throws Error for a module at kernels level, and for an operator that the builder refuses.
llvm::DenseMap<mlir::Operation *, std::vector<std::string>> typesToState(mlir::ModuleOp module);

/// Extents of argument `argument` of `function` as the builder takes them: "?" for an unknown extent.
std::vector<std::string> extentTexts(mlir::func::FuncOp function, unsigned argument);

/// The attribute nn.extents of an operator (ir/SymbolicShapes.h); empty if there is none.
std::vector<std::string> extentsOf(mlir::Operation *op);

} // namespace lathe::staging
