// Emits the quantisation of floats to bytes with few x86 instructions.
#pragma once

#include "codegen/builder/KernelBuilder.h"

namespace lathe {

/// Returns the value of `op` if it ends a quantisation, or dequantises the result of a quantisation:
///
///   cast(clip(round(x) [+ zero]))                 to i8 or u8
///   cast(cast(clip(round(x) [+ zero])))           back to f32
///   cast(cast(clip(round(x) [+ zero]))) - number
///
/// with constant integers as limits, zero and number. Limits x and converts it to i32 at once, which rounds halves to
/// even; all other steps are i32 arithmetic. The bits, NaN included, equal the bits that separate f32 operators give.
/// Returns null for another form, for scalars and for targets without the conversion. `evaluate` gives the value of an
/// operand.
mlir::Value quantizedCast(KernelBuilder &k, mlir::Operation *op, llvm::function_ref<mlir::Value(mlir::Value)> evaluate);

} // namespace lathe
