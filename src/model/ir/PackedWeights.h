// Weights of matrix products that are stored as integers of 4 or 8 bits, while everything else computes in float32.
//
// The nn dialect spells them out, as it does all of quantisation (ir/QuantizedForm.h):
//
//   weights = reshape((cast(codes, f32) - zero) * scale, K x N)
//
// codes: constant of type i4, u4, i8 or u8, with extents (blocks, steps, N), where blocks * steps = K; or K x N
// without the reshape, as one block.
// scale: f32, one value for each block and column: (blocks, 1, N), with any extent 1 where the value is the same
// along it.
// zero: has extents like scale; 0 if missing.
//
// FoldConstants.cpp leaves these operators alone, Fuse.cpp makes them part of the kernel of the product, and the
// kernel reads codes (codegen/contraction/gemm/PackedColumns.h). The exporter writes DequantizeLinear for them.
#pragma once

#include "ir/QuantizedForm.h"

namespace lathe::nn {

struct PackedWeights {
  mlir::Value codes, scale, zero;             // zero: null if missing
  int64_t blocks = 1, steps = 0, columns = 0; // steps: reduction steps of a block
  // operators that compute the weights, in order; the last one gives the K x N weights
  llvm::SmallVector<mlir::Operation *> ops;
};

/// Returns the packed weights of `product`, a matmul or gemm of float32 values; nothing for other operators. Codes,
/// scale and zero are constants in a graph; in a kernel they may also be arguments that are always constant. The
/// operators of the weights have no other users.
std::optional<PackedWeights> packedWeightsOf(mlir::Operation *product);

/// Emits the operators that compute packed weights from constants; returns the weights.
mlir::Value buildPackedWeights(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value codes, mlir::Value scale,
                               mlir::Value zero);

} // namespace lathe::nn
