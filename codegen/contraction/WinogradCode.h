// The code that applies Winograd's transforms (codegen/space/WinogradTransform.h).
#pragma once

#include "codegen/builder/KernelBuilder.h"
#include "codegen/space/WinogradTransform.h"

namespace lathe {

/// The linear forms `rows` of `inputs`. Rows, or columns, that differ in signs only share their sums.
KernelBuilder::Values applyRows(KernelBuilder &k, const CoefficientRows &rows, mlir::ValueRange inputs);

} // namespace lathe
