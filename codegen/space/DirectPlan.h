// What a schedule of `direct` means for a convolution; `separable` computes its second convolution with it.
#pragma once

#include "codegen/space/Bf16Pairs.h"
#include "codegen/space/ContractionFacts.h"
#include "codegen/space/RegisterBlock.h"

namespace lathe {

/// One tile of output channels: `count` of them with `vectors` vectors each.
struct ChannelTiles {
  int64_t full = 0; // tiles of `vectors` vectors a group
  int64_t vectors = 1;
  int64_t tailVectors = 0; // vectors of the last tile, when it is smaller
  int64_t perGroup() const { return full + (tailVectors ? 1 : 0); }
};

struct DirectPlan {
  ConvGeometry conv; // with rows merged or split as `width` says
  int64_t lanes, px, unroll, rows, kc, units;
  ChannelTiles tiles;
  bool channelsOuter, prefetch, bf16;
  bool held;        // the input of a range of rows lies in scratch: rounded, or computed there
  int64_t steps;    // of the reduction over all input channels of a group: channels, or their pairs
  int64_t rowWidth; // output positions of a row that lie side by side in the input
  std::vector<TileClass> classes;
  ReductionAxis axis; // of one pass over kc channels

  int64_t allRows() const { return conv.out[0] * conv.out[1]; }
  int64_t chunks() const { return (allRows() + rows - 1) / rows; }
  int64_t passes() const { return steps / kc; }
  int64_t tileStride(int64_t vectors) const { return conv.taps() * steps * vectors * lanes; }
  /// Input rows between those of neighbouring (merged) output rows.
  int64_t rowStep() const { return conv.stride[1] * (conv.out[2] / rowWidth); }
  /// Input rows, of all planes, that are held for a range of output rows, and their positions. Volumes are held whole.
  bool holdsAll() const { return conv.in[0] > 1 || conv.out[0] > 1; }
  int64_t heldRows() const {
    int64_t all = conv.in[0] * conv.in[1];
    int64_t last = conv.stride[1] * (conv.out[2] / rowWidth - 1); // of a merged row, from its first
    return holdsAll() ? all
                      : std::min(all, (rows - 1) * rowStep() + last + (conv.kernel[1] - 1) * conv.dilation[1] + 1);
  }
  int64_t heldPixels() const { return heldRows() * conv.in[2]; }
  /// What they hold, in units of pairs or elements.
  int64_t heldUnits() const {
    if (conv.inBlock)
      return (conv.groups * conv.inChannels + conv.inBlock - 1) / conv.inBlock * heldBlockUnits();
    return conv.groups * steps * heldPixels();
  }
  int64_t heldBlockUnits() const { return pixelStride() * heldPixels(); }
  /// Units or elements between neighbouring input positions, and between the input channels of two groups, where the
  /// kernel reads.
  int64_t pixelStride() const { return bf16 && conv.inBlock ? conv.inBlock / bf16::pair : conv.inPixelStride(); }
  int64_t groupInput() const { return held ? steps * heldPixels() : conv.inChannels * conv.inChannelStride(); }
  /// Input positions from the first of a row to the one that column `q` of one tap reads; merged rows go on in later
  /// input rows.
  int64_t inAt(int64_t q) const { return q / rowWidth * conv.stride[1] * conv.in[2] + q % rowWidth * conv.stride[2]; }
  int64_t groupStride() const { return tileStride(tiles.full * tiles.vectors + tiles.tailVectors); }
};

/// Throws Illegal. `computed`: the input, blocked, is computed by the same kernel, range of rows by range.
DirectPlan makeDirectPlan(const ContractionFacts &facts, const ConvGeometry &geometry, const Schedule &schedule,
                          bool computed = false);

} // namespace lathe
