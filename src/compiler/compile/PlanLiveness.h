// What a block of the plan needs, and who tells its extents.
#pragma once

#include "ir/SymbolicShapes.h"

#include "llvm/ADT/DenseSet.h"

#include <string>
#include <vector>

namespace lathe {

/// True for an operation whose result is its operand's bytes under other extents, or in a layout that orders them alike
/// (the passes leave only such conversions outside kernels).
bool isView(mlir::Operation *op);

/// Operations of `main` that its results depend on. A view only needs what it looks at, because the plan has its extents;
/// but whatever binds the symbols of an extent is needed.
llvm::DenseSet<mlir::Operation *> liveOperations(mlir::func::FuncOp main, const nn::SymbolicShapes &shapes);

/// Symbols of `value`'s extents that are known when it is computed: the names of `nn.extents`.
std::vector<std::string> ownExtents(mlir::Value value, const nn::SymbolicShapes &shapes);

/// One symbol for every element of nn.bind_extents; none if all elements were known before.
std::vector<std::string> boundBy(nn::BindExtentsOp op, const nn::SymbolicShapes &shapes);

} // namespace lathe
