// Computes scales and zero points from ranges of values, and integers from weights.
#pragma once

#include "ir/QuantizedForm.h"
#include "quantize/Observer.h"

namespace lathe::quantize {

/// Returns scale and zero point of an activation whose values have this range. Zero is represented exactly.
/// `symmetric`: the zero point is the middle of the integer type, and both limits have one magnitude.
nn::QuantizedScale activationScale(Range range, ElementType type, bool symmetric);

struct QuantizedWeights {
  nn::QuantizedScale scale;
  std::vector<int8_t> values; // one integer for each weight
};

/// Quantises weights to int8 symmetrically, with one scale per position along `axis`, or one scale in total (`axis`
/// empty). The weight of largest magnitude becomes `most` or -`most`: 127, or 63 if sums of products must fit 16 bits
/// (`--reduce-range`). `least` (may be empty) has the smallest allowed scale of each position.
QuantizedWeights quantizeWeights(const std::vector<float> &weights, const std::vector<int64_t> &dims,
                                 std::optional<int64_t> axis, int most = 127, const std::vector<double> &least = {});

/// Returns the smallest scales of a layer's weights with which its bias fits 31 bits, if the unit of the bias is
/// `inputScale` times the scale of the weights: one scale per channel, or one in total.
std::vector<double> leastScales(const std::vector<double> &bias, double inputScale, bool perChannel);

/// Returns the real numbers that quantised weights represent.
std::vector<float> dequantized(const QuantizedWeights &weights, const std::vector<int64_t> &dims);

/// Quantises a bias to int32, saturated. The units are `scales`, one per channel.
std::vector<int32_t> quantizeBias(const std::vector<double> &bias, const std::vector<double> &scales);

/// Computes the position along `axis` of each element of a row-major tensor: element / inner % extent.
struct AxisIndex {
  int64_t inner = 1, extent = 1;
  AxisIndex(const std::vector<int64_t> &dims, std::optional<int64_t> axis);
  size_t of(size_t element) const { return static_cast<size_t>(static_cast<int64_t>(element) / inner % extent); }
};

} // namespace lathe::quantize
