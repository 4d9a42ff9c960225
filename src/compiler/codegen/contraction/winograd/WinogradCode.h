// Emits Winograd's transforms (codegen/contraction/winograd/WinogradTransform.h).
#pragma once

#include "codegen/builder/KernelBuilder.h"
#include "codegen/contraction/winograd/WinogradTransform.h"

namespace lathe {

/// Emits the product of the matrix `rows` and the vector `inputs`. Rows or columns that differ only in signs share
/// their sums.
KernelBuilder::Values applyRows(KernelBuilder &k, const CoefficientRows &rows, mlir::ValueRange inputs);

} // namespace lathe
