// Predicts the memory of an evaluation with reference implementations.
#pragma once

#include "passes/interpret/Evaluate.h"

namespace lathe {

/// Returns the peak size in bytes of the values that `evaluate` holds at once, with `inputs`.
/// Temporary buffers of the reference implementations and values whose extents depend on data are
/// not counted. Throws Error as the shape functions do.
uint64_t evaluationBytes(mlir::ModuleOp module, std::span<const Value> inputs, const EvaluateOptions &options = {});

} // namespace lathe
