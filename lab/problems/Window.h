// The sliding window of a convolution or a pooling: what libraries want to be told about it.
#pragma once

#include "lab/problems/Problem.h"

#include <array>
#include <optional>

namespace lathe::lab {

/// By spatial axis: depth, height, width. Those that a problem has not are of extent 1 and come first.
struct Window {
  using Extents = std::array<int64_t, 3>;
  size_t axes = 2; // that the problem has
  int64_t groups = 1;
  Extents in{1, 1, 1}, out{1, 1, 1}, kernel{1, 1, 1}, stride{1, 1, 1};
  Extents dilation{1, 1, 1}; // 1: dense
  Extents padBefore{0, 0, 0};
  Extents padAfter{0, 0, 0}; // what the outputs' extents need, whatever the problem says

  int64_t inPixels() const { return in[0] * in[1] * in[2]; }
  int64_t outPixels() const { return out[0] * out[1] * out[2]; }
  int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
  /// No output is made of more or other than the input at its own position.
  bool pointwise() const;
  /// The values of the problem's own axes.
  std::vector<int64_t> own(const Extents &extents) const { return {extents.end() - ptrdiff_t(axes), extents.end()}; }
};

/// Of conv, conv_integer, max_pool and average_pool; none of other operators.
std::optional<Window> windowOf(const Problem &problem);

} // namespace lathe::lab
