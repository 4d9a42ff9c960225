// Functions of ScalarBuilder with fewer instructions and a larger error, which -O4 permits
// (KernelBuilder::relaxedMath). They replace functions of Math.cpp for f32; types of 16 bits, which
// are computed in f32, use them, too. f64 does not.
//
// Largest error, as codegen/builder/RelaxedMathTest.cpp measures it on AVX-512, AVX2 and without
// approximate instructions:
//
//   exp, expNegative      2^-13 relative
//   reciprocal            2^-13 relative
//   reciprocalSqrt        2^-13 relative
//   sigmoid               2^-12 relative
//   tanh                  2^-12 relative
//   erfBrief              2^-12 absolute; from 2.9 on the result differs from 1 by at most 2^-20
//
// NaN and infinities behave as they do in Math.cpp. Results below 2^-125 may be zero. A reciprocal
// of a magnitude above 2^126, which is denormal, is zero.
#pragma once

#include "codegen/builder/KernelBuilder.h"

namespace lathe::relaxed {

/// True if `kernel` allows relaxed functions and `x` is a scalar or vector of f32.
bool applies(KernelBuilder &kernel, mlir::Value x);

// Each of these functions emits code for the function that it names, applied to `x`, a scalar or vector of f32.
mlir::Value exp(KernelBuilder &kernel, mlir::Value x);
/// e^x for x <= 0, with the relaxed error.
mlir::Value expNegative(KernelBuilder &kernel, mlir::Value x);
mlir::Value sigmoid(KernelBuilder &kernel, mlir::Value x);
mlir::Value tanh(KernelBuilder &kernel, mlir::Value x);
mlir::Value erfBrief(KernelBuilder &kernel, mlir::Value x);
/// 1 / x with the relaxed error. For scalars, and on targets without an approximate instruction, an exact division.
mlir::Value reciprocal(KernelBuilder &kernel, mlir::Value x);
/// 1 / sqrt(x) with the relaxed error.
mlir::Value reciprocalSqrt(KernelBuilder &kernel, mlir::Value x);

} // namespace lathe::relaxed
