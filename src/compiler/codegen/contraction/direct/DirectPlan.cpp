#include "codegen/contraction/direct/DirectPlan.h"

#include "codegen/space/RegisterBlock.h"

namespace lathe {
namespace {

constexpr int64_t mostBodies = 1500; // largest number of pairs of a tile and a tap, which have code each

void requireWholeGroups(const ContractionFacts &facts, const DirectPlan &plan) {
  const ConvGeometry &conv = plan.conv;
  if (conv.groups > 1 &&
      ((conv.inBlock && conv.inChannels % conv.inBlock) || (conv.outBlock && conv.outChannels % conv.outBlock) ||
       (facts.blockedResults && conv.outChannels % plan.lanes)))
    illegal("groups", "the groups do not end where channel blocks do");
}

void requireOpen(const ConvGeometry &conv) {
  if (conv.open && !conv.planar())
    illegal("open", "direct needs the extents of a volume as numbers");
}

/// Open extents: positions of one row, in pieces of `width` of which the last may be shorter; else rows as they are.
void setOpenWidth(DirectPlan &plan, const Schedule &schedule) {
  ConvGeometry &conv = plan.conv;
  bool merges = conv.mergesOpenRows();
  int64_t pixels = conv.outPixels(), all = merges ? pixels : conv.out[2];
  int64_t width = atMost("width", "width", schedule.number("width", all), pixels);
  if (!merges && width != conv.out[2])
    illegal("open", "width={}: rows of open extents are merged where a pointwise convolution reads blocks", width);
  if (merges)
    conv.in = conv.out = {1, (pixels + width - 1) / width, width};
  plan.rowWidth = width;
}

/// Merges or splits rows: `width` output positions count as one row.
void setWidth(DirectPlan &plan, const Schedule &schedule) {
  ConvGeometry &conv = plan.conv;
  if (conv.open)
    return setOpenWidth(plan, schedule);
  int64_t pixels = conv.outPixels(), width = atMost("width", "width", schedule.number("width", conv.out[2]), pixels);
  plan.rowWidth = conv.out[2];
  if (width == conv.out[2])
    return;
  bool pointwise = conv.pointwise();
  if (!conv.mergesRows() || pixels % width || (!pointwise && width % conv.out[2]))
    illegal("width", "width={} does not divide the {} positions of a pointwise convolution", width, pixels);
  conv.out = {1, pixels / width, width};
  if (pointwise) {
    conv.in = conv.out;
    plan.rowWidth = width;
  }
}

/// Register blocks, tiles of output channels and ranges of rows.
void setTiles(DirectPlan &plan, const Target &target, const Schedule &schedule) {
  int64_t width = plan.conv.out[2], vectors = (plan.conv.outChannels + plan.lanes - 1) / plan.lanes;
  bool open = plan.conv.open.has_value(); // a run may have longer rows
  plan.px = open ? schedule.number("px") : std::min(schedule.number("px"), width);
  int64_t oc = std::min(vectors, schedule.number("oc"));
  if (!fitsRegisters(target, plan.format, open ? plan.px : evenPieces(width, plan.px).size(0), oc))
    illegal("registers", "px={} oc={} needs more than {} registers", plan.px, oc, target.vectorRegisters);
  plan.tiles = {vectors / oc, oc, vectors % oc};
  plan.rows = std::min(plan.allRows(), schedule.number("rows", plan.allRows()));
}

/// Operands that are added are all units of blocks, in pairs.
void setWholeBlocks(DirectPlan &plan) {
  if (!plan.conv.inBlock || plan.conv.groups > 1)
    illegal("type", "type={}: units of blocks of channels in one group are added", plan.format.name);
  if (plan.unroll % 2)
    illegal("unroll", "unroll={}: type={} takes two steps at once", plan.unroll, plan.format.name);
  int64_t units = plan.blockUnits();
  plan.steps = (plan.steps + units - 1) / units * units;
}

/// Reduction steps, their division into passes, and the reduction axis of a pass.
void setReduction(DirectPlan &plan, const Target &target, const Schedule &schedule, bool computed) {
  const ConvGeometry &conv = plan.conv;
  if (conv.open && schedule.number("kc"))
    illegal("open", "kc={}: with open extents all channels are reduced at once", schedule.number("kc"));
  if (conv.open && (plan.format.rounds || plan.sumsPositions()))
    illegal("open", "type={}: with open extents operands are not converted to bf16 nor added", plan.format.name);
  plan.unroll = schedule.number("unroll");
  plan.steps = plan.format.unitsOf(conv.inChannels);
  if (addsOperands(plan.format))
    setWholeBlocks(plan);
  plan.kc = atMost("kc", "kc", schedule.number("kc"), conv.inChannels);
  // Bytes in blocks that products take as they are.
  bool inPlace = plan.format.correctsSums() && conv.inBlock && !addedTo(target, conv.inputType) && !conv.weightsZero;
  plan.held = (plan.format.converts && !inPlace) || computed || (conv.open && !conv.mergesOpenRows());
  if ((plan.held || plan.format.converts) && plan.kc)
    illegal("held", "kc={}: {} reduces all channels at once", plan.kc,
            computed ? "separable" : fmt::format("type={}", plan.format.name));
  if (plan.kc == 0)
    plan.kc = plan.steps;
  if (plan.kc != plan.steps && (plan.steps % plan.kc || (conv.inBlock && plan.kc % conv.inBlock)))
    illegal("kc", "kc={} does not divide {} channels into whole blocks", plan.kc, conv.inChannels);
  int64_t pixels = plan.held ? plan.heldPixels() : conv.inPixels(), run = plan.blockUnits();
  if (conv.inBlock && (plan.unroll > run || run % plan.unroll))
    illegal("unroll", "unroll={} does not divide the {} steps of a block of {} channels", plan.unroll, run,
            conv.inBlock);
  int64_t nextBlock = conv.inLast && !plan.held ? run : run * pixels;
  plan.axis = conv.inBlock ? ReductionAxis{plan.kc, run, 1, nextBlock} : ReductionAxis{plan.kc, plan.kc, pixels, 0};
}

/// Order of the work items, and what they keep in scratch.
void setOrder(DirectPlan &plan, const Schedule &schedule, bool computed) {
  plan.channelsOuter = schedule.word("outer") == "channels";
  if (plan.held && plan.conv.open && plan.channelsOuter)
    illegal("open", "outer=channels: a range of rows of open extents is copied once for all its channels");
  if ((plan.held || plan.format.converts) && plan.channelsOuter)
    illegal("held", "outer=channels: {} a range of rows once for all its channels",
            computed ? "separable computes" : fmt::format("type={} converts", plan.format.name));
  int64_t heldBytes = plan.heldUnits() * plan.format.unitBytes();
  if (plan.held && heldBytes > (int64_t(1) << 28))
    illegal("scratch", "rows={} need {} MiB of scratch", plan.rows, heldBytes >> 20);
  plan.prefetch = schedule.number("prefetch") == 1;
}

/// Tiles of a row that covers several rows of the input: every tile steps over their ends in its own way.
std::vector<TileClass> mergedClasses(const DirectPlan &plan) {
  int64_t width = plan.conv.out[2];
  EvenPieces pieces = evenPieces(width, plan.px);
  if (pieces.count > mostBodies)
    illegal("code", "px={} cuts {} positions into {} different tiles", plan.px, width, pieces.count);
  std::vector<TileClass> classes;
  for (int64_t piece = 0; piece < pieces.count; ++piece) {
    TileClass tile;
    tile.start = pieces.start(piece);
    tile.count = 1;
    tile.width = pieces.size(piece);
    tile.reach.emplace_back(0, tile.width);
    classes.push_back(tile);
  }
  return classes;
}

void setClasses(DirectPlan &plan) {
  plan.classes = plan.rowWidth == plan.conv.out[2] ? tileClasses(plan.conv, plan.px) : mergedClasses(plan);
  int64_t bodies = 0;
  for (const TileClass &tile : plan.classes)
    bodies += int64_t(tile.reach.size());
  if (bodies * (plan.tiles.tailVectors ? 2 : 1) > mostBodies)
    illegal("code", "px={} gives {} different tile and tap bodies", plan.px, bodies);
}

} // namespace

std::vector<int64_t> openTileWidths(int64_t px) {
  std::vector<int64_t> widths;
  for (int64_t sevenths : {7, 6, 5, 4, 2, 1}) {
    int64_t width = sevenths == 1 ? 1 : (px * sevenths + 6) / 7;
    if (widths.empty() || width < widths.back())
      widths.push_back(width);
  }
  return widths;
}

DirectPlan makeDirectPlan(const ContractionFacts &facts, const ConvGeometry &geometry, const Schedule &schedule,
                          bool computed) {
  DirectPlan plan;
  plan.conv = geometry;
  plan.lanes = convLanes(facts.target, geometry);
  plan.format = scheduledFormat(schedule, facts.target, geometry.types());
  requireOpen(geometry);
  requireWholeGroups(facts, plan);
  setWidth(plan, schedule);
  setTiles(plan, facts.target, schedule);
  setReduction(plan, facts.target, schedule, computed);
  setOrder(plan, schedule, computed);
  setClasses(plan);
  return plan;
}

} // namespace lathe
