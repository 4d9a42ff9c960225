// Operators whose axes or sizes are computed at run time, composed of operators with static parameters. What a format
// demands of such a parameter is checked when the extents are bound or by the operators of the composition.
#pragma once

#include "import/Node.h"

namespace lathe::source {

/// The extent of x along an axis as an i64 vector of one element.
mlir::Value extentVector(Node &node, mlir::Value x, int64_t axis);

/// The number of elements of an integer operand that lists axes. Throws Unsupported where it is not known: the rank of
/// the result follows from it.
int64_t axisCount(Node &node, mlir::Value axes);
/// Values for some axes spread over all `rank` ones: an i64 vector. `axes`: an integer vector, negative from the end;
/// one that is no axis is an error of the run. Axes that are not named get `rest`.
mlir::Value spreadOverAxes(Node &node, mlir::Value values, mlir::Value axes, int64_t rank, int64_t rest);

/// x without axes of extent 1.
mlir::Value squeezeAt(Node &node, mlir::Value x, mlir::Value axes);
/// x with further axes of extent 1; `axes` count those of the result.
mlir::Value unsqueezeAt(Node &node, mlir::Value x, mlir::Value axes);

/// Pieces of x along an axis. `sizes` is an i64 vector of `count` elements that are not negative and add up to the
/// extent.
Values piecesOf(Node &node, mlir::Value x, int64_t axis, mlir::Value sizes, int64_t count);
/// `count` pieces of equal size along an axis whose extent is not known. Where it does not divide, the last pieces are
/// smaller (`uneven`), or it is an error of the run.
Values equalPieces(Node &node, mlir::Value x, int64_t axis, int64_t count, bool uneven);

} // namespace lathe::source
