// Conversion of real numbers to the elements of a quantised tensor, and back.
#pragma once

#include "runtime/Tensor.h"
#include "support/Quantization.h"

namespace lathe {

/// Quantises the tensor `real` (f32) into `integers` (i8, u8, i16, u16 or i32): round(x / scale) + zero point, limited
/// to the range of the integer type. Halves round away from zero; NaN becomes the zero point. Throws Error if types,
/// extents and number of channels do not fit.
void quantizeInto(const Quantization &how, const Tensor &real, Tensor &integers);
/// Converts the quantised tensor `integers` into `real` (f32): scale * (q - zero point).
void dequantizeInto(const Quantization &how, const Tensor &integers, Tensor &real);

/// Quantise or dequantise a tensor into a new tensor. `real` may have any floating-point type.
Tensor quantized(const Quantization &how, const Tensor &real, ElementType type);
Tensor dequantized(const Quantization &how, const Tensor &integers);

} // namespace lathe
