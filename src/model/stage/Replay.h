// Finds the result types that staged source must state, because the builder does not infer them.
#pragma once

#include "stage/GraphBuilder.h"

#include "llvm/ADT/DenseMap.h"

namespace lathe::staging {

/// Builds the graph of `module` again, with bodies. Returns the result types of each operator for which the builder
/// infers other types than the graph has. Throws Error for a module at kernels level, and for an operator that the
/// builder refuses.
llvm::DenseMap<mlir::Operation *, std::vector<std::string>> typesToState(mlir::ModuleOp module);

/// Extents of the argument number `argument` of `function`, as texts for the builder: "?" for an unknown extent.
std::vector<std::string> extentTexts(mlir::func::FuncOp function, unsigned argument);

/// The symbols in the attribute nn.extents of an operator (ir/SymbolicShapes.h); empty if it has none.
std::vector<std::string> extentsOf(mlir::Operation *op);

} // namespace lathe::staging
