// The sliding window of a convolution or a pooling operator, in the form that libraries need.
#pragma once

#include "lab/problems/Problem.h"

#include <array>
#include <optional>

namespace lathe::lab {

/// The sliding window of an operator. Each array has a number for each spatial axis, in the order depth, height,
/// width. Axes that the problem lacks come first and have extent 1.
struct Window {
  using Extents = std::array<int64_t, 3>;
  size_t axes = 2; // number of the problem's spatial axes
  int64_t groups = 1;
  Extents in{1, 1, 1}, out{1, 1, 1}, kernel{1, 1, 1}, stride{1, 1, 1};
  Extents dilation{1, 1, 1}; // distances of adjacent taps; 1: dense
  Extents padBefore{0, 0, 0};
  Extents padAfter{0, 0, 0}; // padding at the end of each axis; follows from the extents of the output

  int64_t inPixels() const { return in[0] * in[1] * in[2]; }
  int64_t outPixels() const { return out[0] * out[1] * out[2]; }
  int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
  /// True if every element of the output depends only on the input element at the same position.
  bool pointwise() const;
  /// The numbers in `extents` for the axes that the problem has.
  std::vector<int64_t> own(const Extents &extents) const { return {extents.end() - ptrdiff_t(axes), extents.end()}; }
};

/// Returns the window of conv, conv_integer, max_pool and average_pool; nothing for other operators.
std::optional<Window> windowOf(const Problem &problem);

} // namespace lathe::lab
