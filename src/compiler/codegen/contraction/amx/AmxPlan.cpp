#include "codegen/contraction/amx/AmxPlan.h"

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

/// The format for the operands: bytes as they are, others rounded to bf16.
ContractionFormat formatFor(const ContractionFacts &facts) {
  return formatNamed(isFloat(facts.types().left) ? "bf16" : "i8", ElementType::f32);
}

void setGeometry(TilePlan &plan, const Target &target, const ConvGeometry &geometry) {
  if (geometry.open)
    illegal("open", "amx needs static spatial extents");
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

void setGeometry(TilePlan &plan, const ContractionFacts &facts) {
  facts.conv ? setGeometry(plan, facts.target, *facts.conv) : setGeometry(plan, facts.target, *facts.gemm);
}

/// Rows a chunk: what is converted of them stays in the second-level cache, of which every CPU with tile registers has 2
/// MiB.
Schedule chunksFor(TilePlan plan, int64_t threads) {
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

} // namespace

TilePlan makeTilePlan(const ContractionFacts &facts, const Schedule &schedule) {
  TilePlan plan;
  plan.format = formatNamed(schedule.word("type"), ElementType::f32);
  setGeometry(plan, facts);
  plan.rows = schedule.number("rows");
  if (plan.height.isConstant())
    plan.rows = std::min(plan.rows, plan.height.constant());
  plan.oc = std::min(plan.vectors(), schedule.number("oc"));
  plan.prefetch = schedule.number("prefetch") == 1;
  if (plan.scratchBytes() > (int64_t(1) << 28))
    illegal("scratch", "rows={} need {} MiB of scratch", plan.rows, plan.scratchBytes() >> 20);
  return plan;
}

std::optional<Schedule> tilePrior(const ContractionFacts &facts) {
  // Few rows: each weight is used so rarely that its way from memory is all there is, and gemm walks it in order.
  if (facts.gemm && facts.gemm->m.isConstant() && facts.gemm->m.constant() < 8)
    return std::nullopt;
  if (!allows(facts.precision, formatFor(facts)))
    return std::nullopt;
  try {
    return tilePriorOf(facts);
  } catch (const Illegal &) {
    return std::nullopt;
  }
}

Schedule tilePriorOf(const ContractionFacts &facts) {
  TilePlan plan;
  plan.format = formatFor(facts);
  setGeometry(plan, facts);
  return chunksFor(std::move(plan), facts.threads);
}

} // namespace lathe
