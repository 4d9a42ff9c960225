// The operations that a block of the plan needs, and the operations that bind its extents.
#pragma once

#include "ir/SymbolicShapes.h"

#include "llvm/ADT/DenseSet.h"

#include <string>
#include <vector>

namespace lathe {

/// True for an operation whose result has the same bytes as its operand, with other extents or in a layout that gives
/// the same order (the passes leave only such conversions outside kernels).
bool isView(mlir::Operation *op);

/// Returns the operations of `main` on which its results depend, and the operations that bind symbols in extents. A
/// view needs only the operand that it views, because the plan knows the view's extents.
llvm::DenseSet<mlir::Operation *> liveOperations(mlir::func::FuncOp main, const nn::SymbolicShapes &shapes);

/// Symbols in the extents of `value` that become known only when the value is computed: the names in its attribute
/// nn.extents.
std::vector<std::string> ownExtents(mlir::Value value, const nn::SymbolicShapes &shapes);

/// Returns one symbol for every element of an operation nn.bind_extents, which gives symbols their values; empty if
/// all elements were known before.
std::vector<std::string> boundBy(nn::BindExtentsOp op, const nn::SymbolicShapes &shapes);

} // namespace lathe
