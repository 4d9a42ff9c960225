// Emits the transforms of Winograd convolutions (codegen/space/WinogradTransform.h).
#pragma once

#include "codegen/builder/KernelBuilder.h"
#include "codegen/space/WinogradTransform.h"

namespace lathe {

/// Emits the product of the matrix `rows` and the vector `inputs`. Rows or columns that differ only in signs share
/// their sums.
KernelBuilder::Values applyRows(KernelBuilder &k, const CoefficientRows &rows, mlir::ValueRange inputs);

} // namespace lathe
