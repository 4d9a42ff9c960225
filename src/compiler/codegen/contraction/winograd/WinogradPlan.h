// The plan of a schedule of the convolution algorithm `winograd`.
#pragma once

#include "codegen/contraction/common/ContractionFacts.h"
#include "codegen/contraction/winograd/WinogradTransform.h"

namespace lathe {

struct WinogradPlan {
  ConvGeometry conv;
  WinogradTransform transform;
  int64_t lanes;
  int64_t px;                // parameter `mr`: number of tiles in a register block
  int64_t blocks;            // parameter `mc`: number of register blocks of tiles in a chunk
  int64_t oc, split, unroll; // parameters `oc`, `split` and `unroll`
  bool prefetch;
  /// Format of the products of the transformed operands.
  ContractionFormat format = plainFormat(ElementType::f32);
  /// Parameter `pointsplit`. 1: a work item is one chunk of one image and one of `split` shares of the output channels.
  /// Above 1: each image has two stages of `pointShares` work items. In the first stage, each work item computes the
  /// products of its share of the rows of points; in the second stage, each transforms its share of the results back.
  int64_t pointShares = 1;

  /// True for 8-bit operands. The convolution is then exact; values at points have 16 bits.
  bool integers() const { return format.sum == ElementType::i32; }
  int64_t m() const { return transform.outputs; }
  int64_t alpha() const { return transform.size(); }
  int64_t points() const { return alpha() * alpha(); }
  int64_t tileRows() const { return (conv.out[1] + m() - 1) / m(); }
  int64_t tileColumns() const { return (conv.out[2] + m() - 1) / m(); }
  int64_t tiles() const { return tileRows() * tileColumns(); }
  int64_t chunk() const { return px * blocks; }
  // Numbers of tiles and chunks for open spatial extents, as expressions. The sizes of chunks then differ by at most
  // one tile.
  Dim openTileColumns() const { return ceilDiv(conv.outExtent(2), m()); }
  Dim openTiles() const { return ceilDiv(conv.outExtent(1), m()) * openTileColumns(); }
  Dim openChunks() const { return ceilDiv(openTiles(), chunk()); }
  int64_t chunks() const { return (tiles() + chunk() - 1) / chunk(); }
  int64_t inBlocks() const { return (conv.inChannels + lanes - 1) / lanes; }
  int64_t channelTiles() const { return (conv.outChannels + lanes * oc - 1) / (lanes * oc); }
  int64_t outVectors() const { return channelTiles() * oc; }
  int64_t wide() const { return oc * lanes; }
  bool staged() const { return pointShares > 1; }
  /// The first row of points that belongs to share number `share`; for `pointShares` it is alpha().
  int64_t firstRowOf(int64_t share) const { return alpha() * share / pointShares; }
  /// Number of reduction steps (units) over all input channels; number of those over one block of channels.
  int64_t steps() const { return format.unitsOf(conv.inChannels); }
  int64_t blockSteps() const { return lanes / format.group; }
  // Offsets in scratch, in floats. Scratch has the transformed input [point][channel block][tile][step of the block],
  // then the products [point][tile][vector][lane] (with stages: for each tile of channels). Then, for each share of the
  // points, it has one tile between the two halves of a transform and a row of zeros, which tiles at the padding read.
  static constexpr int64_t apart = 80; // floats of padding behind a plane, so that planes do not share cache sets
  int64_t inputPlane() const { return inBlocks() * chunk() * blockSteps() + apart; }
  int64_t productPlane() const { return chunk() * wide() + apart; }
  int64_t productsAt() const { return points() * inputPlane(); }
  // size of the products of a tile of channels, in floats
  int64_t products() const { return points() * productPlane(); }
  int64_t halfAt() const { return productsAt() + (staged() ? channelTiles() : 1) * products(); }
  int64_t zerosAt() const { return halfAt() + points() * lanes; }
  int64_t temporaries() const { return (points() + alpha()) * lanes; }
  int64_t scratchFloats() const { return halfAt() + pointShares * temporaries(); }
};

/// Returns Winograd's transform for `m` outputs, for points that are multiplied in `format`. Throws Illegal ("m") for
/// other m.
WinogradTransform transformFor(int64_t m, const ContractionFormat &format);
/// Throws Illegal if no schedule of `winograd` can compute the convolution.
void requireWinograd(const KernelFacts &facts, const ConvGeometry &conv);
/// Makes the plan of a schedule of `winograd`. Throws Illegal for an illegal schedule.
WinogradPlan makeWinogradPlan(const KernelFacts &facts, const ConvGeometry &conv, const Schedule &schedule);

/// The prior's schedule of `winograd` for a convolution; nothing if `direct` is predicted to be faster or `winograd`
/// does not apply.
std::optional<Schedule> winogradPrior(const KernelFacts &facts, const ConvGeometry &conv);
/// Returns the schedule of `winograd` in f32 with the lowest predicted cost, even if `direct` is predicted to be
/// faster. `m`: outputs per tile and axis (nothing: any of 2, 4, 6). Throws Illegal if no schedule is legal.
Schedule winogradPriorOf(const KernelFacts &facts, const ConvGeometry &conv, std::optional<int64_t> m);

Prediction predict(const ContractionFacts &facts, const WinogradPlan &plan);
std::vector<LoopNest> nestsOf(const WinogradPlan &plan);
Packing packingOf(const WinogradPlan &plan);
GeneratedKernel generateFrom(const ContractionProblem &problem, const WinogradPlan &plan, const Schedule &schedule);

} // namespace lathe
