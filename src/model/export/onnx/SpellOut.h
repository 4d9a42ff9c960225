// Operators that ONNX lacks, as operators that it has.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace lathe::onnx {

/// Returns a copy of `module` in which the operators of quantised networks are spelled out, bit for bit, with integers of
/// 64 bits: requantize, lookup, count_leading_zeros, fixed_reciprocal, and convolutions of bytes or 16-bit integers less
/// their zero points, which become conv_integer. lp_normalize with an epsilon, and celu of other types than f32, become operators of floats. Returns
/// null if the module has none of all these.
mlir::OwningOpRef<mlir::ModuleOp> spelledOut(mlir::ModuleOp module);

} // namespace lathe::onnx
