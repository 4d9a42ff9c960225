// Emits code for contractions with operands rounded to bf16 (codegen/space/Bf16Pairs.h).
#pragma once

#include "codegen/builder/KernelBuilder.h"
#include "codegen/space/Bf16Pairs.h"

namespace lathe::bf16 {

/// Rounds `vector` (16 of fp32) to 8 units: the bytes of a vector<16xbf16>.
mlir::Value rounded(KernelBuilder &k, mlir::Value vector);
/// Combines adjacent steps, 16 in `low` and 16 in `high` (null: zeros), to 16 units typed as fp32.
mlir::Value units(KernelBuilder &k, mlir::Value low, mlir::Value high);
/// Stores `vector` (16 of fp32; channels 2i and 2i + 1 become unit i) as the units [offset, offset
/// + 8) of `base`.
void storeNeighbours(KernelBuilder &k, mlir::Value vector, mlir::Value base, mlir::Value offset);
/// Stores 16 units with the lanes of `low` in the lower and those of `high` (null: zeros) in the
/// upper halves.
void storeInterleaved(KernelBuilder &k, mlir::Value low, mlir::Value high, mlir::Value base, mlir::Value offset);

/// Returns sum + the products of the pairs in `a` and `b`, vectors of units typed as fp32.
mlir::Value multiplyAdd(KernelBuilder &k, mlir::Value a, mlir::Value b, mlir::Value sum);

} // namespace lathe::bf16
