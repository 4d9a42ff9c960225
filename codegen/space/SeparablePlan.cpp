#include "codegen/space/SeparablePlan.h"

#include "codegen/target/Caches.h"

#include <cmath>

namespace lathe {
namespace {

int64_t depthwisePositions(const Target &target, const ConvGeometry &conv) {
  return evenPieces(conv.out[2], std::max<int64_t>(2, int64_t(target.vectorRegisters) / 2 - 2)).size(0);
}

/// Cycles of a row of the depthwise convolution: two multiply-adds and two loads a cycle, inputs loaded once a kernel
/// row.
double depthwiseCycles(const SeparableGeometry &pair) {
  const ConvGeometry &conv = pair.depthwise;
  double perTapRow = std::max<double>(conv.kernel[2], conv.stride[2] + 1) / 2;
  return 1.3 * double(pair.blocks()) * conv.out[2] * conv.kernel[0] * conv.kernel[1] * perTapRow;
}

/// What one kernel saves of the time of two, as predicted for the slot that works longest. Two hand on what lies
/// between them: where the second level holds it no more it is written to and read from farther away, which other work
/// hides but for a part; and with several threads a slot reads what others wrote, since the first kernel is cut by
/// channels and the second by rows. One kernel reads the second one's weights again for each range of rows, and is cut
/// less evenly.
double predictedSaving(const KernelFacts &facts, const SeparableGeometry &pair) {
  constexpr double exposed = 1.0 / 6; // of the time that reading takes: measured (docs/notes/separable.md)
  const Caches caches = cachesOf(facts.target);
  double threads = facts.threads, bytes = pair.betweenBytes();
  RowsBefore before{pair.depthwise, depthwiseCycles(pair)};
  DirectChoice one = chooseDirect(facts, pair.pointwise, &before), two = chooseDirect(facts, pair.pointwise);
  double first = before.cycles * double(pair.rows()), both = first + two.cycles;
  double far = bytes / threads > caches.secondLevel / 2 ? bytes : 0, foreign = (bytes - far) * (1 - 1 / threads);
  double handedOn = exposed * (far + foreign) / caches.fromMemory;
  double ranges =
      std::ceil(double(pair.pointwise.outPixels()) /
                double(one.schedule.number("rows", 1) * one.schedule.number("width", pair.pointwise.out[2])));
  double weights = double(pair.channels()) * pair.pointwise.outChannels * bitWidth(pair.pointwise.type) / 8;
  double again = 0.5 * caches.read(weights) * (ranges - 1);
  double uneven = (one.waste - 1) * (one.cycles + first) - (two.waste - 1) * two.cycles;
  return (handedOn - again - uneven) / both;
}

/// Less than this is lost again where ranges of rows begin and end: measured.
constexpr double leastSaving = 1.0 / 16;

} // namespace

SeparablePlan makeSeparablePlan(const ContractionFacts &facts, const SeparableGeometry &pair,
                                const Schedule &schedule) {
  const ConvGeometry &conv = pair.depthwise;
  if (int64_t width = schedule.number("width", conv.out[2]); width % conv.out[2])
    illegal("width", "width={} is no multiple of the {} positions of a row", width, conv.out[2]);
  // separable has parameters of direct beside its own.
  Schedule second = emptySchedule("direct"), first = emptySchedule("lanewise");
  second.numbers = schedule.numbers;
  second.words = schedule.words;
  second.numbers.erase("depthwise");
  DirectPlan pointwise = makeDirectPlan(facts, pair.pointwise, second, /*computed=*/true);
  first.numbers["px"] =
      atMost("depthwise", "depthwise", schedule.number("depthwise"), int64_t(facts.target.vectorRegisters) - 2);
  return {makeLanewisePlan(facts.target, conv, first), std::move(pointwise)};
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

bool separablePays(const KernelFacts &facts, const SeparableGeometry &pair) {
  return predictedSaving(facts, pair) > leastSaving;
}

} // namespace lathe
