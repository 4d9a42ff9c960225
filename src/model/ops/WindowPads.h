// Padding of windows that slide over spatial axes: `pads` of nn.conv, nn.conv_integer and the pools.
//
// `pads` has the padding at the beginning of each spatial axis, then the padding at the end of each. With a third
// group, the padding of an axis depends on its extent, as for SAME with strided windows and an open extent. Both
// paddings are then the greatest paddings for any extent, together the window's extent less 1. A window then starts
// `windowShift` positions after the position that the padding at the beginning states. The number of windows is
// ceil(extent / stride) in both cases, so code that uses the paddings as bounds may ignore the third group.
#pragma once

#include "ops/Attrs.h"
#include "support/Dim.h"

namespace lathe {

/// How a padding that depends on the extent is divided between beginning and end. Numbers are stored in packages.
enum SamePadding : int64_t {
  statedPads = 0,
  sameUpper = 1,  // an odd padding is larger at the end: SAME_UPPER, and TensorFlow's SAME
  sameLower = -1, // an odd padding is larger at the beginning
};

/// True if `pads` have the third group: the padding of some axis depends on its extent.
bool hasFollowingPads(const std::vector<int64_t> &pads, size_t spatial);
/// The number of positions by which windows of spatial axis `axis` start after the position that the padding at the
/// beginning states, for an input extent of `in`; at least 0. `window` is the extent of the dilated kernel.
Dim windowShift(const std::vector<int64_t> &pads, size_t axis, size_t spatial, int64_t window, int64_t stride,
                const Dim &in);
/// The greatest value that windowShift can return for any extent of the axis.
int64_t mostShift(const std::vector<int64_t> &pads, size_t axis, size_t spatial, int64_t window, int64_t stride);

/// Computes the pads for SAME padding of windows over axes with the extents `in`. `windows`: extents of the dilated
/// kernel. `rule`: sameUpper or sameLower. Adds the third group (see the top of this file) if a padding depends on an
/// open extent.
std::vector<int64_t> samePads(const Dims &in, const std::vector<int64_t> &windows, const std::vector<int64_t> &strides,
                              SamePadding rule);
/// Replaces paddings that depend on extents by numbers, for axes whose extents are static now. `attrs` belong to any
/// operator on `x` and, for convolutions, the weights `w`. Returns true if something changed.
bool settlePads(Attrs &attrs, const Dims &x, const Dims &w);

/// Throws Error named `constraint` unless `pads` has two groups, or three groups of the form that `samePads` makes.
void checkPads(const char *constraint, const std::vector<int64_t> &pads, size_t spatial);
void checkFollowingPads(const char *constraint, const std::vector<int64_t> &pads, size_t axis, size_t spatial,
                        const Dim &window);

} // namespace lathe
