// Predicts how much memory the interpreter (Evaluate.h) needs for a module.
#pragma once

#include "passes/interpret/Evaluate.h"

namespace lathe {

/// Returns the largest number of bytes that the values of an evaluation with `inputs` (function `evaluate`) take at
/// once. Temporary buffers of the reference functions and values whose extents depend on data are not counted. Throws
/// Error if the shapes cannot be computed.
uint64_t evaluationBytes(mlir::ModuleOp module, std::span<const Value> inputs, const EvaluateOptions &options = {});

} // namespace lathe
