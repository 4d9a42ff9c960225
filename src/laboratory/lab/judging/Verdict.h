// Verdicts on ratios of times: the only rule of `lathe compare`, `segments`, `ops bench` and the analyses of
// their results (docs/measuring.md).
//
// A ratio is shown with its interval of 95 %. Verdicts are computed repeatedly and for many pairs, and each
// may be wrong by chance, so faster and slower need the interval of 99.5 %.
#pragma once

#include "lab/judging/Statistics.h"

#include <optional>

namespace lathe::lab {

enum class Verdict { faster, slower, same, ambiguous };
std::string_view name(Verdict verdict);

/// Smaller relative differences count as none.
constexpr double indifference = 0.02;

/// The verdict on `speed`, the peer's time / our time with its interval of 95 %, and `sure`, the
/// same with the interval of 99.5 %. Same: the interval of 95 % is within 1 +- `band`. Faster
/// (slower): the interval of 99.5 % is above 1 + `beyond` (below 1 - `beyond`) and the estimate outside the band. Otherwise
/// ambiguous: measure longer. An interval that is only a range (RatioEstimate) supports no verdict.
Verdict verdictOn(const RatioEstimate &speed, const RatioEstimate &sure, double band = indifference, double beyond = 0);

/// "95 % interval 0.980 to 1.020", or "range 0.980 to 1.020, too few for an interval".
std::string intervalText(const RatioEstimate &ratio);
/// {"ratio", "ratio_low", "ratio_high", "confidence"}. The confidence is 0.95, or null if low and
/// high are only a range.
nlohmann::json toJson(const RatioEstimate &ratio);

struct JudgedRatio {
  RatioEstimate ratio; // time of the numerator / time of the denominator, interval of 95 %
  Verdict verdict = Verdict::ambiguous;
  bool withinOverhead = false; // ambiguous because the cost of calls may explain the difference
  bool tooFewStarts = false;   // with so many starts neither side is ever called faster
};

/// Why the verdict is ambiguous: "call overhead", "too few starts", "disturbed" (other programs ran, or
/// processors were slow; the caller knows), else "wide interval"; "" for another verdict.
std::string ambiguityOf(const JudgedRatio &judged, bool disturbed = false);
/// "faster", or "ambiguous (too few starts)".
std::string verdictText(const JudgedRatio &judged, bool disturbed = false);

/// JSON of the ratio with "verdict", "within_overhead", "too_few_starts" and "ambiguous_because"
/// (ambiguityOf).
nlohmann::json toJson(const JudgedRatio &judged, bool disturbed = false);

/// Times of one side in seconds: a run, and a call that computes one element (empty: unknown).
struct SideTime {
  double seconds = 0;
  std::optional<double> callSeconds;
};

/// The call of an operator may cost this multiple of the call that computes one element, because it
/// passes more operands.
constexpr double overheadReach = 2;

/// True if the cost of calls may explain the difference of two times: the slower side has the more
/// expensive call, and `overheadReach` times the difference of the calls is at least the difference
/// of the times.
bool withinOverhead(const SideTime &a, const SideTime &b);

/// Returns `judged`, with faster and slower changed to ambiguous if the times are `withinOverhead`.
JudgedRatio besideOverhead(JudgedRatio judged, const SideTime &numerator, const SideTime &denominator);

/// Judges sides measured in turns by ratioOverStarts. Throws its errors.
JudgedRatio judgeInTurns(const SideTimes &numerator, const SideTimes &denominator, double band = indifference);

/// How far from 1 (below it, as far) the interval of 99.5 % of sides without turns must be for faster and slower: nothing
/// cancels what the machine did in between. Half of the band: chosen by bench/apart.py (docs/measuring.md).
constexpr double beyondApart = indifference / 2;

/// Judges two sides that had no turns together by ratioApart.
JudgedRatio judgeApart(const SideTimes &numerator, const SideTimes &denominator, double band = indifference);

} // namespace lathe::lab
