// The rules of `simplify` for operators that only move elements.
#pragma once

#include "mlir/IR/Operation.h"

namespace lathe {

/// Applies the first rule that fits; `op` may be erased, and operators before it, never one behind it.
bool simplifyMovement(mlir::Operation *op);

} // namespace lathe
