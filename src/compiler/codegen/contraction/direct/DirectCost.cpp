// The cost of `direct` as a function of its plan; `separable` adds its first convolution (LanewiseCost.cpp).
#include "codegen/contraction/common/ContractionCost.h"
#include "codegen/contraction/direct/DirectPlan.h"

namespace lathe {
namespace {

class DirectCost {
public:
  DirectCost(Cost &cost, const DirectPlan &plan, double operators)
      : cost(cost), plan(plan), conv(plan.conv), operators(operators), images(valueOf(conv.images)),
        unit(double(plan.format.unitBytes())) {
    for (const TileClass &tile : plan.classes)
      inRow += double(tile.count);
  }

  auto add() {
    addProducts();
    addWeights();
    addInput();
    return plan.workItems(int64_t(images));
  }

private:
  Cost &cost;
  const DirectPlan &plan;
  const ConvGeometry &conv;
  double operators, images, unit, inRow = 0; // tiles of a row

  double panel(double vectors) const { return double(conv.taps() * plan.kc) * vectors * double(plan.lanes) * unit; }
  double allWeights() const {
    return double(conv.groups * plan.tileStride(plan.tiles.full * plan.tiles.vectors + plan.tiles.tailVectors)) * unit;
  }
  double groupInput() const { return double(conv.inChannels * conv.inPixels()) * unit; }
  /// Cache lines that an iteration prefetches.
  double lines(int64_t vectors) const {
    if (!plan.prefetch)
      return 0;
    double iterations = double(conv.taps() * std::max<int64_t>(1, plan.kc / plan.unroll));
    return std::ceil(panel(double(vectors)) / 64 / (double(plan.rows) * inRow * iterations));
  }
  double rowsOfTaps() const {
    return plan.conv.taps() == 1 ? double(plan.allRows()) : conv.reached(0) * conv.reached(1);
  }

  /// Cycles of all tiles of one tile of channels, over one image and group.
  double tileOfChannels(int64_t vectors) const {
    double row = 0, results = 0, code = 0;
    for (const TileClass &tile : plan.classes) {
      double taps = 0;
      for (size_t kw = 0; kw < tile.reach.size(); ++kw) {
        Reduction reduction{tile.reach[kw].second - tile.reach[kw].first,
                            vectors,
                            plan.kc,
                            plan.axis.run,
                            plan.unroll,
                            plan.format,
                            lines(vectors)};
        reduction.calls = double(conv.taps());
        taps += reductionCycles(cost.facts.target, reduction);
        bool own = plan.kc < 2 * plan.unroll || kw == 0 || tile.reach[kw] != tile.reach[kw - 1];
        code += own ? reductionCode(reduction) : 0;
      }
      row += double(tile.count) * taps;
      double sums = double(tile.width * vectors);
      double turn = !conv.pointwise() ? turnCycles : vectors > 1 ? wideTileCycles : 0;
      results += double(tile.count) * (storeCycles(conv, plan.lanes, sums) + resultCycles(sums, operators) + turn +
                                       double(plan.passes() - 1) * (sums * 1.5 + turnCycles));
    }
    constexpr double nearCode = 32 << 10, codeRate = 12; // bytes, bytes per cycle
    double fetch = code > nearCode ? code / codeRate : 0;
    return rowsOfTaps() * double(plan.passes()) * row + double(plan.allRows()) * (results + fetch);
  }

  void addProducts() {
    double group = double(plan.tiles.full) * tileOfChannels(plan.tiles.vectors);
    if (plan.tiles.tailVectors)
      group += tileOfChannels(plan.tiles.tailVectors);
    cost.compute += images * double(conv.groups) * group;
    if (plan.format.converts && plan.held) // the rows of a range
      cost.compute += images * double(plan.chunks()) * double(plan.heldUnits()) / double(plan.lanes) * 2.5;
    else if (plan.held && conv.open) // copied; elements of planes are interleaved
      cost.compute += images * double(plan.chunks()) * double(plan.heldUnits()) / double(plan.lanes) *
                      (conv.inBlock           ? 1.5
                       : conv.inChannels <= 4 ? 4
                                              : 1.5 * double(plan.lanes));
  }

  void addWeights() {
    double tiles = double(plan.tiles.perGroup() * conv.groups), passes = double(plan.passes());
    double each = allWeights() / tiles / passes, positions = images * double(plan.allRows()) * inRow;
    // Every tile of positions reads the panel again.
    cost.readAgain(positions * allWeights(), each, 0.3);
    double ahead = plan.prefetch && double(plan.rows) * inRow >= 3 ? 1 - cost.machine.readAheadCost : 0.2;
    cost.readFirst(allWeights(), ahead);
    double again = plan.channelsOuter ? 0 : images * double(plan.chunks()) - 1;
    cost.readAgain(again * allWeights(), allWeights() + rangeInput(), ahead);
  }

  /// Input of a range of rows, of all groups.
  double rangeInput() const {
    double share =
        std::min(1.0, double(plan.rows) / double(plan.allRows()) + double(conv.kernel[1] - 1) / double(conv.in[1]));
    return groupInput() * double(conv.groups) * share;
  }

  /// Bytes of the cache lines that a register block reads, over the bytes it uses. In row-major layout it reads a few
  /// positions of every channel, which begin and end inside lines; channels of a few positions share lines.
  double linesRead() const {
    if (conv.inBlock)
      return 1;
    constexpr double line = 64;
    double used = double(plan.px * conv.stride[2]) * unit, plane = double(conv.inPixels()) * unit;
    double read = std::min(used + line - unit, std::max(plane, used));
    return read / used;
  }

  void addInput() {
    double tiles = double(plan.tiles.perGroup()), all = images * double(conv.groups) * groupInput();
    double held = plan.channelsOuter ? images * groupInput() : rangeInput() / double(conv.groups);
    double weights = panel(double(plan.tiles.vectors));
    cost.readAgain(all * (tiles - 1), held + weights, 0.3);
    // The unused parts of a block's lines belong to the next block, which finds them in the same level.
    double block = double(plan.kc * plan.px * conv.stride[2]) * unit * linesRead();
    cost.readAgain(all * tiles * (linesRead() - 1), block + weights, 0.3);
    if (plan.passes() > 1) {
      double partial = double(plan.rows * conv.out[2] * plan.tiles.vectors * plan.lanes) * 4;
      cost.readAgain(2 * images * double(conv.groups * conv.outChannels * conv.outPixels()) * 4 *
                         double(plan.passes() - 1),
                     partial + panel(double(plan.tiles.vectors)));
    }
  }
};

} // namespace

std::array<WorkAxis, 4> addDirect(Cost &cost, const DirectPlan &plan, double operators) {
  return DirectCost(cost, plan, operators).add();
}

Prediction predict(const ContractionFacts &facts, const DirectPlan &plan) {
  Cost cost(facts);
  cost.passOperands(int(plan.conv.weights));
  auto items = addDirect(cost, plan, facts.operators);
  return cost.finish(items, exposedOfProducts);
}

std::vector<LoopNest> nestsOf(const DirectPlan &plan) {
  using enum OperandClass;
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
  return {nest};
}

} // namespace lathe
