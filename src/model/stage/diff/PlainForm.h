// Rewrites that make two graphs of one network more alike than the compiler requires.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace lathe {

/// Changes patterns that can be written in several ways to one of them: - a transpose behind a pad moves before it, so
/// that passes see the pad beside its convolution; - a product of a matrix and a constant matrix becomes a gemm whose
/// constant has the extents K x N.
void plainForm(mlir::func::FuncOp main);

} // namespace lathe
