// Replaces operators that ONNX lacks by operators that it has.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace lathe::onnx {

/// Returns a copy of `module` in which the operators of quantised networks are spelled out, bit for bit, with integers
/// of 64 bits: requantize, lookup, count_leading_zeros, fixed_reciprocal, and convolutions of bytes or 16-bit integers
/// less their zero points, which become conv_integer. lp_normalize with an epsilon, and celu of types other than f32,
/// become float operators. Returns null if the module has no such operator.
mlir::OwningOpRef<mlir::ModuleOp> spelledOut(mlir::ModuleOp module);

} // namespace lathe::onnx
