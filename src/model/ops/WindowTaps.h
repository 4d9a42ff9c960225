// Counts the products of convolutions and the elements that pooling reads; taps in the padding do not count.
#pragma once

#include "ops/Shape.h"

#include <span>
#include <vector>

namespace lathe {

// In the functions below, lists are fields of the operators' attributes; pads may depend on the extent
// (ops/WindowPads.h). `kernel` has the number of taps along each axis.

/// Counts, for a convolution from x to y, the pairs of a position of y and a tap that reads an element of x, not
/// padding. A position has an index for each spatial axis.
Dim convTaps(const TensorInfo &x, const TensorInfo &y, std::span<const Dim> kernel, const std::vector<int64_t> &strides,
             const std::vector<int64_t> &dilations, const std::vector<int64_t> &pads);

/// Counts, like convTaps, the elements of x that a pooling operator reads. `ceilMode` adds windows at the end that lie
/// partly outside.
Dim poolTaps(const TensorInfo &x, const TensorInfo &y, const std::vector<int64_t> &kernel,
             const std::vector<int64_t> &strides, const std::vector<int64_t> &dilations,
             const std::vector<int64_t> &pads, bool ceilMode);

/// Counts, for a transposed convolution from x to y, the pairs of a position of x and a tap whose product is added to
/// an element of y.
Dim transposedTaps(const TensorInfo &x, const TensorInfo &y, std::span<const Dim> kernel,
                   const std::vector<int64_t> &strides, const std::vector<int64_t> &dilations,
                   const std::vector<int64_t> &pads);

} // namespace lathe
