// Outlines groups of operators into kernel functions.
#pragma once

#include "passes/Pipeline.h"

namespace lathe {

/// Outlines every group of operators with a kernel as a private function with a call in @main. The function has the
/// attribute
///   nn.family    family of the anchor; "elementwise" without an anchor
/// and its arguments have the attributes
///   nn.dims      open extents as texts, if the type has `?`
///   nn.constant  the caller always passes an nn.constant
/// Constants whose elements are all equal move into the function. A group that `declines` rejects is tried operator by
/// operator, then in row-major layout; what is still rejected stays in @main for the reference, with the attribute
/// nn.reason. Views (reshape), conversions that move nothing, operators whose results have no elements and operators
/// without a kernel stay in @main, too.
void partition(mlir::ModuleOp module, const PipelineOptions &options, PipelineReport &report);

} // namespace lathe
