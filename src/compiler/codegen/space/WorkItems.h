// Calculates how evenly threads can share the work items of a kernel.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

namespace lathe {

/// An axis along which a kernel's work is divided into pieces. The last piece may be smaller.
struct WorkAxis {
  int64_t pieces = 1;
  double whole = 1, last = 1; // work of a whole piece; work of the last piece

  /// Divides an axis of length `all` into pieces of length `piece`.
  static WorkAxis cut(int64_t all, int64_t piece) {
    int64_t pieces = all > 0 ? (all + piece - 1) / piece : 1;
    return {pieces, double(piece), double(all - (pieces - 1) * piece)};
  }
};

/// Returns the work of all work items before item `end`. Work items are numbered row-major over `axes`, outermost
/// first; the work of an item is the product of the work of its pieces.
double workBefore(std::span<const WorkAxis> axes, int64_t end);

/// Returns the work of the busiest of `threads` threads divided by an equal share. Each thread has as many consecutive
/// work items as the others (runtime/plan: slot s of n begins at item s * items / n).
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
