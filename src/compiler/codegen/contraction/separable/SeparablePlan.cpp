#include "codegen/contraction/separable/SeparablePlan.h"

namespace lathe {
namespace {

int64_t depthwisePositions(const Target &target, const ConvGeometry &conv) {
  return evenPieces(conv.out[2], std::max<int64_t>(2, int64_t(target.vectorRegisters) / 2 - 2)).size(0);
}

/// Cycles of a row of the depthwise convolution: two multiply-adds and two loads per cycle; inputs are loaded once per
/// kernel row.
double depthwiseCycles(const SeparableGeometry &pair) {
  const ConvGeometry &conv = pair.depthwise;
  double perTapRow = std::max<double>(conv.kernel[2], conv.stride[2] + 1) / 2;
  return 1.3 * double(pair.blocks()) * conv.out[2] * conv.kernel[0] * conv.kernel[1] * perTapRow;
}

} // namespace

SeparablePlan makeSeparablePlan(const ContractionFacts &facts, const SeparableGeometry &pair,
                                const Schedule &schedule) {
  const ConvGeometry &conv = pair.depthwise;
  if (int64_t width = schedule.number("width", conv.out[2]); width % conv.out[2])
    illegal("width", "width={} is no multiple of the {} positions of a row", width, conv.out[2]);
  // separable has the parameters of direct and lanewise beside its own.
  Schedule second = emptySchedule("direct"), first = emptySchedule("lanewise");
  second.numbers = schedule.numbers;
  second.words = schedule.words;
  second.numbers.erase("depthwise");
  DirectPlan pointwise = makeDirectPlan(facts, pair.pointwise, second, /*computed=*/true);
  first.numbers["px"] =
      atMost("depthwise", "depthwise", schedule.number("depthwise"), int64_t(facts.target.vectorRegisters) - 2);
  return {pair, makeLanewisePlan(facts.target, conv, first), std::move(pointwise)};
}

Schedule separablePrior(const KernelFacts &facts, const SeparableGeometry &pair) {
  RowsBefore before{pair.depthwise, depthwiseCycles(pair)};
  Schedule schedule = chooseDirect(facts, pair.pointwise, &before).schedule;
  schedule.algorithm = "separable";
  schedule.version = emptySchedule("separable").version;
  schedule.numbers.erase("kc");
  schedule.words.erase("outer");
  schedule.numbers["depthwise"] = depthwisePositions(facts.target, pair.depthwise);
  return schedule;
}

} // namespace lathe
