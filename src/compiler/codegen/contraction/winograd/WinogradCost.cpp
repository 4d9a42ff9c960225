// The cost of `winograd` as a function of its plan: transform of the input, products, transform of the results.
#include "codegen/contraction/common/ContractionCost.h"
#include "codegen/contraction/winograd/WinogradPlan.h"

namespace lathe {
namespace {

/// Cycles of one pass of a transform over `count` rows: two multiply-adds, two loads and a store per cycle.
double pass(double count, double loads, double operations, double stores) {
  return count * std::max({loads / 2, operations / 2, stores, 1.0}) * 1.3;
}

double transformCycles(const WinogradPlan &plan, double images) {
  double alpha = double(plan.alpha()), m = double(plan.m()), in = double(operationsOf(plan.transform.input)),
         out = double(operationsOf(plan.transform.output));
  double padded = std::min(1.0, 2.0 * double(plan.tileRows() + plan.tileColumns()) / double(plan.tiles()));
  double shares = double(plan.pointShares); // each share reads nearly a whole tile for its rows
  double input = double(plan.tiles() * plan.inBlocks() * plan.split) *
                 (shares * pass(alpha, alpha, in / shares, alpha / shares) + pass(alpha, alpha, in, alpha) +
                  padded * alpha * 2 * shares + turnCycles);
  double output = double(plan.tiles() * plan.outVectors()) *
                  (pass(alpha, alpha, out, m) + pass(m, alpha, out, m) + m * m + turnCycles);
  return images * (input + output);
}

} // namespace

Prediction predict(const ContractionFacts &facts, const WinogradPlan &plan) {
  Cost cost(facts);
  cost.passOperands(int(plan.conv.weights));
  double images = valueOf(plan.conv.images), chunks = double(plan.chunks()), points = double(plan.points()),
         tiles = double(plan.channelTiles());
  cost.compute += transformCycles(plan, images);
  // A chunk is always computed whole, even if it has fewer tiles.
  Reduction reduction{plan.px, plan.oc, plan.steps(), plan.blockSteps(), plan.unroll, plan.format};
  double panel = double(plan.steps() * plan.oc * plan.lanes) * 4;
  if (plan.prefetch)
    reduction.lines =
        std::ceil(panel / 64 / (double(plan.blocks) * double(std::max<int64_t>(1, plan.steps() / plan.unroll))));
  double blocks = images * chunks * double(plan.blocks) * points * tiles;
  cost.compute += blocks * (reductionCycles(facts.target, reduction) + resultCycles(double(plan.px * plan.oc), 0));

  double weights = points * tiles * panel, ahead = plan.prefetch ? 1 - cost.machine.readAheadCost : 0.2;
  cost.readFirst(weights, ahead);
  double input = double(plan.productsAt()) * 4, products = double(plan.products()) * 4;
  cost.readAgain((images * chunks - 1) * weights, weights + input, ahead);
  cost.readAgain(blocks * panel, panel, 0.3); // each register block reads its point's panel
  // The transformed input is read once for each tile of channels; the products of a tile of channels are read once.
  cost.readAgain(images * chunks * (tiles + double(plan.split)) * input, input + products, 0.3);
  cost.readAgain(images * chunks * tiles * 2 * products, products + input / std::max(1.0, tiles), 0.3);
  double units = images * chunks * double(plan.split);
  if (plan.staged()) {
    cost.once += 1500; // one more stage: threads wait for each other and for lines of other cores
    units = images * double(plan.pointShares);
  }
  return cost.finish(units, exposedOfProducts);
}

namespace {

using enum OperandClass;

/// The products.
LoopNest productNest(const WinogradPlan &plan) {
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
  nest.add(LoopKind::parallel, LoopAxis::batch, atLeastOne(plan.conv.images), {input, output});
  return nest;
}

/// The transform of the input.
LoopNest transformNest(const WinogradPlan &plan) {
  double points = double(plan.points()), outputs = double(plan.m() * plan.m());
  LoopNest nest{{4, 0, 0, double(plan.format.unitBytes())}, {}};
  nest.add(LoopKind::vector, LoopAxis::columns, double(plan.lanes), {input, scratch});
  nest.add(LoopKind::unrolled, LoopAxis::taps, points, {outputs, 1, 1, points});
  nest.add(LoopKind::serial, LoopAxis::columns, double(plan.inBlocks()), {input, scratch});
  nest.add(LoopKind::serial, LoopAxis::rows, double(plan.chunk()), {input, scratch});
  nest.add(LoopKind::parallel, LoopAxis::columns, double(plan.split), std::initializer_list<OperandClass>{});
  nest.add(LoopKind::parallel, LoopAxis::rows, double(plan.chunks()) * atLeastOne(plan.conv.images), {input});
  return nest;
}

} // namespace

std::vector<LoopNest> nestsOf(const WinogradPlan &plan) { return {productNest(plan), transformNest(plan)}; }

} // namespace lathe
