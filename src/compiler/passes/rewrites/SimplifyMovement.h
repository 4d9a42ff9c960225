// Rewriting rules of the pass `simplify` for operators that only move elements.
#pragma once

#include "mlir/IR/Operation.h"

namespace lathe {

/// Applies the first matching rule to `op`, and returns true if one matched. May erase `op` and operators before it,
/// but no later ones.
bool simplifyMovement(mlir::Operation *op);

} // namespace lathe
