// A convolution as im2col and a matrix product, from operators that Lathe compiles: pad, slice, concat
// and matmul.
#pragma once

#include "lab/providers/graph/ProblemGraph.h"

namespace lathe::lab {

/// Builds a conv problem and its epilogue for problemGraph. The columns have the extents images x
/// groups x (taps x channels of a group) x output positions; the reduction walks taps first, then
/// channels. A convolution of one tap, stride 1 and no padding needs no copy.
llvm::SmallVector<mlir::Value> buildIm2col(mlir::OpBuilder &builder, const Problem &problem,
                                           llvm::ArrayRef<mlir::Value> operands);

} // namespace lathe::lab
