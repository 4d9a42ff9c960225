// Imports operators whose axes or sizes are computed at run time: composes them of operators with static parameters.
// Conditions of a format on these parameters are checked when the extents are bound, or by the composed operators.
#pragma once

#include "import/Node.h"

namespace lathe::source {

/// Emits the extent of x along `axis`, as an i64 vector of one element.
mlir::Value extentVector(Node &node, mlir::Value x, int64_t axis);

/// Returns the number of elements of the integer operand `axes`, which lists axes. Throws Unsupported if the number is
/// unknown, because it determines the rank of the result.
int64_t axisCount(Node &node, mlir::Value axes);
/// Emits an i64 vector of `rank` elements: `values` at the positions `axes`, `rest` at all others. `axes` is an
/// integer vector; negative axes count from the end. An invalid axis is an error of the run.
mlir::Value spreadOverAxes(Node &node, mlir::Value values, mlir::Value axes, int64_t rank, int64_t rest);

/// Emits x without the axes that `axes` lists, which have extent 1.
mlir::Value squeezeAt(Node &node, mlir::Value x, mlir::Value axes);
/// Emits x with additional axes of extent 1. `axes` lists their positions among the axes of the result.
mlir::Value unsqueezeAt(Node &node, mlir::Value x, mlir::Value axes);

/// Emits pieces of x along `axis`. `sizes` is an i64 vector of `count` elements that are not negative and add up to
/// the extent.
Values piecesOf(Node &node, mlir::Value x, int64_t axis, mlir::Value sizes, int64_t count);
/// Emits `count` pieces of equal size of x along an axis of unknown extent. If `count` does not divide the extent, the
/// last pieces are smaller (`uneven`), or it is an error of the run.
Values equalPieces(Node &node, mlir::Value x, int64_t axis, int64_t count, bool uneven);

} // namespace lathe::source
