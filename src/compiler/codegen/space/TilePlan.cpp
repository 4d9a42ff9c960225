#include "codegen/space/TilePlan.h"

#include <algorithm>

namespace lathe {
namespace {

/// Throws Illegal if the target has no tile registers for the operands.
void requireTiles(const TilePlan &plan, const Target &target, const ContractionTypes &types) {
  const char *feature = plan.format.rounds ? "amx-bf16" : "amx-int8";
  if (!target.has(feature) || !target.has("amx-tile"))
    illegal("target", "{} has no tile registers for {} ({})", target.str(), plan.format.name, feature);
  if (std::string reason = plan.format.obstacle(target); !reason.empty())
    throw Illegal{"target", reason};
  if (target.lanes(32) != tileLanes)
    illegal("target", "vectors of {} have {} lanes, tile registers {}", target.str(), target.lanes(32), tileLanes);
  if (!plan.format.takes(types))
    illegal("type", "amx with type={} is for operands of type {}, these are {} and {}", plan.format.name,
            plan.format.takesText, name(types.left), name(types.right));
}

/// The format for operands of these types: bytes as they are, others rounded to bf16.
ContractionFormat formatFor(const ContractionTypes &types) {
  return formatNamed(isFloat(types.left) ? "bf16" : "i8", ElementType::f32);
}

void setGeometry(TilePlan &plan, const Target &target, const ConvGeometry &geometry) {
  requireTiles(plan, target, geometry.types());
  ConvGeometry conv = geometry;
  if (conv.groups != 1 || !conv.planar())
    illegal("computes", "amx is for convolutions of one group over planes");
  if (conv.weightsZero)
    illegal("computes", "amx takes weights without a zero point");
  if (conv.inBlock != tileLanes || conv.inLast || (conv.outBlock && conv.outBlock != tileLanes))
    illegal("blocks", "amx reads blocks of {} channels", tileLanes);
  if (conv.taps() > 64)
    illegal("taps", "amx is for kernels of up to 64 taps, this one has {}", conv.taps());
  if (conv.pointwise()) {
    conv.in = {1, conv.inPixels(), 1};
    conv.out = conv.in;
  }
  plan.images = conv.images;
  plan.height = conv.out[1];
  plan.width = conv.out[2];
  plan.channels = conv.inChannels;
  plan.outputs = conv.outChannels;
  for (int64_t ky = 0; ky < conv.kernel[1]; ++ky)
    for (int64_t kx = 0; kx < conv.kernel[2]; ++kx) {
      int64_t y = ky * conv.dilation[1], x = kx * conv.dilation[2];
      std::pair<int64_t, int64_t> phase{y % conv.stride[1], x % conv.stride[2]};
      auto found = std::find(plan.phases.begin(), plan.phases.end(), phase);
      plan.taps.push_back({found - plan.phases.begin(), y / conv.stride[1], x / conv.stride[2]});
      if (found == plan.phases.end())
        plan.phases.push_back(phase);
      plan.moreRows = std::max(plan.moreRows, plan.taps.back().row);
      plan.moreColumns = std::max(plan.moreColumns, plan.taps.back().column);
    }
  plan.conv = conv;
}

void setGeometry(TilePlan &plan, const Target &target, const GemmGeometry &gemm) {
  requireTiles(plan, target, gemm.types());
  if (!gemm.constantB || gemm.packed || gemm.aStepStride != 1)
    illegal("computes", "amx is for products of rows with a constant right operand that is not packed");
  if (gemm.rightZero)
    illegal("computes", "amx takes a right operand without a zero point");
  plan.height = gemm.m;
  plan.channels = gemm.k;
  plan.outputs = gemm.n;
  plan.phases = {{0, 0}};
  plan.taps = {{0, 0, 0}};
  plan.gemm = gemm;
}

template <class Geometry> TilePlan makePlan(const Target &target, const Geometry &geometry, const Schedule &schedule) {
  TilePlan plan;
  plan.format = formatNamed(schedule.word("type"), ElementType::f32);
  setGeometry(plan, target, geometry);
  plan.rows = schedule.number("rows");
  if (plan.height.isConstant())
    plan.rows = std::min(plan.rows, plan.height.constant());
  plan.oc = std::min(plan.vectors(), schedule.number("oc"));
  plan.prefetch = schedule.number("prefetch") == 1;
  if (plan.scratchBytes() > (int64_t(1) << 28))
    illegal("scratch", "rows={} need {} MiB of scratch", plan.rows, plan.scratchBytes() >> 20);
  return plan;
}

/// Rows per chunk: the converted rows stay in the second-level cache, which has 2 MiB on every CPU with tile registers.
Schedule prior(TilePlan plan, int64_t threads) {
  constexpr int64_t held = 1 << 20;
  plan.oc = std::min<int64_t>(2, plan.vectors());
  int64_t all = plan.height.isConstant() ? plan.height.constant() : 512, rows = all;
  plan.rows = rows;
  while (rows > 1 && plan.scratchBytes() > held)
    plan.rows = rows = (rows + 1) / 2;
  int64_t chunks = (all + rows - 1) / rows, images = plan.images.isConstant() ? plan.images.constant() : 1;
  // Slots share chunks, or the columns of one: either way there should be enough of them.
  while (threads > 1 && images * chunks * plan.tiles() < 4 * threads && all > chunks * 2 * tileRows)
    ++chunks;
  rows = (all + chunks - 1) / chunks;
  // Whole tiles, where a row is a position.
  if (plan.pitch() == 1 && rows < all)
    rows = (rows + 2 * tileRows - 1) / (2 * tileRows) * 2 * tileRows;
  Schedule schedule = emptySchedule("amx");
  schedule.numbers = {{"rows", rows}, {"oc", plan.oc}, {"prefetch", plan.panel(plan.oc) * plan.tiles() > (96 << 10)}};
  schedule.words = {{"type", plan.format.name}};
  return schedule;
}

template <class Geometry> Schedule forcedPrior(const KernelFacts &facts, const Geometry &geometry) {
  TilePlan plan;
  plan.format = formatFor(geometry.types());
  setGeometry(plan, facts.target, geometry);
  return prior(std::move(plan), facts.threads);
}

template <class Geometry> std::optional<Schedule> priorOf(const KernelFacts &facts, const Geometry &geometry) {
  if (formatFor(geometry.types()).rounds && facts.precision != Precision::bf16)
    return std::nullopt;
  try {
    return forcedPrior(facts, geometry);
  } catch (const Illegal &) {
    return std::nullopt;
  }
}

} // namespace

TilePlan makeTilePlan(const Target &target, const ConvGeometry &conv, const Schedule &schedule) {
  return makePlan(target, conv, schedule);
}

TilePlan makeTilePlan(const Target &target, const GemmGeometry &gemm, const Schedule &schedule) {
  return makePlan(target, gemm, schedule);
}

std::optional<Schedule> tilePrior(const KernelFacts &facts, const ConvGeometry &conv) { return priorOf(facts, conv); }

std::optional<Schedule> tilePrior(const KernelFacts &facts, const GemmGeometry &gemm) {
  // Few rows: reading weights from memory takes most of the time, and gemm reads them in order.
  if (gemm.m.isConstant() && gemm.m.constant() < 8)
    return std::nullopt;
  return priorOf(facts, gemm);
}

Schedule tilePriorOf(const KernelFacts &facts, const ConvGeometry &conv) { return forcedPrior(facts, conv); }
Schedule tilePriorOf(const KernelFacts &facts, const GemmGeometry &gemm) { return forcedPrior(facts, gemm); }

} // namespace lathe
