// Operators whose axes or sizes are computed at run time, composed of operators with static parameters. Conditions of a
// format on these parameters are checked when the extents are bound, or by the composed operators.
#pragma once

#include "import/Node.h"

namespace lathe::source {

/// The extent of x along an axis as an i64 vector of one element.
mlir::Value extentVector(Node &node, mlir::Value x, int64_t axis);

/// The number of elements of an integer operand that lists axes. Throws Unsupported if the number is unknown, because
/// it determines the rank of the result.
int64_t axisCount(Node &node, mlir::Value axes);
/// Spreads values for some axes over all `rank` axes: an i64 vector. `axes` is an integer vector, negative from the
/// end; an invalid axis is an error of the run. Axes that are not named get `rest`.
mlir::Value spreadOverAxes(Node &node, mlir::Value values, mlir::Value axes, int64_t rank, int64_t rest);

/// x without axes of extent 1.
mlir::Value squeezeAt(Node &node, mlir::Value x, mlir::Value axes);
/// x with further axes of extent 1; `axes` are axes of the result.
mlir::Value unsqueezeAt(Node &node, mlir::Value x, mlir::Value axes);

/// Pieces of x along an axis. `sizes` is an i64 vector of `count` elements that are not negative and add up to the
/// extent.
Values piecesOf(Node &node, mlir::Value x, int64_t axis, mlir::Value sizes, int64_t count);
/// Splits an axis of unknown extent into `count` pieces of equal size. If `count` does not divide the extent, the last
/// pieces are smaller (`uneven`), or it is an error of the run.
Values equalPieces(Node &node, mlir::Value x, int64_t axis, int64_t count, bool uneven);

} // namespace lathe::source
