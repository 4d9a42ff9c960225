// Rules of the pass `simplify` for operators that only move elements.
#pragma once

#include "mlir/IR/Operation.h"

namespace lathe {

/// Applies to `op` the first rule that matches, and returns whether one did. May erase `op` and operators before it,
/// but no later ones.
bool simplifyMovement(mlir::Operation *op);

} // namespace lathe
