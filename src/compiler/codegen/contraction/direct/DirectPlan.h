// The plan of a schedule of the algorithm `direct`; `separable` computes its second convolution with such a plan.
#pragma once

#include "codegen/contraction/common/ContractionFacts.h"
#include "codegen/space/AddedOperands.h"
#include "codegen/space/RegisterBlock.h"
#include "codegen/space/WorkItems.h"

#include <array>
#include <vector>

namespace lathe {

/// The division of a group's output channels into tiles: `full` tiles of `vectors` vectors each, then at most one
/// smaller tile of `tailVectors` vectors.
struct ChannelTiles {
  int64_t full = 0;
  int64_t vectors = 1;
  int64_t tailVectors = 0; // number of vectors in the smaller tile; 0: there is no smaller tile
  int64_t perGroup() const { return full + (tailVectors ? 1 : 0); }
};

/// The axes over which the work items of `direct` are numbered, outermost first. `tiles`: tiles of the output channels
/// of a group; `rows`: rows of an image.
inline std::array<WorkAxis, 4> directItems(int64_t images, int64_t groups, const WorkAxis &tiles, const WorkAxis &rows,
                                           bool channelsOuter) {
  if (channelsOuter)
    return {WorkAxis{groups}, tiles, WorkAxis{images}, rows};
  return {WorkAxis{images}, rows, WorkAxis{groups}, tiles};
}

struct DirectPlan {
  ConvGeometry conv; // the convolution, with rows merged or split as parameter `width` says
  int64_t lanes, px, unroll, rows, kc, units;
  ChannelTiles tiles;
  ContractionFormat format;
  bool channelsOuter, prefetch;
  bool held;        // true: scratch has a range of input rows, which are converted, copied or computed there
  int64_t steps;    // number of reduction steps over all input channels of a group, in units
  int64_t rowWidth; // number of output positions of a row that read adjacent input positions
  std::vector<TileClass> classes;
  ReductionAxis axis; // the reduction axis of one pass over kc steps

  int64_t allRows() const { return conv.out[0] * conv.out[1]; }
  int64_t chunks() const { return (allRows() + rows - 1) / rows; }
  /// The axes over which the plan's work items for `images` images are numbered.
  std::array<WorkAxis, 4> workItems(int64_t images) const {
    WorkAxis channels{tiles.perGroup(), double(tiles.vectors),
                      double(tiles.tailVectors ? tiles.tailVectors : tiles.vectors)};
    return directItems(images, conv.groups, channels, WorkAxis::cut(allRows(), rows), channelsOuter);
  }
  int64_t passes() const { return steps / kc; }
  int64_t tileStride(int64_t vectors) const { return conv.taps() * steps * vectors * lanes; }
  /// Distance, in input rows, between the inputs of two adjacent (merged) output rows.
  int64_t rowStep() const { return conv.stride[1] * (conv.out[2] / rowWidth); }
  /// heldRows: number of input rows (over all planes) that are in scratch for a range of output rows; heldPixels:
  /// number of their positions. Volumes are in scratch as a whole (holdsAll).
  bool holdsAll() const { return conv.in[0] > 1 || conv.out[0] > 1; }
  int64_t heldRows() const {
    int64_t all = conv.in[0] * conv.in[1];
    /// Last input row of a merged row, counted from its first.
    int64_t last = conv.stride[1] * (conv.out[2] / rowWidth - 1);
    return holdsAll() ? all
                      : std::min(all, (rows - 1) * rowStep() + last + (conv.kernel[1] - 1) * conv.dilation[1] + 1);
  }
  int64_t heldPixels() const { return heldRows() * conv.in[2]; }
  /// Size of the input rows in scratch, in units.
  int64_t heldUnits() const {
    if (conv.inBlock)
      return (conv.groups * conv.inChannels + conv.inBlock - 1) / conv.inBlock * heldBlockUnits();
    return conv.groups * steps * heldPixels();
  }
  int64_t heldBlockUnits() const { return (conv.inBlock ? blockUnits() : 1) * heldPixels(); }
  /// Number of weight sums that follow the packed weights: one per tap and output channel if the format corrects sums,
  /// else 0.
  int64_t weightSums() const { return format.correctsSums() ? conv.groups * groupStride() / steps : 0; }
  /// True if scratch has a number for each position of the input, which is added to the sums of all taps that read the
  /// position. It is minus the sum of the position's elements times the zero point of the weights, and minus the
  /// position's own part of the products of added operands.
  bool sumsPositions() const { return conv.weightsZero || addsOperands(format); }
  /// Offsets in scratch in units of 4 bytes: of the sums of the weights times the correction of the input, and of the
  /// numbers of the positions. They follow the converted rows and one vector, because rows are stored in whole vectors.
  int64_t correctionsAt() const { return held ? heldUnits() + lanes : 0; }
  int64_t positionSumsAt() const { return correctionsAt() + weightSums(); }
  /// Size of the converted rows and their sums in scratch, in units of 4 bytes. Sums are computed and stored for a
  /// whole vector of positions, even at the end of the last block.
  int64_t convertedUnits() const {
    return positionSumsAt() + (sumsPositions() ? heldPixels() + lanes * (1 + pixelStride()) : 0);
  }
  /// Number of units that the channels of one block take at a position of the input.
  int64_t blockUnits() const { return conv.inBlock / format.group; }
  /// pixelStride: distance in units between adjacent input positions; groupInput: distance in units between the input
  /// channels of two groups.
  int64_t pixelStride() const {
    return !conv.inBlock ? 1 : conv.inLast && !held ? conv.inLast / format.group : blockUnits();
  }
  int64_t groupInput() const {
    return held ? steps * heldPixels() : conv.inChannels * conv.inChannelStride() / format.group;
  }
  /// Distance in units between two images of an input that is read in place.
  int64_t imageInput() const { return conv.inImageStride() / format.group; }
  /// Distance, in input positions, from the input of a row's first position to the position that output column `q`
  /// reads for the same tap. Merged rows continue in later input rows.
  int64_t inAt(int64_t q) const { return q / rowWidth * conv.stride[1] * conv.in[2] + q % rowWidth * conv.stride[2]; }
  int64_t groupStride() const { return tileStride(tiles.full * tiles.vectors + tiles.tailVectors); }
};

/// Widths that tiles of a row can have, the widest first. The code for open extents chooses one of them at run time
/// for the columns of a row.
std::vector<int64_t> openTileWidths(int64_t px);

/// Makes the plan of a schedule of `direct`. Throws Illegal for an illegal schedule. `computed`: the same kernel
/// computes the blocked input, one range of rows after the other.
DirectPlan makeDirectPlan(const ContractionFacts &facts, const ConvGeometry &geometry, const Schedule &schedule,
                          bool computed = false);

/// A first convolution that computes the input of a second one row by row in the same kernel, and its cycles per row.
struct RowsBefore {
  const ConvGeometry &conv;
  double cycles;
};
/// The prior's choice for `direct`: the schedule, the predicted cycles of one image on one thread without cache
/// misses, and the work of the busiest slot divided by an equal share, both including `before`.
struct DirectChoice {
  Schedule schedule;
  double cycles, waste;
};
DirectChoice chooseDirect(const KernelFacts &facts, const ConvGeometry &conv, const RowsBefore *before = nullptr);
/// Predicted cycles of one image, without cache misses, for the schedule that chooseDirect chooses if rows are neither
/// merged nor split.
double directCycles(const KernelFacts &facts, const ConvGeometry &conv);

/// Adds to a cost the parts of a plan of `direct`: what it computes, and what it reads again. Operands that are read
/// only once are left out, the weights are not. Returns the axes of the work items.
std::array<WorkAxis, 4> addDirect(Cost &cost, const DirectPlan &plan, double operators);

Prediction predict(const ContractionFacts &facts, const DirectPlan &plan);
std::vector<LoopNest> nestsOf(const DirectPlan &plan);
Packing packingOf(const DirectPlan &plan);
GeneratedKernel generateFrom(const ContractionProblem &problem, const DirectPlan &plan, const Schedule &schedule);

} // namespace lathe
