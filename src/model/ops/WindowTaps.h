// Numbers of products of convolutions and of elements that pooling reads: taps that fall into padding are none.
#pragma once

#include "ops/Shape.h"

#include <span>
#include <vector>

namespace lathe {

// The lists are fields of the operators' attributes; pads may follow the extent (ops/WindowPads.h). `kernel`: taps of
// each axis.

/// Pairs of a position of y and a tap that reads an element of x, over all spatial axes.
Dim convTaps(const TensorInfo &x, const TensorInfo &y, std::span<const Dim> kernel, const std::vector<int64_t> &strides,
             const std::vector<int64_t> &dilations, const std::vector<int64_t> &pads);

/// Likewise of pooling, where `ceilMode` adds windows that read less.
Dim poolTaps(const TensorInfo &x, const TensorInfo &y, const std::vector<int64_t> &kernel,
             const std::vector<int64_t> &strides, const std::vector<int64_t> &dilations,
             const std::vector<int64_t> &pads, bool ceilMode);

/// Pairs of a position of x and a tap whose product is added to an element of y, for transposed convolutions.
Dim transposedTaps(const TensorInfo &x, const TensorInfo &y, std::span<const Dim> kernel,
                   const std::vector<int64_t> &strides, const std::vector<int64_t> &dilations,
                   const std::vector<int64_t> &pads);

} // namespace lathe
