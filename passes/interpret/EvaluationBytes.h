// How much memory an evaluation on references takes, before it begins.
#pragma once

#include "passes/interpret/Evaluate.h"

namespace lathe {

/// Bytes of the values that `evaluate` holds at once at most, `inputs` included. What references
/// need beside them is not counted, nor are values whose extents depend on data. Throws Error as
/// the shape functions do.
uint64_t evaluationBytes(mlir::ModuleOp module, std::span<const Value> inputs, const EvaluateOptions &options = {});

} // namespace lathe
