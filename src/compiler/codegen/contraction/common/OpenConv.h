// Shared by the code of convolutions with open spatial extents: rows are divided into tiles of a width that the run
// chooses.
#pragma once

#include "codegen/contraction/common/Contraction.h"

namespace lathe {

/// Makes a geometry static. Declines spatial extents that only a run knows.
void setStatic(ConvGeometry &conv, const OpenExtents &extents);
/// Makes a geometry with open spatial extents: `in` and `out` become the values of `typical`, or of an image as
/// classifiers take it. Declines convolutions whose code needs the extents as constants.
void setOpen(ConvGeometry &conv, OpenExtents open, const std::map<std::string, int64_t> &typical);
/// Values of the symbols in the spatial extents of the kernel's arguments.
std::map<std::string, int64_t> assumedExtents(const KernelProblem &problem);

/// Quotient and remainder of values that are not negative; a divisor may be a number of the run.
mlir::Value quotient(KernelBuilder &k, mlir::Value x, mlir::Value y);
mlir::Value remainder(KernelBuilder &k, mlir::Value x, mlir::Value y);
/// x / y, rounded up.
mlir::Value quotientUp(KernelBuilder &k, mlir::Value x, int64_t y);

/// A possible width of a row's tiles, and the time of a row with this width; `never` if the row cannot be divided so.
struct TileWidth {
  int64_t positions = 1;
  mlir::Value time;
};
/// A time beyond any other.
constexpr int64_t never = int64_t(1) << 50;

/// Calls `body` for each width, in the branch that is taken at run time if this width takes the least time. The last
/// width serves rows for which no other is possible.
void forBestWidth(KernelBuilder &k, llvm::ArrayRef<TileWidth> widths, const std::function<void(int64_t)> &body);

/// Piece number `piece` of `pieces` of [0, extent): [first, second). Pieces differ by one position at most.
std::pair<mlir::Value, mlir::Value> pieceOf(KernelBuilder &k, mlir::Value extent, mlir::Value piece,
                                            mlir::Value pieces);

/// Position in the padded input, counted from the begin that padBegin states, of the first tap of output position
/// `position`.
mlir::Value windowAt(KernelBuilder &k, const ConvGeometry &conv, const RunTimeDims &dims, int axis,
                     mlir::Value position);
/// Taps [low, high) of spatial axis `axis` that are inside of the input for output position `position`. low may exceed
/// high. Extents may be numbers or open.
std::pair<mlir::Value, mlir::Value> tapRange(KernelBuilder &k, const ConvGeometry &conv, const RunTimeDims &dims,
                                             int axis, mlir::Value position);

} // namespace lathe
