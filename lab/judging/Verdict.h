// Which of two times is the smaller one, and whether that is beyond doubt: the one rule of `lathe compare`, `segments`,
// `ops bench` and everything that reads what they kept (docs/measuring.md).
//
// A ratio is shown with its interval of 95 %. A verdict is asked for again and again, of many pairs, and each time is a
// chance to be wrong: faster and slower need the interval of 99.5 %.
#pragma once

#include "lab/judging/Statistics.h"

#include <optional>

namespace lathe::lab {

enum class Verdict { faster, slower, same, ambiguous };
std::string_view name(Verdict verdict);

/// Differences below this share matter to nobody.
constexpr double indifference = 0.02;

/// Of `speed` = peer's time / our time with its interval of 95 %, and `sure`, the same with the interval of 99.5 %.
/// Same: the former lies within 1 +- `band`. Faster (slower): the latter lies above (below) 1 and the estimate outside
/// the band. Otherwise ambiguous: measure longer. An interval that is only a range (RatioEstimate) supports no verdict.
Verdict verdictOn(const RatioEstimate &speed, const RatioEstimate &sure, double band = indifference);

/// "95 % interval 0.980 to 1.020", or "0.980 to 1.020, too few rounds for an interval".
std::string intervalText(const RatioEstimate &ratio);
/// {"ratio", "ratio_low", "ratio_high", "confidence"}: 0.95, or null where low and high are a range.
nlohmann::json toJson(const RatioEstimate &ratio);

struct JudgedRatio {
  RatioEstimate ratio; // numerator's time / denominator's, interval of 95 %
  Verdict verdict = Verdict::ambiguous;
  bool withinOverhead = false; // ambiguous because the calls alone may make the difference
};

/// That of the ratio with "verdict" and "within_overhead".
nlohmann::json toJson(const JudgedRatio &judged);

/// Seconds of one side: a run's time, and what a call takes that does next to nothing; none where nobody knows.
struct SideTime {
  double seconds = 0;
  std::optional<double> callSeconds;
};

/// A call of an operator may cost this many times what the empty call costs: it hands over more operands.
constexpr double overheadReach = 2;

/// Whether the difference of two times may be that of their calls: the slower side's call is the more expensive one,
/// and `overheadReach` times the difference of the calls is at least that of the times.
bool withinOverhead(const SideTime &a, const SideTime &b);

/// `judged`, whose faster and slower become ambiguous where the times are `withinOverhead`.
JudgedRatio besideOverhead(JudgedRatio judged, const SideTime &numerator, const SideTime &denominator);

/// Seconds of each start of a process, of each of its rounds, of each repetition.
using Starts = std::vector<std::vector<std::vector<double>>>;

/// Of sides that had their turns in each round: ratioOverStarts. Throws Error as that does.
JudgedRatio judgeInTurns(const Starts &numerator, const Starts &denominator, double band = indifference);

/// Of two independent sets of observations: ratioOfMedians.
JudgedRatio judgeApart(std::span<const double> numerator, std::span<const double> denominator,
                       double band = indifference);

} // namespace lathe::lab
