#include "ops/WindowTaps.h"

#include <algorithm>

namespace lathe {
namespace {

constexpr int64_t mostTaps = 4096; // of an axis that are looked at one by one

int64_t floorOf(int64_t a, int64_t b) { return a >= 0 ? a / b : -((b - 1 - a) / b); }

struct Axis {
  Dim positions, elements;
  int64_t stride, dilation, pad;
  /// Known where `positions` are all that fit into `elements` with pads at both ends: then no position is compared with the
  /// number of positions.
  std::optional<int64_t> padEnd;
};

/// Positions p in [0, positions) with 0 <= p * stride - pad + tap * dilation < elements.
Dim positionsOf(const Axis &axis, int64_t tap, int64_t taps) {
  int64_t first = axis.pad - tap * axis.dilation; // of the input, which position 0 lacks
  int64_t low = std::max<int64_t>(0, -floorOf(-first, axis.stride));
  if (axis.positions.isConstant() && axis.elements.isConstant()) {
    int64_t last = floorOf(axis.elements.constant() - 1 + first, axis.stride);
    return std::max<int64_t>(0, std::min(axis.positions.constant() - 1, last) - low + 1);
  }
  if (!axis.padEnd)
    return maximum(0, minimum(axis.positions - 1, floorDiv(axis.elements - 1 + first, axis.stride)) - low + 1);
  int64_t limit = std::min(first, axis.pad + *axis.padEnd - (taps - 1) * axis.dilation);
  Dim count = floorDiv(axis.elements - 1 + limit, axis.stride) - low + 1;
  return limit >= axis.stride * (low - 1) ? count : maximum(0, count); // of one element and more
}

Dim pairsOf(const Axis &axis, const Dim &taps) {
  if (taps.constantOr(mostTaps + 1) > mostTaps)
    return axis.positions * taps;
  Dim pairs = 0;
  for (int64_t tap = 0; tap < taps.constant(); ++tap)
    pairs = pairs + positionsOf(axis, tap, taps.constant());
  return pairs;
}

} // namespace

Dim convTaps(const TensorInfo &x, const TensorInfo &y, std::span<const Dim> kernel, std::span<const int64_t> strides,
             std::span<const int64_t> dilations, std::span<const int64_t> pads) {
  Dim pairs = 1;
  for (size_t i = 0; i < kernel.size(); ++i)
    pairs = pairs * pairsOf({y.dims[2 + i], x.dims[2 + i], strides[i], dilations[i], pads[i], pads[kernel.size() + i]},
                            kernel[i]);
  return pairs;
}

Dim poolTaps(const TensorInfo &x, const TensorInfo &y, std::span<const int64_t> kernel,
             std::span<const int64_t> strides, std::span<const int64_t> dilations, std::span<const int64_t> pads,
             bool ceilMode) {
  Dim pairs = 1;
  for (size_t i = 0; i < kernel.size(); ++i) {
    Axis axis{y.dims[2 + i], x.dims[2 + i], strides[i], dilations[i], pads[i], {}};
    if (!ceilMode)
      axis.padEnd = pads[kernel.size() + i];
    pairs = pairs * pairsOf(axis, kernel[i]);
  }
  return pairs;
}

Dim transposedTaps(const TensorInfo &x, const TensorInfo &y, std::span<const Dim> kernel,
                   std::span<const int64_t> strides, std::span<const int64_t> dilations,
                   std::span<const int64_t> pads) {
  Dim pairs = 1;
  for (size_t i = 0; i < kernel.size(); ++i)
    pairs = pairs * pairsOf({x.dims[2 + i], y.dims[2 + i], strides[i], dilations[i], pads[i], {}}, kernel[i]);
  return pairs;
}

} // namespace lathe
