// Numbers of products of convolutions and of elements that pooling reads: taps that fall into padding are none.
#pragma once

#include "ops/Shape.h"

#include <span>

namespace lathe {

/// Pairs of a result position and a tap that read an element of x, over all spatial axes. `kernel` has the taps of each
/// axis, the other lists are fields of the operator's attributes: pads has all begins, then all ends.
Dim convTaps(const TensorInfo &x, const TensorInfo &y, std::span<const Dim> kernel, std::span<const int64_t> strides,
             std::span<const int64_t> dilations, std::span<const int64_t> pads);

/// Likewise of pooling, where `ceilMode` adds windows that read less.
Dim poolTaps(const TensorInfo &x, const TensorInfo &y, std::span<const int64_t> kernel,
             std::span<const int64_t> strides, std::span<const int64_t> dilations, std::span<const int64_t> pads,
             bool ceilMode);

/// Pairs of a position of x and a tap whose product is added to an element of y, for transposed convolutions.
Dim transposedTaps(const TensorInfo &x, const TensorInfo &y, std::span<const Dim> kernel,
                   std::span<const int64_t> strides, std::span<const int64_t> dilations, std::span<const int64_t> pads);

} // namespace lathe
