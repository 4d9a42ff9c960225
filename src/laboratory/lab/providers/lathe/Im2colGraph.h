// A convolution as im2col (a copy of the input into columns) and a matrix product, made of operators that Lathe
// compiles: pad, slice, concat and matmul.
#pragma once

#include "lab/providers/graph/ProblemGraph.h"

namespace lathe::lab {

/// Builds a conv problem and its epilogue for problemGraph. The copy of the input has the extents images x groups x
/// (taps x channels of a group) x output positions; the matrix product sums over taps first, then channels. A
/// convolution of one tap with stride 1 and no padding needs no copy.
llvm::SmallVector<mlir::Value> buildIm2col(mlir::OpBuilder &builder, const Problem &problem,
                                           llvm::ArrayRef<mlir::Value> operands);

} // namespace lathe::lab
