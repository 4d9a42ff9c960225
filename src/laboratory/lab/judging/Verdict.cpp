#include "lab/judging/Verdict.h"

#include <fmt/format.h>

namespace lathe::lab {

static constexpr double shownConfidence = 0.95, sureConfidence = 0.995;

std::string_view name(Verdict verdict) {
  switch (verdict) {
  case Verdict::faster:
    return "faster";
  case Verdict::slower:
    return "slower";
  case Verdict::same:
    return "same";
  case Verdict::ambiguous:
    return "ambiguous";
  }
  return "ambiguous";
}

Verdict verdictOn(const RatioEstimate &speed, const RatioEstimate &sure, double band, double beyond) {
  if (!speed.isRange && speed.interval.low >= 1 - band && speed.interval.high <= 1 + band)
    return Verdict::same;
  if (!sure.isRange && sure.interval.low > 1 + beyond && speed.ratio > 1 + band)
    return Verdict::faster;
  if (!sure.isRange && sure.interval.high < 1 - beyond && speed.ratio < 1 - band)
    return Verdict::slower;
  return Verdict::ambiguous;
}

std::string intervalText(const RatioEstimate &ratio) {
  auto [low, high] = ratio.interval;
  return ratio.isRange ? fmt::format("range {:.3f} to {:.3f}, too few for an interval", low, high)
                       : fmt::format("{:.0f} % interval {:.3f} to {:.3f}", 100 * shownConfidence, low, high);
}

Verdict turned(Verdict verdict) {
  return verdict == Verdict::faster ? Verdict::slower : verdict == Verdict::slower ? Verdict::faster : verdict;
}

nlohmann::json toJson(const RatioEstimate &ratio) {
  return {{"ratio", ratio.ratio},
          {"ratio_low", ratio.interval.low},
          {"ratio_high", ratio.interval.high},
          {"confidence", ratio.isRange ? nlohmann::json() : nlohmann::json(shownConfidence)}};
}

std::string ambiguityOf(const JudgedRatio &judged, bool disturbed) {
  if (judged.verdict != Verdict::ambiguous)
    return "";
  return judged.withinOverhead ? "call overhead"
         : judged.tooFewStarts ? "too few starts"
         : disturbed           ? "disturbed"
                               : "wide interval";
}

std::string verdictText(const JudgedRatio &judged, bool disturbed) {
  std::string why = ambiguityOf(judged, disturbed), word(name(judged.verdict));
  return why.empty() ? word : fmt::format("{} ({})", word, why);
}

nlohmann::json toJson(const JudgedRatio &judged, bool disturbed) {
  nlohmann::json document = toJson(judged.ratio);
  document["verdict"] = name(judged.verdict);
  document["within_overhead"] = judged.withinOverhead;
  document["too_few_starts"] = judged.tooFewStarts;
  document["ambiguous_because"] = ambiguityOf(judged, disturbed);
  return document;
}

bool withinOverhead(const SideTime &a, const SideTime &b) {
  if (!a.callSeconds || !b.callSeconds)
    return false;
  double difference = a.seconds - b.seconds, ofCalls = *a.callSeconds - *b.callSeconds;
  if (difference < 0)
    difference = -difference, ofCalls = -ofCalls;
  return difference <= overheadReach * ofCalls;
}

JudgedRatio besideOverhead(JudgedRatio judged, const SideTime &numerator, const SideTime &denominator) {
  bool decided = judged.verdict == Verdict::faster || judged.verdict == Verdict::slower;
  judged.withinOverhead = decided && withinOverhead(numerator, denominator);
  if (judged.withinOverhead)
    judged.verdict = Verdict::ambiguous;
  return judged;
}

JudgedRatio judgeInTurns(const SideTimes &numerator, const SideTimes &denominator, double band) {
  RatioOverStarts over(numerator, denominator);
  RatioEstimate ratio = over.at(shownConfidence);
  return {ratio, verdictOn(ratio, over.at(sureConfidence), band), false, numerator.starts.size() < leastStarts};
}

JudgedRatio judgeApart(const SideTimes &numerator, const SideTimes &denominator, double band) {
  RatioEstimate ratio = ratioApart(numerator, denominator, shownConfidence);
  return {ratio, verdictOn(ratio, ratioApart(numerator, denominator, sureConfidence), band, beyondApart), false,
          !canDecideApart(numerator.starts.size(), denominator.starts.size())};
}

} // namespace lathe::lab
