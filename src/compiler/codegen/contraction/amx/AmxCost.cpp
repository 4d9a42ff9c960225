// The cost of `amx` as a function of its plan.
#include "codegen/contraction/amx/AmxPlan.h"
#include "codegen/contraction/common/ContractionCost.h"

namespace lathe {

Prediction predict(const ContractionFacts &facts, const TilePlan &plan) {
  // One product of tiles a core starts in 16 cycles; tiles are loaded at two lines a cycle.
  constexpr double product = 16, load = 8;
  Cost cost(facts);
  cost.passOperands(int(plan.conv ? plan.conv->weights : plan.gemm->b));
  double images = valueOf(plan.images), chunks = valueOf(plan.chunks()), rows = double(plan.rows);
  double positions = std::ceil(rows * double(plan.pitch()) / (2 * tileRows)) * 2; // tiles of rows, two at a time
  double steps = double(int64_t(plan.taps.size()) * plan.blocks());
  double block = steps * std::max(2.0 * double(plan.oc) * product, (2 + double(plan.oc)) * load);
  double results = 2 * double(plan.oc) * tileRows * (2 + 0.5 * facts.operators);
  double tiles = double(plan.tiles());
  cost.compute += images * chunks * tiles * positions / 2 * (block + results + turnCycles);
  cost.compute += images * chunks * double(plan.blocks() * plan.blockStride()) * 3; // rounding
  if (plan.prefetch)
    cost.compute += images * chunks * double(plan.panel(plan.vectors())) / tileLineBytes * 0.6;
  double weights = double(plan.panel(plan.vectors())), ahead = plan.prefetch ? 1 - cost.machine.readAheadCost : 0.2;
  cost.readFirst(weights, ahead);
  cost.readAgain(images * chunks * positions / 2 * weights, double(plan.panel(plan.oc)), 0.3);
  cost.readAgain((images * chunks - 1) * weights, weights + double(plan.scratchBytes()), ahead);
  cost.readAgain(images * chunks * tiles * double(plan.scratchBytes()), double(plan.scratchBytes()), 0.3);
  return cost.finish(images * chunks * tiles, exposedOfProducts);
}

std::vector<LoopNest> nestsOf(const TilePlan &plan) {
  using enum OperandClass;
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
  nest.add(LoopKind::parallel, LoopAxis::rows, atLeastOne(plan.chunks()), {input, output});
  nest.add(LoopKind::parallel, LoopAxis::batch, atLeastOne(plan.images), {input, output});
  return {nest};
}

} // namespace lathe
