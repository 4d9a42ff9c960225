#include "codegen/contraction/lanewise/LanewisePlan.h"

#include <cmath>

namespace lathe {

/// True if four columns of a depthwise kernel are one product: a vector of the next column's bytes is shifted into the units
/// by one instruction (vpshrdd).
static bool joinsColumns(const Target &target, const ConvGeometry &conv) {
  return conv.inputType != conv.type && conv.inChannels == 1 && conv.outChannels == 1 && !conv.open &&
         conv.kernel[2] > 1 && conv.dilation[2] == 1 && conv.stride[2] < 3 && conv.inBlock == convLanes(target, conv) &&
         target.has("avx512vbmi2") && target.vectorBits == 512 && formatApplies("i8", target, conv.types());
}

/// Bytes multiply one by one: a pair of i16 whose second product is 0, where the target adds such pairs.
static ContractionFormat lanewiseFormat(const Target &target, const ConvGeometry &conv) {
  if (conv.inputType == conv.type)
    return plainFormat(conv.type);
  if (joinsColumns(target, conv))
    return formatNamed("i8", conv.type);
  bool pairs = formatApplies("i16", target, conv.types());
  return formatNamed(pairs ? "i16" : "i32", conv.type);
}

LanewisePlan makeLanewisePlan(const Target &target, const ConvGeometry &conv, const Schedule &schedule) {
  LanewisePlan plan{conv, lanewiseFormat(target, conv), 0, 0, 0, Lanes::gathered, {}};
  if (!plan.format.takes(conv.types()))
    illegal("computes", "lanewise sums in the type of its operands, {}, not in {}", name(conv.inputType),
            name(conv.type));
  if (conv.weightsZero)
    illegal("computes", "lanewise takes weights without a zero point");
  plan.joined = joinsColumns(target, conv);
  plan.lanes = convLanes(target, conv);
  plan.px = atMost("registers", "px", schedule.number("px"), int64_t(target.vectorRegisters) - 2);
  if (!conv.open) // a run may have longer rows
    plan.px = std::min(conv.out[2], plan.px);
  plan.rows = std::min(plan.allRows(), schedule.number("rows", plan.allRows()));
  bool blockOfLanes = conv.inBlock == plan.lanes;
  plan.access = blockOfLanes && conv.inChannels == 1 && conv.outChannels == 1 ? Lanes::same
                : blockOfLanes && conv.inChannels == conv.outChannels && plan.lanes % conv.inChannels == 0
                    ? Lanes::permuted
                    : Lanes::gathered;
  if (conv.open && plan.access == Lanes::gathered && !conv.open->padsFollow())
    illegal("open", "with open extents and stated padding groups read lanes of their own block");
  plan.classes = tileClasses(conv, plan.px);
  int64_t steps = 0;
  for (const TileClass &tile : plan.classes)
    steps += tile.width * int64_t(tile.reach.size()) * (plan.access == Lanes::gathered ? plan.lanes : conv.inChannels);
  if (steps > 20000)
    illegal("code", "px={} gives {} different steps", plan.px, steps);
  return plan;
}

bool needsLanewise(const Target &target, const ConvGeometry &conv) {
  if (conv.open && !conv.planar())
    return true;
  if (conv.groups == 1)
    return false;
  int64_t lanes = target.lanes(bitWidth(conv.type) == 16 ? 32 : bitWidth(conv.type));
  if (conv.inBlock && conv.inChannels % conv.inBlock)
    return true;
  if (conv.outBlock && conv.outChannels % conv.outBlock)
    return true;
  // Row-major activations suit both: vectors partly filled by one group, or lanes gathered over many.
  return conv.outChannels < (conv.inBlock || conv.outBlock ? lanes : std::min<int64_t>(lanes, 4));
}

Schedule lanewisePrior(const KernelFacts &facts, const ConvGeometry &conv) {
  const Target &target = facts.target;
  int64_t lanes = target.lanes(std::max(32u, bitWidth(conv.type)));
  Schedule schedule = emptySchedule("lanewise");
  // Accumulators leave room for a kernel row of weights and the inputs under way. Gathers are long code.
  bool whole = conv.inBlock == lanes && conv.inChannels == conv.outChannels && lanes % conv.inChannels == 0;
  int64_t most = whole ? std::max<int64_t>(2, int64_t(target.vectorRegisters) / 2 - 2) : 4;
  schedule.numbers["px"] = evenPieces(conv.out[2], most).size(0);
  int64_t rows = conv.out[0] * conv.out[1], blocks = (conv.groups * conv.outChannels + lanes - 1) / lanes;
  int64_t chunk = rows, threads = std::max(2, facts.threads);
  int64_t images = conv.images.isConstant() ? conv.images.constant() : 1;
  auto waste = [&](int64_t chunkRows) {
    double units = double(images * blocks) * ((rows + chunkRows - 1) / chunkRows);
    return std::ceil(units / threads) * threads / units;
  };
  while (threads > 1 && chunk > 1 && waste(chunk) > 1.03)
    chunk = (chunk + 1) / 2;
  schedule.numbers["rows"] = chunk;
  return schedule;
}

} // namespace lathe
