#include "codegen/contraction/winograd/WinogradPlan.h"

#include "codegen/space/RegisterBlock.h"

namespace lathe {

namespace {

/// Sums of bytes, whose transforms are exact.
void requireIntegers(const ConvGeometry &conv) {
  if (conv.weightsType != ElementType::i8 || conv.weightsZero)
    illegal("computes", "Winograd transforms of bytes are for weights of type i8 without zero point");
  // Four times a sum of products of 9 and 8 bits.
  constexpr int64_t mostChannels = (int64_t(1) << 29) / (9 * 255 * 128);
  if (conv.inChannels > mostChannels)
    illegal("computes", "four times a sum over {} channels may need more than 32 bits", conv.inChannels);
  if (conv.open)
    illegal("open", "Winograd transforms of bytes need static spatial extents");
}

} // namespace

WinogradTransform transformFor(int64_t m, const ContractionFormat &format) {
  return format.sum == ElementType::i32 ? integerWinogradTransform(m) : winogradTransform(m, format.rounds);
}

void requireWinograd(const KernelFacts &facts, const ConvGeometry &conv) {
  int64_t lanes = facts.target.lanes(32);
  bool integers = conv.type == ElementType::i32 && bitWidth(conv.inputType) == 8;
  if (facts.exactMath && !integers)
    illegal("exact", "exact math forbids Winograd transforms");
  if (facts.smallMemory)
    illegal("memory", "--memory small forbids Winograd transforms, which grow the weights");
  if (integers)
    requireIntegers(conv);
  else if (conv.type != ElementType::f32 || conv.weightsType != ElementType::f32)
    illegal("computes", "Winograd transforms of elements of type {}", name(conv.type));
  if (conv.groups != 1 || conv.kernel != ConvGeometry::Axes{1, 3, 3} || conv.stride != ConvGeometry::Axes{1, 1, 1} ||
      conv.dilation != ConvGeometry::Axes{1, 1, 1} || !conv.planar())
    illegal("computes", "Winograd transforms are for dense 3x3 convolutions of stride 1");
  if (conv.inBlock != lanes || conv.outBlock != lanes)
    illegal("blocks", "Winograd transforms need blocks of {} channels", lanes);
}

WinogradPlan makeWinogradPlan(const KernelFacts &facts, const ConvGeometry &conv, const Schedule &schedule) {
  requireWinograd(facts, conv);
  int64_t lanes = facts.target.lanes(32);
  ContractionFormat format = scheduledFormat(schedule, facts.target, conv.types());
  if (format.group > 2)
    illegal("type", "type={}: values at Winograd's points need 16 bits", format.name);
  WinogradPlan plan{conv, transformFor(schedule.number("m"), format), lanes, 1, 1, 1, 1, 1, false, format};
  plan.px = schedule.number("mr");
  plan.blocks = schedule.number("mc");
  plan.oc = schedule.number("oc");
  int64_t vectors = (conv.outChannels + lanes - 1) / lanes;
  if (vectors % plan.oc)
    illegal("oc", "oc={} does not divide {} vectors of output channels", plan.oc, vectors);
  if (!fitsRegisters(facts.target, plan.px, plan.oc))
    illegal("registers", "mr={} oc={} needs more than {} registers", plan.px, plan.oc, facts.target.vectorRegisters);
  plan.split = atMost("split", "split", schedule.number("split"), plan.channelTiles());
  plan.pointShares = atMost("pointsplit", "pointsplit", schedule.number("pointsplit"), plan.alpha());
  if (plan.staged() && conv.open)
    illegal("open", "pointsplit={}: with open extents the number of tiles is not known", plan.pointShares);
  if (plan.staged() && (plan.chunks() > 1 || plan.split > 1))
    illegal("stages", "pointsplit={} is for one chunk of all {} tiles and for split=1", plan.pointShares, plan.tiles());
  plan.unroll = atMost("unroll", "unroll", schedule.number("unroll"), lanes);
  if (plan.blockSteps() % plan.unroll)
    illegal("unroll", "unroll={} does not divide blocks of {} channels", plan.unroll, lanes);
  plan.prefetch = schedule.number("prefetch") == 1;
  if (plan.scratchFloats() > (int64_t(1) << 26))
    illegal("scratch", "chunks of {} tiles need {} MiB of scratch", plan.chunk(), plan.scratchFloats() >> 18);
  return plan;
}

} // namespace lathe
