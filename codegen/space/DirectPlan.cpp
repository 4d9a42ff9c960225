#include "codegen/space/DirectPlan.h"

#include "codegen/space/RegisterBlock.h"

namespace lathe {

static constexpr int64_t mostBodies = 1500; // of tiles and taps: each is code

DirectPlan makeDirectPlan(const ContractionFacts &facts, const ConvGeometry &geometry, const Schedule &schedule,
                          bool computed) {
  DirectPlan plan;
  plan.conv = geometry;
  ConvGeometry &conv = plan.conv;
  plan.lanes = convLanes(facts.target, conv);
  if (conv.groups > 1 &&
      ((conv.inBlock && conv.inChannels % conv.inBlock) || (conv.outBlock && conv.outChannels % conv.outBlock) ||
       (facts.blockedResults && conv.outChannels % plan.lanes)))
    illegal("groups", "the groups do not end where channel blocks do");

  int64_t pixels = conv.outPixels();
  int64_t width = atMost("width", "width", schedule.number("width", conv.out[2]), pixels);
  plan.rowWidth = conv.out[2];
  if (width != conv.out[2]) {
    bool pointwise = conv.pointwise();
    if (!conv.mergesRows() || pixels % width || (!pointwise && width % conv.out[2]))
      illegal("width", "width={} does not divide the {} positions of a pointwise convolution", width, pixels);
    conv.out = {1, pixels / width, width};
    if (pointwise) {
      conv.in = conv.out;
      plan.rowWidth = width;
    }
  }
  plan.px = schedule.number("px");
  plan.px = std::min(plan.px, width);
  int64_t vectors = (conv.outChannels + plan.lanes - 1) / plan.lanes;
  int64_t oc = std::min(vectors, schedule.number("oc"));
  if (!fitsRegisters(facts.target, evenPieces(width, plan.px).size(0), oc))
    illegal("registers", "px={} oc={} needs more than {} registers", plan.px, oc, facts.target.vectorRegisters);
  plan.tiles = {vectors / oc, oc, vectors % oc};
  plan.unroll = schedule.number("unroll");
  plan.rows = std::min(plan.allRows(), schedule.number("rows", plan.allRows()));
  plan.bf16 = bf16::scheduled(schedule, facts.target, conv.type);
  plan.steps = plan.bf16 ? bf16::pairsOf(conv.inChannels) : conv.inChannels;
  plan.kc = atMost("kc", "kc", schedule.number("kc"), conv.inChannels);
  plan.held = plan.bf16 || computed;
  if (plan.held && plan.kc)
    illegal("held", "kc={}: {} reduces all channels at once", plan.kc, computed ? "separable" : "type=bf16");
  if (plan.kc == 0)
    plan.kc = plan.steps;
  if (!plan.bf16 && (plan.steps % plan.kc || (plan.kc != conv.inChannels && conv.inBlock && plan.kc % conv.inBlock)))
    illegal("kc", "kc={} does not divide {} channels into whole blocks", plan.kc, conv.inChannels);
  if (plan.bf16) {
    int64_t run = conv.inBlock ? conv.inBlock / bf16::pair : plan.steps;
    if (conv.inBlock && (plan.unroll > run || run % plan.unroll))
      illegal("unroll", "unroll={} does not divide blocks of {} pairs of channels", plan.unroll, run);
    plan.axis = conv.inBlock ? ReductionAxis{plan.steps, run, 1, run * plan.heldPixels()}
                             : ReductionAxis{plan.steps, run, plan.heldPixels(), 0};
  } else if (conv.inBlock) {
    if (plan.unroll > conv.inBlock || conv.inBlock % plan.unroll)
      illegal("unroll", "unroll={} does not divide blocks of {} channels", plan.unroll, conv.inBlock);
    plan.axis = {plan.kc, conv.inBlock, 1, conv.inBlock * (computed ? plan.heldPixels() : conv.inPixels())};
  } else {
    plan.axis = {plan.kc, plan.kc, conv.inPixels(), 0};
  }
  plan.channelsOuter = schedule.word("outer") == "channels";
  if (plan.held && plan.channelsOuter)
    illegal("held", "outer=channels: {} a range of rows once for all its channels",
            computed ? "separable computes" : "type=bf16 rounds");
  if (plan.held && plan.heldUnits() * bf16::unitBytes > (int64_t(1) << 28))
    illegal("scratch", "rows={} need {} MiB of scratch", plan.rows, plan.heldUnits() * bf16::unitBytes >> 20);
  plan.prefetch = schedule.number("prefetch") == 1;
  plan.classes = tileClasses(conv, plan.px);
  if (plan.rowWidth != width) { // every tile steps over the ends of rows in its own way
    plan.classes.clear();
    EvenPieces pieces = evenPieces(width, plan.px);
    if (pieces.count > mostBodies)
      illegal("code", "px={} cuts {} positions into {} different tiles", plan.px, width, pieces.count);
    for (int64_t piece = 0; piece < pieces.count; ++piece) {
      TileClass tile;
      tile.start = pieces.start(piece);
      tile.count = 1;
      tile.width = pieces.size(piece);
      tile.reach.emplace_back(0, tile.width);
      plan.classes.push_back(tile);
    }
  }
  int64_t bodies = 0;
  for (const TileClass &tile : plan.classes)
    bodies += tile.reach.size();
  if (bodies * (plan.tiles.tailVectors ? 2 : 1) > mostBodies)
    illegal("code", "px={} gives {} different tile and tap bodies", plan.px, bodies);
  return plan;
}

} // namespace lathe
