// Outlines groups of operators into kernel functions.
#pragma once

#include "passes/Pipeline.h"

namespace lathe {

/// Every group of operators that has a kernel becomes a private function and a call in @main:
///   nn.family    the anchor's family, "elementwise" without one
/// and on its arguments
///   nn.dims      symbolic extents, where the type has `?`
///   nn.constant  the caller always passes an nn.constant
/// Constants with a single element, or all elements equal, move into the function. What `declines` rejects is tried
/// operator by operator, then in row-major layout, and stays in @main for the reference with attribute nn.reason. Views
/// (reshape), conversions that move no byte, operators whose results have no elements and operators without a kernel
/// stay in @main.
void partition(mlir::ModuleOp module, const PipelineOptions &options, PipelineReport &report);

} // namespace lathe
