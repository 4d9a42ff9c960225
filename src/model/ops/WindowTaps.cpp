#include "ops/WindowTaps.h"

#include "ops/WindowPads.h"

#include <algorithm>

namespace lathe {
namespace {

constexpr int64_t mostTaps = 4096; // taps of an axis that are examined one by one

int64_t floorOf(int64_t a, int64_t b) { return a >= 0 ? a / b : -((b - 1 - a) / b); }

struct Axis {
  Dim positions, elements;
  int64_t stride, dilation;
  Dim begin; // padding
  /// Set if `positions` are all windows that fit into `elements` with stated pads at both ends: then no position must
  /// be compared with the number of positions.
  std::optional<int64_t> end;
};

/// Positions p in [0, positions) with 0 <= p * stride - begin + tap * dilation < elements.
Dim positionsOf(const Axis &axis, int64_t tap, int64_t taps) {
  Dim lacks = axis.begin - tap * axis.dilation; // elements missing in front of position 0
  if (axis.positions.isConstant() && axis.elements.isConstant() && lacks.isConstant()) {
    int64_t low = std::max<int64_t>(0, -floorOf(-lacks.constant(), axis.stride));
    int64_t last = floorOf(axis.elements.constant() - 1 + lacks.constant(), axis.stride);
    return std::max<int64_t>(0, std::min(axis.positions.constant() - 1, last) - low + 1);
  }
  if (!axis.end || !lacks.isConstant())
    return maximum(0, minimum(axis.positions - 1, floorDiv(axis.elements - 1 + lacks, axis.stride)) -
                          maximum(0, ceilDiv(lacks, axis.stride)) + 1);
  int64_t low = std::max<int64_t>(0, -floorOf(-lacks.constant(), axis.stride));
  int64_t limit = std::min(lacks.constant(), axis.begin.constant() + *axis.end - (taps - 1) * axis.dilation);
  Dim count = floorDiv(axis.elements - 1 + limit, axis.stride) - low + 1;
  return limit >= axis.stride * (low - 1) ? count : maximum(0, count); // correct for at least one element
}

Dim pairsOf(const Axis &axis, const Dim &taps) {
  if (taps.constantOr(mostTaps + 1) > mostTaps)
    return axis.positions * taps;
  Dim pairs = 0;
  for (int64_t tap = 0; tap < taps.constant(); ++tap)
    pairs = pairs + positionsOf(axis, tap, taps.constant());
  return pairs;
}

/// The product of `axes`. If its formula is too long for a plan, `all` pairs, including pairs in the padding: every tap
/// of an open axis may add a term, and the terms of the axes multiply.
Dim productOf(const Dims &axes, const Dim &all) {
  constexpr size_t longest = 2000;
  try {
    Dim pairs = product(axes);
    return pairs.str().size() <= longest ? pairs : all;
  } catch (const Error &) { // the formula has too many terms
    return all;
  }
}

/// Counts taps of windows over x, whose padding may depend on its extent. `allFit`: y has all windows that fit between
/// the pads.
Dim windowTaps(const TensorInfo &x, const TensorInfo &y, const Dims &kernel, const std::vector<int64_t> &strides,
               const std::vector<int64_t> &dilations, const std::vector<int64_t> &pads, bool allFit) {
  Dims pairs;
  for (size_t i = 0, spatial = kernel.size(); i < spatial; ++i) {
    int64_t window = (kernel[i].constantOr(1) - 1) * dilations[i] + 1;
    Dim shift = windowShift(pads, i, spatial, window, strides[i], x.dims[2 + i]);
    Axis axis{y.dims[2 + i], x.dims[2 + i], strides[i], dilations[i], pads[i] - shift, {}};
    if (allFit)
      axis.end = pads[spatial + i];
    pairs.push_back(pairsOf(axis, kernel[i]));
  }
  return productOf(pairs, product(std::span(y.dims).subspan(2)) * product(kernel));
}

} // namespace

Dim convTaps(const TensorInfo &x, const TensorInfo &y, std::span<const Dim> kernel, const std::vector<int64_t> &strides,
             const std::vector<int64_t> &dilations, const std::vector<int64_t> &pads) {
  return windowTaps(x, y, Dims(kernel.begin(), kernel.end()), strides, dilations, pads, true);
}

Dim poolTaps(const TensorInfo &x, const TensorInfo &y, const std::vector<int64_t> &kernel,
             const std::vector<int64_t> &strides, const std::vector<int64_t> &dilations,
             const std::vector<int64_t> &pads, bool ceilMode) {
  return windowTaps(x, y, toDims(kernel), strides, dilations, pads, !ceilMode);
}

Dim transposedTaps(const TensorInfo &x, const TensorInfo &y, std::span<const Dim> kernel,
                   const std::vector<int64_t> &strides, const std::vector<int64_t> &dilations,
                   const std::vector<int64_t> &pads) {
  Dims pairs;
  for (size_t i = 0; i < kernel.size(); ++i)
    pairs.push_back(pairsOf({x.dims[2 + i], y.dims[2 + i], strides[i], dilations[i], pads[i], {}}, kernel[i]));
  return productOf(pairs, product(std::span(x.dims).subspan(2)) * product(kernel));
}

} // namespace lathe
