// The cost of `lanewise`; `separable` computes its first convolution so.
#include "codegen/contraction/common/ContractionCost.h"
#include "codegen/contraction/lanewise/LanewisePlan.h"

#include <set>

namespace lathe {
namespace {

/// Instructions that load one vector of inputs: a load, a load and a permutation, or one load per lane. If all lanes
/// belong to one group, they read one element, which is broadcast.
double inputInstructions(const LanewisePlan &plan) {
  if (plan.access == Lanes::same)
    return 1;
  if (plan.access == Lanes::permuted) // the load serves all input channels of a group
    return 1 + 1 / double(plan.conv.inChannels);
  double groups = std::ceil(double(plan.lanes) / double(std::max<int64_t>(1, plan.conv.outChannels)));
  return groups <= 1 ? 1 : 2.0 * double(std::min<int64_t>(plan.lanes, plan.channels()));
}

/// Cycles of one tile and one row of taps: each column of the row is loaded once.
double tileRow(const Target &target, const LanewisePlan &plan, const TileClass &tile) {
  const ConvGeometry &conv = plan.conv;
  std::set<int64_t> columns;
  double products = 0, taps = 0;
  for (size_t kw = 0; kw < tile.reach.size(); ++kw) {
    auto [first, last] = tile.reach[kw];
    for (int64_t p = first; p < last; ++p)
      columns.insert(p * conv.stride[2] + int64_t(kw) * conv.dilation[2]);
    products += double(last - first);
    taps += last > first;
  }
  auto depth = double(conv.inChannels), width = double(tile.width);
  double bring = inputInstructions(plan), loads = double(columns.size()) * bring + taps;
  // Inputs that later columns use stay in registers while there are enough.
  double kinds = plan.access == Lanes::permuted ? depth : 1;
  double later = conv.kernel[2] > conv.stride[2] ? double(columns.size()) * kinds
                 : kinds > 1                     ? double(columns.size())
                                                 : 1;
  bool shared = conv.kernel[2] > conv.stride[2]; // columns by several taps
  double constants = plan.access == Lanes::permuted && !shared ? 10 : kinds;
  double spilled = std::max(0.0, width + later + 1 + constants - double(target.vectorRegisters));
  // Measured. If there are many inputs, some are not kept at all.
  spilled *= plan.access == Lanes::same || !shared ? 0.4 + spilled / 30 : spilled / 50;
  bool loops = plan.access == Lanes::gathered;
  double steps = loops ? 1 : depth; // one per input channel inside the innermost loop
  double instructions = steps * (products + loads);
  // Each addition waits for the one before, unless the core can work on other tiles in the meantime.
  double whole = double(conv.kernel[0] * conv.kernel[1]) * (loops ? depth : 1) * (instructions + 4) + 30;
  double chain = steps * taps * target.machine.fmaLatency / std::clamp(500 / whole, 1.0, 8.0);
  double cycles =
      std::max({steps * products / target.fmaPerCycle() * 1.05, steps * loads / 2, instructions / 4, chain});
  return (cycles + spilled + (loops ? loopCycles : 0)) * (loops ? depth : 1) + (conv.taps() == 1 ? 0 : 2.5);
}

} // namespace

double lanewiseCycles(const Target &target, const LanewisePlan &plan, double operators) {
  double row = 0, results = 0;
  for (const TileClass &tile : plan.classes) {
    row += double(tile.count) * tileRow(target, plan, tile);
    results += double(tile.count) * (resultCycles(double(tile.width), operators) +
                                     storeCycles(plan.conv, plan.lanes, double(tile.width)) + 1);
  }
  return double(plan.blocks()) * (plan.conv.reached(0) * plan.conv.reached(1) * row + double(plan.allRows()) * results);
}

Prediction predict(const ContractionFacts &facts, const LanewisePlan &plan) {
  const ConvGeometry &conv = plan.conv;
  Cost cost(facts);
  cost.passOperands();
  double images = valueOf(conv.images);
  cost.compute += images * lanewiseCycles(facts.target, plan, facts.operators);
  if (plan.access == Lanes::gathered && conv.groups == 1) { // every block of channels reads all inputs
    double input = double(conv.inChannels * conv.inPixels()) * 4, share = double(plan.rows) / double(plan.allRows());
    cost.readAgain(images * input * double(plan.blocks() - 1), input * std::min(1.0, share + 0.1));
    double weights = double(plan.blockStride() * plan.blocks()) * 4, tiles = 0;
    for (const TileClass &tile : plan.classes)
      tiles += double(tile.count);
    cost.readAgain(images * weights * double(plan.allRows()) * tiles, weights / double(plan.blocks()), 0.3);
  }
  const std::array items = {WorkAxis{int64_t(images)}, WorkAxis{plan.blocks()},
                            WorkAxis::cut(plan.allRows(), plan.rows)};
  return cost.finish(items, 0.5);
}

std::vector<LoopNest> nestsOf(const LanewisePlan &plan) {
  using enum OperandClass;
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
  return {nest};
}

} // namespace lathe
