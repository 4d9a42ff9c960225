// Verdicts on ratios of times: the common rule of `lathe compare`, `segments`, `ops bench` and the analyses of their
// results (docs/measuring.md).
//
// A ratio is shown with its 95 % interval. Verdicts are computed repeatedly and for many pairs, and each may be wrong
// by chance, so faster and slower need the 99.5 % interval.
#pragma once

#include "lab/judging/Statistics.h"

#include <optional>

namespace lathe::lab {

enum class Verdict { faster, slower, same, ambiguous };
std::string_view name(Verdict verdict);

/// Times count as equal if they differ relatively by less than this.
constexpr double indifference = 0.02;

/// Returns the verdict on a speed. `speed` is the peer's time / our time with its 95 % interval, and `sure` the same
/// ratio with its 99.5 % interval. Same: the 95 % interval is within 1 +- `band`. Faster (slower): the 99.5 % interval
/// is above 1 + `beyond` (below 1 - `beyond`) and the estimate is outside the band. Otherwise ambiguous: measure
/// longer. An interval that is only a range (RatioEstimate) supports no verdict.
Verdict verdictOn(const RatioEstimate &speed, const RatioEstimate &sure, double band = indifference, double beyond = 0);

/// The verdict on the other side: `slower` for `faster` and the reverse.
Verdict turned(Verdict verdict);

/// The interval of a ratio as text: "95 % interval 0.980 to 1.020", or "range 0.980 to 1.020, too few for an interval".
std::string intervalText(const RatioEstimate &ratio);
/// JSON of a ratio, with the keys "ratio", "ratio_low", "ratio_high" and "confidence". The confidence is 0.95, or null
/// if low and high are only a range.
nlohmann::json toJson(const RatioEstimate &ratio);

struct JudgedRatio {
  RatioEstimate ratio; // time of the numerator / time of the denominator, with its 95 % interval
  Verdict verdict = Verdict::ambiguous;
  bool withinOverhead = false; // true: ambiguous because the cost of calls may explain the difference
  bool tooFewStarts = false;   // true: there are so few starts that no side could be called faster
};

/// The reason why a verdict is ambiguous: "call overhead", "too few starts", "disturbed" (other programs ran, or
/// processors were slow, as the caller states), or "wide interval"; "" for another verdict.
std::string ambiguityOf(const JudgedRatio &judged, bool disturbed = false);
/// The verdict on a ratio as text: "faster", or "ambiguous (too few starts)".
std::string verdictText(const JudgedRatio &judged, bool disturbed = false);

/// JSON of a judged ratio: the keys of the ratio, and "verdict", "within_overhead", "too_few_starts" and
/// "ambiguous_because" (ambiguityOf).
nlohmann::json toJson(const JudgedRatio &judged, bool disturbed = false);

/// Times of one side in seconds: a run, and a call that computes only one element (empty: unknown).
struct SideTime {
  double seconds = 0;
  std::optional<double> callSeconds;
};

/// An operator passes more operands than the call that computes one element, so its call may cost more: at most this
/// many times as much.
constexpr double overheadReach = 2;

/// True if the cost of calls may explain the difference of two sides' times: the slower side has the more expensive
/// call, and `overheadReach` times the difference of the calls is at least the difference of the times.
bool withinOverhead(const SideTime &a, const SideTime &b);

/// Returns `judged`, with the verdicts faster and slower changed to ambiguous if the times are `withinOverhead`.
JudgedRatio besideOverhead(JudgedRatio judged, const SideTime &numerator, const SideTime &denominator);

/// Judges the ratio of two sides that were measured in turns, by ratioOverStarts. Throws the errors of
/// ratioOverStarts.
JudgedRatio judgeInTurns(const SideTimes &numerator, const SideTimes &denominator, double band = indifference);

/// The distance from 1 that the 99.5 % interval needs for faster or slower if the sides took no turns, because changes
/// of the machine between the sides do not cancel. Half of the band, chosen with bench/apart.py (docs/measuring.md).
constexpr double beyondApart = indifference / 2;

/// Judges the ratio of two sides that were not measured in turns, by ratioApart.
JudgedRatio judgeApart(const SideTimes &numerator, const SideTimes &denominator, double band = indifference);

} // namespace lathe::lab
