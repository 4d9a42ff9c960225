// What the predicted costs and the loop nests of contraction algorithms share.
#pragma once

#include "codegen/contraction/common/ContractionFacts.h"
#include "codegen/cost/Cost.h"
#include "codegen/cost/LoopNest.h"

#include <algorithm>
#include <cmath>

namespace lathe {

/// Share of the waiting time for operands that multiplications do not hide.
inline constexpr double exposedOfProducts = 0.3;

/// Cycles that `vectors` vectors of results take in addition to their stores if the result is row-major.
inline double storeCycles(const ConvGeometry &conv, int64_t lanes, double vectors) {
  // Lanes are channels: row-major they are turned and stored to a row each, measured at a cycle an element.
  double perTile = double(conv.outChannels == 1 ? conv.groups : conv.outChannels); // lanes of groups of one channel
  double elements = perTile / std::ceil(perTile / double(lanes));
  return conv.outBlock ? 0 : vectors * (elements - 1);
}

inline double share(int64_t of, int64_t by) { return double(of) / double(std::max<int64_t>(1, by)); }

/// Number of input positions from the first to the last one that `count` adjacent output positions read along an axis.
inline double reach(const ConvGeometry &conv, int axis, double count) {
  double positions =
      (count - 1) * double(conv.stride[axis]) + double((conv.kernel[axis] - 1) * conv.dilation[axis] + 1);
  return std::min(positions, double(conv.in[axis]));
}

/// Number of input positions that `rows` output rows of `columns` positions each read.
inline double positionsRead(const ConvGeometry &conv, double rows, double columns) {
  if (conv.taps() == 1)
    return rows * columns;
  double planes = conv.out[0] > 1 ? std::max(1.0, rows / double(conv.out[1])) : 1;
  return reach(conv, 0, planes) * reach(conv, 1, std::min(rows, double(conv.out[1]))) * reach(conv, 2, columns);
}

/// Adds the loops of a convolution outside the reduction steps of one register block to a loop nest: taps, a row, the
/// rows of a work item.
class PositionLoops {
public:
  /// `px`: positions of a register block; `inRow`: register blocks of a row; `rows`: rows of a work item.
  PositionLoops(const ConvGeometry &conv, double px, double inRow, double rows)
      : conv(conv), px(px), inRow(inRow), rows(rows) {}

  void addTaps(LoopNest &nest) const {
    double taps = double(conv.taps());
    nest.add(LoopKind::serial, LoopAxis::taps, taps, {positionsRead(conv, 1, px) / px, taps, 1, 1});
  }
  void addTapsOfRow(LoopNest &nest) const {
    double taps = double(conv.kernel[2]);
    nest.add(LoopKind::unrolled, LoopAxis::taps, taps, {reach(conv, 2, px) / px, taps, 1, 1});
  }
  void addOtherTaps(LoopNest &nest) const {
    double taps = double(conv.kernel[0] * conv.kernel[1]);
    nest.add(LoopKind::serial, LoopAxis::taps, taps, {reach(conv, 0, 1) * reach(conv, 1, 1), taps, 1, 1});
  }
  void addRow(LoopNest &nest) const {
    double grown = ratio(1, width(), 1, px);
    nest.add(LoopKind::serial, LoopAxis::rows, inRow, {grown, 1, inRow, inRow});
  }
  void addRows(LoopNest &nest) const {
    nest.add(LoopKind::serial, LoopAxis::rows, rows, {ratio(rows, width(), 1, width()), 1, rows, rows});
  }
  /// Adds the loop over ranges of rows, which threads share.
  void addRanges(LoopNest &nest) const {
    double all = double(conv.out[0] * conv.out[1]), ranges = all / rows;
    nest.add(LoopKind::parallel, LoopAxis::rows, ranges, {ratio(all, width(), rows, width()), 1, ranges, 1});
  }

private:
  const ConvGeometry &conv;
  double px, inRow, rows;

  double width() const { return double(conv.out[2]); }
  double ratio(double rows, double columns, double ofRows, double ofColumns) const {
    return positionsRead(conv, rows, columns) / positionsRead(conv, ofRows, ofColumns);
  }
};

inline double tilesOfRow(const std::vector<TileClass> &classes) {
  double count = 0;
  for (const TileClass &tile : classes)
    count += double(tile.count);
  return std::max(1.0, count);
}

inline double rowsOfItem(int64_t rows, int64_t all) {
  return share(all, (all + rows - 1) / rows); // a mean: the last range may be smaller
}

} // namespace lathe
