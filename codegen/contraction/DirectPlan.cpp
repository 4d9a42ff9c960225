// What a schedule of direct/1 means for a convolution, and how its weights are stored.
#include "codegen/contraction/Bf16.h"
#include "codegen/contraction/DirectConv.h"

#include <cstring>

namespace lathe {

static constexpr int64_t mostBodies = 1500; // of tiles and taps: each is code

DirectPlan makeDirectPlan(const ContractionProblem &problem, const ConvGeometry &geometry, const Schedule &schedule,
                          bool computed) {
  DirectPlan plan;
  plan.conv = geometry;
  ConvGeometry &conv = plan.conv;
  plan.lanes = problem.target().lanes(std::max(32u, bitWidth(conv.type)));
  if (conv.outBlock && conv.outBlock != plan.lanes)
    throw Declined{fmt::format("the result has blocks of {} channels, vectors have {}", conv.outBlock, plan.lanes)};
  if (conv.groups > 1 &&
      ((conv.inBlock && conv.inChannels % conv.inBlock) || (conv.outBlock && conv.outChannels % conv.outBlock)))
    throw Declined{"the groups do not end where channel blocks do"};

  int64_t pixels = conv.outPixels();
  int64_t width = atMost("width", schedule.number("width", conv.out[2]), pixels);
  plan.rowWidth = conv.out[2];
  if (width != conv.out[2]) {
    bool pointwise = conv.pointwise();
    if (!conv.mergesRows() || pixels % width || (!pointwise && width % conv.out[2]))
      throw Declined{
          fmt::format("width={} does not divide the {} positions of a pointwise convolution", width, pixels)};
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
  if (!Microkernel::fits(problem.target(), evenPieces(width, plan.px).size(0), oc))
    throw Declined{
        fmt::format("px={} oc={} needs more than {} registers", plan.px, oc, problem.target().vectorRegisters)};
  plan.tiles = {vectors / oc, oc, vectors % oc};
  plan.unroll = schedule.number("unroll");
  plan.rows = std::min(plan.allRows(), schedule.number("rows", plan.allRows()));
  plan.bf16 = bf16::scheduled(schedule, problem.target(), conv.type);
  plan.steps = plan.bf16 ? bf16::pairsOf(conv.inChannels) : conv.inChannels;
  plan.kc = atMost("kc", schedule.number("kc"), conv.inChannels);
  plan.held = plan.bf16 || computed;
  if (plan.held && plan.kc)
    throw Declined{
        fmt::format("kc={}: {} reduces all channels at once", plan.kc, computed ? "separable/1" : "type=bf16")};
  if (plan.kc == 0)
    plan.kc = plan.steps;
  if (!plan.bf16 && (plan.steps % plan.kc || (plan.kc != conv.inChannels && conv.inBlock && plan.kc % conv.inBlock)))
    throw Declined{fmt::format("kc={} does not divide {} channels into whole blocks", plan.kc, conv.inChannels)};
  if (plan.bf16) {
    int64_t run = conv.inBlock ? conv.inBlock / bf16::pair : plan.steps;
    if (conv.inBlock && (plan.unroll > run || run % plan.unroll))
      throw Declined{fmt::format("unroll={} does not divide blocks of {} pairs of channels", plan.unroll, run)};
    plan.axis = conv.inBlock ? ReductionAxis{plan.steps, run, 1, run * plan.heldPixels()}
                             : ReductionAxis{plan.steps, run, plan.heldPixels(), 0};
  } else if (conv.inBlock) {
    if (plan.unroll > conv.inBlock || conv.inBlock % plan.unroll)
      throw Declined{fmt::format("unroll={} does not divide blocks of {} channels", plan.unroll, conv.inBlock)};
    plan.axis = {plan.kc, conv.inBlock, 1, conv.inBlock * (computed ? plan.heldPixels() : conv.inPixels())};
  } else {
    plan.axis = {plan.kc, plan.kc, conv.inPixels(), 0};
  }
  plan.channelsOuter = schedule.word("outer") == "channels";
  if (plan.held && plan.channelsOuter)
    throw Declined{fmt::format("outer=channels: {} a range of rows once for all its channels",
                               computed ? "separable/1 computes" : "type=bf16 rounds")};
  if (plan.held && plan.heldUnits() * bf16::unitBytes > (int64_t(1) << 28))
    throw Declined{fmt::format("rows={} need {} MiB of scratch", plan.rows, plan.heldUnits() * bf16::unitBytes >> 20)};
  plan.prefetch = schedule.number("prefetch") == 1;
  plan.classes = tileClasses(conv, plan.px);
  if (plan.rowWidth != width) { // every tile steps over the ends of rows in its own way
    plan.classes.clear();
    EvenPieces pieces = evenPieces(width, plan.px);
    if (pieces.count > mostBodies)
      throw Declined{fmt::format("px={} cuts {} positions into {} different tiles", plan.px, width, pieces.count)};
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
    throw Declined{fmt::format("px={} gives {} different tile and tap bodies", plan.px, bodies)};
  return plan;
}

namespace {

/// O x I x kernel to [group][tile][pass][tap][channel][lane of all vectors of the tile], channels beyond the last zero.
std::vector<char> packWeights(const nn::ConstantData &data, const DirectPlan &plan) {
  const ConvGeometry &conv = plan.conv;
  int64_t size = bitWidth(data.type) / 8, taps = conv.taps();
  std::vector<char> packed(conv.groups * plan.groupStride() * size);
  char *to = packed.data();
  for (int64_t g = 0; g < conv.groups; ++g)
    for (int64_t t = 0; t < plan.tiles.perGroup(); ++t) {
      int64_t wide = (t < plan.tiles.full ? plan.tiles.vectors : plan.tiles.tailVectors) * plan.lanes;
      int64_t first = t * plan.tiles.vectors * plan.lanes;
      int64_t real = std::min(wide, conv.outChannels - first);
      for (int64_t pass = 0; pass < plan.passes(); ++pass)
        for (int64_t tap = 0; tap < taps; ++tap)
          for (int64_t c = 0; c < plan.kc; ++c, to += wide * size)
            for (int64_t o = 0; o < real; ++o) {
              int64_t from = ((g * conv.outChannels + first + o) * conv.inChannels + pass * plan.kc + c) * taps + tap;
              std::memcpy(to + o * size, data.bytes.data() + (data.splat ? 0 : from * size), size);
            }
    }
  return packed;
}

/// O x I x kernel rounded, to [group][tile][tap][pair of channels][lane of all vectors of the tile][channel of the
/// pair].
std::vector<char> packPairs(const nn::ConstantData &data, const DirectPlan &plan) {
  const ConvGeometry &conv = plan.conv;
  int64_t taps = conv.taps();
  std::vector<char> packed(conv.groups * plan.groupStride() * bf16::unitBytes);
  char *to = packed.data();
  for (int64_t g = 0; g < conv.groups; ++g)
    for (int64_t t = 0; t < plan.tiles.perGroup(); ++t) {
      int64_t wide = (t < plan.tiles.full ? plan.tiles.vectors : plan.tiles.tailVectors) * plan.lanes;
      int64_t first = t * plan.tiles.vectors * plan.lanes;
      int64_t real = std::min(wide, conv.outChannels - first);
      for (int64_t tap = 0; tap < taps; ++tap)
        for (int64_t step = 0; step < plan.steps; ++step, to += wide * bf16::unitBytes)
          for (int64_t o = 0; o < real; ++o)
            for (int64_t c = step * bf16::pair; c < std::min(conv.inChannels, (step + 1) * bf16::pair); ++c) {
              int64_t from = ((g * conv.outChannels + first + o) * conv.inChannels + c) * taps + tap;
              float value;
              std::memcpy(&value, data.bytes.data() + (data.splat ? 0 : from * sizeof value), sizeof value);
              uint16_t half = bf16::rounded(value);
              std::memcpy(to + (o * bf16::pair + c % bf16::pair) * sizeof half, &half, sizeof half);
            }
    }
  return packed;
}

} // namespace

Packing directPacking(const DirectPlan &plan) {
  return {[plan](const nn::ConstantData &data) { return plan.bf16 ? packPairs(data, plan) : packWeights(data, plan); },
          fmt::format("goihw/oc={}x{} kc={}{}", plan.tiles.vectors, plan.lanes, plan.kc, plan.bf16 ? " bf16" : ""),
          plan.bf16 ? ElementType::bf16 : plan.conv.type};
}

} // namespace lathe
