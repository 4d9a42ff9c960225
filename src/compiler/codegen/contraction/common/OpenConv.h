// Parts of the code of convolutions whose spatial extents are known only at run time. This code divides rows into
// tiles and chooses the width of the tiles at run time.
#pragma once

#include "codegen/contraction/common/Contraction.h"

namespace lathe {

/// Sets the constant spatial extents of a convolution. Declines spatial extents that are known only at run time.
void setStatic(ConvGeometry &conv, const OpenExtents &extents);
/// Sets the open spatial extents of a convolution: `in` and `out` become the values for `typical`, or for an image of
/// `typicalImage`. Declines convolutions whose code needs the extents as constants.
void setOpen(ConvGeometry &conv, OpenExtents open, const std::map<std::string, int64_t> &typical);
/// Values that cost predictions assume for the symbols in the spatial extents of the kernel's arguments.
std::map<std::string, int64_t> assumedExtents(const KernelProblem &problem);

/// Emit quotient and remainder of values that are not negative; the divisor may be known only at run time.
mlir::Value quotient(KernelBuilder &k, mlir::Value x, mlir::Value y);
mlir::Value remainder(KernelBuilder &k, mlir::Value x, mlir::Value y);
/// Emits the quotient x / y, rounded up.
mlir::Value quotientUp(KernelBuilder &k, mlir::Value x, int64_t y);

/// A possible width of a row's tiles, and the time that a row takes with it. The time is `never` if the row cannot be
/// divided in this way.
struct TileWidth {
  int64_t positions = 1;
  mlir::Value time;
};
/// A time of a row that is longer than any possible time.
constexpr int64_t never = int64_t(1) << 50;

/// Emits one branch for each tile width and calls `body` in it. At run time, the width that takes the least time
/// decides which branch runs. The last width serves rows for which no other width is possible.
void forBestWidth(KernelBuilder &k, llvm::ArrayRef<TileWidth> widths, const std::function<void(int64_t)> &body);

/// Emits the bounds [first, second) of piece number `piece` of the range [0, extent), divided into `pieces` pieces.
/// The sizes of pieces differ by one position at most.
std::pair<mlir::Value, mlir::Value> pieceOf(KernelBuilder &k, mlir::Value extent, mlir::Value piece,
                                            mlir::Value pieces);

/// Emits the position in the input that the first tap of output position `position` reads. Positions count from the
/// beginning of the padding, as padBegin states it.
mlir::Value windowAt(KernelBuilder &k, const ConvGeometry &conv, const RunTimeDims &dims, int axis,
                     mlir::Value position);
/// Emits the range [low, high) of the taps of spatial axis `axis` that are inside of the input for output position
/// `position`. low may exceed high. Extents may be numbers or open.
std::pair<mlir::Value, mlir::Value> tapRange(KernelBuilder &k, const ConvGeometry &conv, const RunTimeDims &dims,
                                             int axis, mlir::Value position);

} // namespace lathe
