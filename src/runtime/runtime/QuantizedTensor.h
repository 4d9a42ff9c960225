// Real numbers as elements of a quantised tensor, and back.
#pragma once

#include "runtime/Tensor.h"
#include "support/Quantization.h"

namespace lathe {

/// Writes round(x / scale) + zero point of `real` (f32) to `integers`, limited to its type (i8, u8, i16, u16 or i32). Halves
/// round away from zero; NaN becomes the zero point. Throws Error if types, extents and channels do not fit.
void quantizeInto(const Quantization &how, const Tensor &real, Tensor &integers);
/// Writes scale * (q - zero point) of `integers` to `real` (f32).
void dequantizeInto(const Quantization &how, const Tensor &integers, Tensor &real);

/// The same in new tensors. `real` may have any floating-point type.
Tensor quantized(const Quantization &how, const Tensor &real, ElementType type);
Tensor dequantized(const Quantization &how, const Tensor &integers);

} // namespace lathe
