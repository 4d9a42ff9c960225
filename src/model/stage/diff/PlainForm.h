// Rewrites that make two graphs of one network more alike than the compiler needs them.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace lathe {

/// Brings operators with several spellings into one:
/// - a transpose behind a pad stands before it, so that passes see the pad beside its convolution;
/// - a product of a matrix and a constant one is a gemm, whose constant has the extents K x N.
void plainForm(mlir::func::FuncOp main);

} // namespace lathe
