// How evenly threads can share the work items of a kernel.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

namespace lathe {

/// An axis along which a kernel's work is divided into pieces; the last piece may be smaller.
struct WorkAxis {
  int64_t pieces = 1;
  double whole = 1, last = 1; // work of a piece, of the last piece

  /// Divides `all` into pieces of `piece`.
  static WorkAxis cut(int64_t all, int64_t piece) {
    int64_t pieces = all > 0 ? (all + piece - 1) / piece : 1;
    return {pieces, double(piece), double(all - (pieces - 1) * piece)};
  }
};

/// Work items are numbered row-major over `axes`, outermost first, and are as large as the product of their pieces.
/// Returns the work of the items before item `end`.
double workBefore(std::span<const WorkAxis> axes, int64_t end);

/// Work of the busiest of `threads` slots over an equal share, where each slot has as many consecutive work items as
/// the others (runtime/plan: slot s of n begins at item s * items / n).
double busiestShare(std::span<const WorkAxis> axes, int64_t threads);

/// Division of an extent into `count` pieces: `large` pieces of `small` + 1, then pieces of
/// `small`. Pieces are not listed, because there may be billions.
struct EvenPieces {
  int64_t count, small, large;

  int64_t size(int64_t piece) const { return small + (piece < large); }
  int64_t start(int64_t piece) const { return piece * small + std::min(piece, large); }
};
/// Divides `extent` into the smallest number of pieces of at most `most`.
EvenPieces evenPieces(int64_t extent, int64_t most);

} // namespace lathe
