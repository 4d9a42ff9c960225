#include "lab/Verdict.h"

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

JudgedRatio judgeInTurns(const Starts &numerator, const Starts &denominator, double band) {
  RatioEstimate ratio = ratioOverStarts(numerator, denominator, shownConfidence);
  return {ratio, verdictOn(ratio, ratioOverStarts(numerator, denominator, sureConfidence).interval, band)};
}

JudgedRatio judgeApart(std::span<const double> numerator, std::span<const double> denominator, double band) {
  RatioEstimate ratio = ratioOfMedians(numerator, denominator, shownConfidence);
  return {ratio, verdictOn(ratio, ratioOfMedians(numerator, denominator, sureConfidence).interval, band)};
}

} // namespace lathe::lab
