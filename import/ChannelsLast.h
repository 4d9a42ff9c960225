// Channels-last formats: their axes, and the padding that keeps extents ("SAME").
#pragma once

#include "import/Node.h"

namespace lathe::source {

mlir::Value transpose(Node &node, mlir::Value x, std::vector<int64_t> perm);
/// N x spatial... x C to N x C x spatial..., and back.
mlir::Value channelsFirst(Node &node, mlir::Value x);
mlir::Value channelsLast(Node &node, mlir::Value x);

/// Window of a convolution or a pool along the spatial axes, height first.
struct Window {
  std::vector<int64_t> kernel, strides, dilations;
  std::vector<int64_t> pads; // all begins, then all ends
  Fields fields() const { return {{"strides", strides}, {"dilations", dilations}, {"pads", pads}}; }
};
/// Throws Error unless kernel, strides and dilations are positive.
void checkWindow(const Window &window);
/// Sets the pads so that there are ceil(extent / stride) positions; of an odd padding the end has one more. `extents` are
/// the spatial ones; those that are not known are Unsupported where the stride is not 1.
void padSame(Node &node, const Dims &extents, Window &window);

} // namespace lathe::source
