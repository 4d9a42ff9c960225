// Fixed-point functions with the roundings of gemmlowp, which TensorFlow Lite's reference kernels call, and the
// integer form of their scale factors. They fill tables while a model is imported.
//
// In this file, a number with b integer bits is an i32 with 31 - b fractional bits, or an i16 with 15 - b fractional
// bits.
#pragma once

#include <cstdint>

namespace lathe::tflite {

/// A real factor as integers: value * 2^(shift - 31), with value in [2^30, 2^31) or 0. Computed like
/// QuantizeMultiplier of TensorFlow Lite. Factors of 2^30 and more, also infinity, become the greatest factor; NaN
/// becomes 0.
struct Multiplier {
  int32_t value = 0;
  int shift = 0;
};
Multiplier multiplierOf(double factor);

/// The integer x times a factor, rounded twice, like MultiplyByQuantizedMultiplier of TensorFlow Lite. The shift may
/// be positive.
int32_t scaled(int32_t x, Multiplier factor);

/// (a * b + 2^30) >> 31: the rounded high half of twice the product of two fixed-point numbers. Saturates if both are
/// -2^31.
int32_t highProduct(int32_t a, int32_t b);
int16_t highProduct(int16_t a, int16_t b);
/// 1 / sqrt(x) for an integer x >= 1, by five Newton iterations, like GetInvSqrtQuantizedMultiplierExp of TensorFlow
/// Lite; 0 counts as 1.
Multiplier inverseRoot(int32_t x);
/// x / 2^exponent for an integer x, rounded; halves round away from zero.
int32_t divideByPowerOfTwo(int32_t x, int exponent);
/// x * 2^exponent for an integer x, saturated to i32.
int32_t saturatedShift(int32_t x, int exponent);

/// e^x for a fixed-point x <= 0 with `integerBits` integer bits, at most 5; the result has no integer bits.
int32_t expOfNegative(int32_t x, int integerBits);
/// 1 / (1 + x) and (1 - x) / (1 + x) for a fixed-point x in [0, 1]; x and the result have no integer bits.
int32_t reciprocalOfOnePlus(int32_t x);
int32_t oneMinusOverOnePlus(int32_t x);
/// The logistic function and the hyperbolic tangent of a fixed-point x with `integerBits` integer bits, at most 4; the
/// result has no integer bits.
int32_t logistic(int32_t x, int integerBits);
int32_t hyperbolicTangent(int32_t x, int integerBits);
/// The logistic function and the hyperbolic tangent of a 16-bit fixed-point x with at most 6 integer bits.
int16_t logistic(int16_t x, int integerBits);
int16_t hyperbolicTangent(int16_t x, int integerBits);

/// The greatest integer |x| for which x * factor is a fixed-point number with `integerBits` integer bits, like
/// CalculateInputRadius of TensorFlow Lite. `shift`: of the factor.
int32_t inputRadius(int integerBits, int shift);

} // namespace lathe::tflite
