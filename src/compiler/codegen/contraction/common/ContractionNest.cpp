#include "codegen/cost/ContractionNest.h"

#include "codegen/cost/Cost.h"

#include <algorithm>
#include <cmath>

namespace lathe {
namespace {

using enum OperandClass;

double share(int64_t of, int64_t by) { return double(of) / double(std::max<int64_t>(1, by)); }

/// Input positions between the first and the last one that `count` output positions read along an
/// axis.
double reach(const ConvGeometry &conv, int axis, double count) {
  double positions =
      (count - 1) * double(conv.stride[axis]) + double((conv.kernel[axis] - 1) * conv.dilation[axis] + 1);
  return std::min(positions, double(conv.in[axis]));
}

/// Input positions that `rows` output rows of `columns` positions each read.
double positionsRead(const ConvGeometry &conv, double rows, double columns) {
  if (conv.taps() == 1)
    return rows * columns;
  double planes = conv.out[0] > 1 ? std::max(1.0, rows / double(conv.out[1])) : 1;
  return reach(conv, 0, planes) * reach(conv, 1, std::min(rows, double(conv.out[1]))) * reach(conv, 2, columns);
}

/// The loops of a convolution outside the steps of one register block: taps, a row, the rows of a
/// work item.
class PositionLoops {
public:
  /// `px`: positions of a register block; `inRow`: register blocks of a row; `rows`: of a work
  /// item.
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
  /// The ranges of rows, of which threads take some each.
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

double tilesOfRow(const std::vector<TileClass> &classes) {
  double count = 0;
  for (const TileClass &tile : classes)
    count += double(tile.count);
  return std::max(1.0, count);
}

double rowsOfItem(int64_t rows, int64_t all) {
  return share(all, (all + rows - 1) / rows); // a mean: the last range may be smaller
}

LoopNest nestOf(const DirectPlan &plan) {
  const ConvGeometry &conv = plan.conv;
  double unit = double(plan.format.unitBytes()), sum = bitWidth(plan.format.sum) / 8.0;
  double tiles = double(plan.tiles.perGroup());
  double vectors = double(plan.tiles.full * plan.tiles.vectors + plan.tiles.tailVectors) / tiles;
  double inRow = tilesOfRow(plan.classes), px = double(conv.out[2]) / inRow;
  PositionLoops positions(conv, px, inRow, rowsOfItem(plan.rows, plan.allRows()));
  LoopNest nest{{unit, unit, sum, plan.passes() > 1 ? sum : 0}, {}};
  nest.add(LoopKind::vector, LoopAxis::columns, double(plan.lanes), {weights, output, scratch});
  nest.add(LoopKind::unrolled, LoopAxis::columns, vectors, {weights, output, scratch});
  nest.add(LoopKind::unrolled, LoopAxis::rows, px, {input, output, scratch});
  nest.add(LoopKind::unrolled, LoopAxis::reduction, double(plan.unroll), {input, weights});
  nest.add(LoopKind::serial, LoopAxis::reduction, share(plan.kc, plan.unroll), {input, weights});
  positions.addTaps(nest);
  positions.addRow(nest);
  positions.addRows(nest);
  nest.add(LoopKind::serial, LoopAxis::reduction, double(plan.passes()), {input, weights});
  auto channels = [&] { nest.add(LoopKind::parallel, LoopAxis::columns, tiles, {weights, output}); };
  auto groups = [&] { nest.add(LoopKind::parallel, LoopAxis::batch, double(conv.groups), {input, weights, output}); };
  auto images = [&] { nest.add(LoopKind::parallel, LoopAxis::batch, valueOf(conv.images), {input, output}); };
  if (plan.channelsOuter) { // directItems() has the same orders
    positions.addRanges(nest);
    images();
    channels();
    groups();
  } else {
    channels();
    groups();
    positions.addRanges(nest);
    images();
  }
  return nest;
}

LoopNest nestOf(const LanewisePlan &plan) {
  const ConvGeometry &conv = plan.conv;
  double element = bitWidth(conv.type) / 8.0, inRow = tilesOfRow(plan.classes), px = double(conv.out[2]) / inRow;
  double reads = bitWidth(conv.inputType) / 8.0;
  bool gathers = plan.access == Lanes::gathered, together = gathers && conv.groups == 1;
  PositionLoops positions(conv, px, inRow, rowsOfItem(plan.rows, plan.allRows()));
  LoopNest nest{{reads, element, element, 0}, {}};
  double lanes = double(plan.lanes), blocks = double(plan.blocks());
  nest.add(LoopKind::vector, LoopAxis::columns, lanes, {together ? 1 : lanes, lanes, lanes, 1});
  nest.add(LoopKind::unrolled, LoopAxis::rows, px, {input, output});
  positions.addTapsOfRow(nest);
  nest.add(gathers ? LoopKind::serial : LoopKind::unrolled, LoopAxis::reduction, double(conv.inChannels),
           {gathers ? double(conv.inChannels) : 1, double(conv.inChannels), 1, 1});
  positions.addOtherTaps(nest);
  positions.addRow(nest);
  positions.addRows(nest);
  positions.addRanges(nest);
  nest.add(LoopKind::parallel, LoopAxis::columns, blocks, {together ? 1 : blocks, blocks, blocks, 1});
  nest.add(LoopKind::parallel, LoopAxis::batch, valueOf(conv.images), {input, output});
  return nest;
}

LoopNest nestOf(const GemmPlan &plan) {
  const GemmGeometry &gemm = plan.gemm;
  double unit = double(plan.format.unitBytes()), sum = double(plan.partialBytes());
  double m = std::max(1.0, valueOf(gemm.m)), pieces = double(evenPieces(int64_t(m), plan.rows).count);
  double blocks = std::min(double(plan.mc), pieces), tiles = double(plan.tiles());
  // A tile of the right operand is copied, or partial sums wait, or the rows of a work item are
  // converted.
  double kept = plan.packB || plan.format.converts ? unit : plan.passes() > 1 ? sum : 0;
  LoopNest nest{{unit, unit, sum, kept}, {}};
  nest.add(LoopKind::vector, LoopAxis::columns, double(plan.lanes), {weights, output, scratch});
  nest.add(LoopKind::unrolled, LoopAxis::columns, double(plan.columnVectors()) / tiles, {weights, output, scratch});
  nest.add(LoopKind::unrolled, LoopAxis::rows, m / pieces, {input, output});
  nest.add(LoopKind::unrolled, LoopAxis::reduction, double(plan.unroll), {input, weights, scratch});
  double steps = share(plan.allSteps(), plan.passes()) / double(plan.unroll);
  nest.add(LoopKind::serial, LoopAxis::reduction, steps, {input, weights, scratch});
  nest.add(LoopKind::serial, LoopAxis::rows, blocks, {input, output});
  nest.add(LoopKind::serial, LoopAxis::reduction, double(plan.passes()), {input, weights});
  nest.add(LoopKind::parallel, LoopAxis::columns, tiles, {weights, output});
  nest.add(LoopKind::parallel, LoopAxis::rows, pieces / blocks, {input, output});
  nest.add(LoopKind::parallel, LoopAxis::batch, std::max(1.0, valueOf(gemm.batch)), {input, weights, output});
  return nest;
}

LoopNest nestOf(const TilePlan &plan) {
  double rows = double(plan.rows) * double(plan.pitch()), pairs = std::max(1.0, std::ceil(rows / (2 * tileRows)));
  double vectors = share(plan.vectors(), plan.tiles()), taps = double(plan.taps.size());
  double element = plan.format.rounds ? 4 : 1, step = plan.format.bytesPerStep(); // in memory, converted in scratch
  LoopNest nest{{element, step, 4, step}, {}};
  nest.add(LoopKind::vector, LoopAxis::columns, double(tileLanes), {weights, output});
  nest.add(LoopKind::vector, LoopAxis::rows, double(tileRows), {input, output, scratch});
  nest.add(LoopKind::vector, LoopAxis::reduction, double(plan.depth()), {input, weights, scratch});
  nest.add(LoopKind::unrolled, LoopAxis::columns, vectors, {weights, output});
  nest.add(LoopKind::unrolled, LoopAxis::rows, 2, {input, output, scratch});
  nest.add(LoopKind::serial, LoopAxis::reduction, double(plan.blocks()), {input, weights, scratch});
  nest.add(LoopKind::serial, LoopAxis::taps, taps, {1, taps, 1, 1});
  nest.add(LoopKind::serial, LoopAxis::rows, pairs, {input, output, scratch});
  nest.add(LoopKind::parallel, LoopAxis::columns, double(plan.tiles()), {weights, output});
  nest.add(LoopKind::parallel, LoopAxis::rows, std::max(1.0, valueOf(plan.chunks())), {input, output});
  nest.add(LoopKind::parallel, LoopAxis::batch, std::max(1.0, valueOf(plan.images)), {input, output});
  return nest;
}

/// The products.
LoopNest nestOf(const WinogradPlan &plan) {
  double unit = double(plan.format.unitBytes()), outputs = double(plan.m() * plan.m()), points = double(plan.points());
  double shares = double(plan.split), tiles = std::max(1.0, double(plan.channelTiles()) / shares);
  double pointShares = double(plan.pointShares), chunks = double(plan.chunks());
  LoopNest nest{{4, unit, 4, unit}, {}};
  nest.add(LoopKind::vector, LoopAxis::columns, double(plan.lanes), {weights, output});
  nest.add(LoopKind::unrolled, LoopAxis::columns, double(plan.oc), {weights, output});
  nest.add(LoopKind::unrolled, LoopAxis::rows, double(plan.px), {input, output, scratch});
  nest.add(LoopKind::unrolled, LoopAxis::reduction, double(plan.unroll), {input, weights, scratch});
  nest.add(LoopKind::serial, LoopAxis::reduction, share(plan.steps(), plan.unroll), {input, weights, scratch});
  nest.add(LoopKind::serial, LoopAxis::rows, double(plan.blocks), {input, output, scratch});
  // A tile has fewer outputs than points; its inputs overlap the next tile's.
  double own = points / pointShares;
  nest.add(LoopKind::serial, LoopAxis::taps, own, {outputs / pointShares, own, outputs / pointShares, own});
  nest.add(LoopKind::serial, LoopAxis::columns, tiles, {weights, output});
  nest.add(LoopKind::parallel, LoopAxis::columns, shares, {weights, output});
  nest.add(LoopKind::parallel, LoopAxis::taps, pointShares, {input, weights, output});
  nest.add(LoopKind::parallel, LoopAxis::rows, chunks, {input, output});
  nest.add(LoopKind::parallel, LoopAxis::batch, std::max(1.0, valueOf(plan.conv.images)), {input, output});
  return nest;
}

/// The transform of the input.
LoopNest transformNestOf(const WinogradPlan &plan) {
  double points = double(plan.points()), outputs = double(plan.m() * plan.m());
  LoopNest nest{{4, 0, 0, double(plan.format.unitBytes())}, {}};
  nest.add(LoopKind::vector, LoopAxis::columns, double(plan.lanes), {input, scratch});
  nest.add(LoopKind::unrolled, LoopAxis::taps, points, {outputs, 1, 1, points});
  nest.add(LoopKind::serial, LoopAxis::columns, double(plan.inBlocks()), {input, scratch});
  nest.add(LoopKind::serial, LoopAxis::rows, double(plan.chunk()), {input, scratch});
  nest.add(LoopKind::parallel, LoopAxis::columns, double(plan.split), std::initializer_list<OperandClass>{});
  nest.add(LoopKind::parallel, LoopAxis::rows, double(plan.chunks()) * std::max(1.0, valueOf(plan.conv.images)),
           {input});
  return nest;
}

} // namespace

std::vector<LoopNest> nestsOf(const DirectPlan &plan) { return {nestOf(plan)}; }
std::vector<LoopNest> nestsOf(const LanewisePlan &plan) { return {nestOf(plan)}; }
std::vector<LoopNest> nestsOf(const SeparablePlan &plan) { return {nestOf(plan.pointwise), nestOf(plan.depthwise)}; }
std::vector<LoopNest> nestsOf(const GemmPlan &plan) { return {nestOf(plan)}; }
std::vector<LoopNest> nestsOf(const TilePlan &plan) { return {nestOf(plan)}; }
std::vector<LoopNest> nestsOf(const WinogradPlan &plan) { return {nestOf(plan), transformNestOf(plan)}; }

} // namespace lathe
