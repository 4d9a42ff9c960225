// Padding of windows that slide over spatial axes: `pads` of nn.conv, nn.conv_integer and the pools.
//
// `pads` has the padding at the beginning of each spatial axis, then the padding at the end of each. A third group
// makes the padding of an axis follow its extent, as SAME does where windows are strided and the extent is open. Both
// paddings are then the greatest ones that any extent takes, together the window's extent less 1. A window lies
// `windowShift` positions behind the place that the padding at the beginning states. The number of windows is
// ceil(extent / stride) either way, so code that takes the paddings for bounds may ignore the third group.
#pragma once

#include "ops/Attrs.h"
#include "support/Dim.h"

namespace lathe {

/// The rule by which a padding that follows the extent is split. Numbers are stored in packages.
enum SamePadding : int64_t {
  statedPads = 0,
  sameUpper = 1,  // the end has one more of an odd padding: SAME_UPPER, and TensorFlow's SAME
  sameLower = -1, // the beginning has one more
};

/// True if the padding of an axis follows its extent.
bool hasFollowingPads(const std::vector<int64_t> &pads, size_t spatial);
/// By how many positions the windows of spatial axis `axis` lie behind the place that its padding at the beginning
/// states, for an input extent of `in`; at least 0. `window`: the dilated kernel's extent.
Dim windowShift(const std::vector<int64_t> &pads, size_t axis, size_t spatial, int64_t window, int64_t stride,
                const Dim &in);
/// The most that windowShift returns for any extent.
int64_t mostShift(const std::vector<int64_t> &pads, size_t axis, size_t spatial, int64_t window, int64_t stride);

/// SAME padding of windows over axes with the extents `in`. `windows`: extents of the dilated kernel. `rule`: sameUpper or
/// sameLower. A third group is added where it matters.
std::vector<int64_t> samePads(const Dims &in, const std::vector<int64_t> &windows, const std::vector<int64_t> &strides,
                              SamePadding rule);
/// States the padding of the axes whose extents are static by now. `attrs` belong to any operator on `x` and, for
/// convolutions, the weights `w`. Returns true if something changed.
bool settlePads(Attrs &attrs, const Dims &x, const Dims &w);

/// Throws Error named `constraint` unless `pads` has two or three groups, and a third one states what `samePads` does.
void checkPads(const char *constraint, const std::vector<int64_t> &pads, size_t spatial);
void checkFollowingPads(const char *constraint, const std::vector<int64_t> &pads, size_t axis, size_t spatial,
                        const Dim &window);

} // namespace lathe
