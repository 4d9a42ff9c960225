#include "lab/judging/Verdict.h"

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

Verdict verdictOn(const RatioEstimate &speed, const Interval &sure, double band) {
  if (speed.interval.low >= 1 - band && speed.interval.high <= 1 + band)
    return Verdict::same;
  if (sure.low > 1 && speed.ratio > 1 + band)
    return Verdict::faster;
  if (sure.high < 1 && speed.ratio < 1 - band)
    return Verdict::slower;
  return Verdict::ambiguous;
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

JudgedRatio judgeInTurns(const Starts &numerator, const Starts &denominator, double band) {
  RatioEstimate ratio = ratioOverStarts(numerator, denominator, shownConfidence);
  return {ratio, verdictOn(ratio, ratioOverStarts(numerator, denominator, sureConfidence).interval, band)};
}

JudgedRatio judgeApart(std::span<const double> numerator, std::span<const double> denominator, double band) {
  RatioEstimate ratio = ratioOfMedians(numerator, denominator, shownConfidence);
  return {ratio, verdictOn(ratio, ratioOfMedians(numerator, denominator, sureConfidence).interval, band)};
}

} // namespace lathe::lab
