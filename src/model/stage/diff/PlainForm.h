// Rewrites two graphs of one network so that they become more alike, before they are compared.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace lathe {

/// Rewrites patterns of a graph that can be written in several ways to one of these ways: a transpose after a pad
/// moves before it, so that passes see the pad beside its convolution; a product of a matrix and a constant matrix
/// becomes a gemm whose constant has the extents K x N.
void plainForm(mlir::func::FuncOp main);

} // namespace lathe
