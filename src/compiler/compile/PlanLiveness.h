// The operations that a block of the plan needs, and the operations that bind its extents.
#pragma once

#include "ir/SymbolicShapes.h"

#include "llvm/ADT/DenseSet.h"

#include <string>
#include <vector>

namespace lathe {

/// True for an operation whose result has the bytes of its operand, with other extents or in a layout with the same
/// order (the passes leave only such conversions outside kernels).
bool isView(mlir::Operation *op);

/// Operations of `main` that its results depend on. Of a view's operands only the viewed one is needed, because the
/// plan has the view's extents. An operation that binds the symbol of an extent is needed, too.
llvm::DenseSet<mlir::Operation *> liveOperations(mlir::func::FuncOp main, const nn::SymbolicShapes &shapes);

/// Symbols of `value`'s extents that are known when it is computed: the names of `nn.extents`.
std::vector<std::string> ownExtents(mlir::Value value, const nn::SymbolicShapes &shapes);

/// One symbol for every element of nn.bind_extents; empty if all elements were known before.
std::vector<std::string> boundBy(nn::BindExtentsOp op, const nn::SymbolicShapes &shapes);

} // namespace lathe
