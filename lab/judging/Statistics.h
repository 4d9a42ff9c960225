// What a set of timings says, and how sure one may be of it.
//
// Times of programs are not normal: they have a floor and a long tail. So the centre is the median, its uncertainty
// comes from ranks or resampling. What follows from a ratio and its interval is in Verdict.h. Samples are in any one
// unit.
#pragma once

#include "lab/machine/Counts.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace lathe::lab {

struct Summary {
  size_t count = 0;
  double median = 0, mean = 0, min = 0, max = 0;
  double standardDeviation = 0; // of the sample (n - 1); 0 for one value
  double deviation = 0;         // median absolute deviation from the median, unscaled
  double p05 = 0, p25 = 0, p75 = 0, p95 = 0, p99 = 0;
};

/// All zero for no samples.
Summary summarize(std::span<const double> samples);

double median(std::span<const double> samples);
/// The `percent`th percentile, linear between neighbours (NumPy's default); 0 gives the least, 100 the largest.
double percentile(std::span<const double> samples, double percent);

struct Interval {
  double low = 0, high = 0;
  bool holds(double value) const { return low <= value && value <= high; }
};

/// Interval that covers the true median with at least `confidence`, whatever the distribution: order statistics (k, n +
/// 1 - k) with the binomial tail below them at most (1 - confidence) / 2. With too few samples for that (fewer than 6
/// at 0.95) the whole range.
Interval medianInterval(std::span<const double> samples, double confidence = 0.95);

struct RatioEstimate {
  double ratio = 0;     // median(numerator) / median(denominator)
  Interval interval;    // of the confidence asked for
  bool isRange = false; // too few observations for that confidence: `interval` is their whole range and nothing more
};

/// Percentile bootstrap of the ratio of medians of two independent sets. Deterministic for a given seed. The interval is
/// a range where even sets that lie wholly apart would not reject equality (the exact test of Mann and Whitney): of two
/// sets of equal size, with fewer than 4 observations each at 0.95, than 6 at 0.995.
RatioEstimate ratioOfMedians(std::span<const double> numerator, std::span<const double> denominator,
                             double confidence = 0.95, int resamples = 2000, uint64_t seed = 1);

/// The same for sets that were measured in turns: element i of each holds the samples of round i. What slowed down both
/// sides of a round (clock, neighbours) cancels in the round's ratio of medians, what slowed down one side of a few
/// rounds is outvoted, and what lasts for a round is not taken for many independent observations: the Hodges-Lehmann
/// estimate (median of the means of all pairs, on logarithms) of the rounds' ratios, with the interval of the ratios
/// that Wilcoxon's signed-rank test does not reject (Hollander, Wolfe, Chicken: Nonparametric Statistical Methods, 3.2
/// and 3.3; exact up to 60 rounds, normal beyond). It is sharper than order statistics where a round's ratio errs as
/// often by a factor as by its inverse, which turns taken in one run see to. With too few rounds for the confidence
/// (fewer than 6 at 0.95, than 9 at 0.995) the interval is a range. Throws Error when the numbers of rounds differ or a
/// round is empty.
RatioEstimate rankedRatioInRounds(const std::vector<std::vector<double>> &numerator,
                                  const std::vector<std::vector<double>> &denominator, double confidence = 0.95);

/// The ratio over several starts of the processes (element i of each: the rounds of start i), as Kalibera and Jones
/// ("Rigorous benchmarking in reasonable time", 2013) ask: where a process finds its memory decides a few percent that
/// no number of rounds averages out. Each start gives its Hodges-Lehmann ratio; the estimate is their geometric mean,
/// the interval Student's over the starts. With fewer than three starts: rankedRatioInRounds over all rounds.
RatioEstimate ratioOverStarts(const std::vector<std::vector<std::vector<double>>> &numerator,
                              const std::vector<std::vector<std::vector<double>>> &denominator,
                              double confidence = 0.95);

/// What a series of rounds shows besides its centre.
struct SeriesCheck {
  double outlierShare =
      0;               // of samples above the third quartile by more than three times the interquartile range (Tukey)
  double drift = 0;    // relative change of the rounds' medians from the first to the last by the Theil-Sen line
  bool drifts = false; // Mann and Kendall's test rejects that there is none (5 %), and it is more than 2 %
};
SeriesCheck checkSeries(const std::vector<std::vector<double>> &rounds);

/// Geometric mean of ratios with the percentile bootstrap's interval, the ratios drawn anew: how much depends on which
/// ones happen to be among them, not on how well each is known. Deterministic for a given seed. With too few ratios (6 at
/// 0.95) the interval is a range. Throws Error for none and for one that is not positive.
RatioEstimate geometricMean(std::span<const double> ratios, double confidence = 0.95, int resamples = 2000,
                            uint64_t seed = 1);

/// When to stop sampling.
struct StoppingRule {
  size_t minSamples = 10;
  size_t maxSamples = 10000;
  double maxSeconds = 10;           // of measuring
  double relativeHalfWidth = 0.005; // of the median's interval: precise enough

  bool satisfied(std::span<const double> samples, double elapsedSeconds) const;
};

/// Samples in seconds, keys in milliseconds: count, median_ms, mean_ms, min_ms, max_ms, std_ms, mad_ms, p05_ms ...
/// p99_ms.
nlohmann::json toJson(const Summary &seconds);
/// {"time": the summary, "rounds_ns": each round's samples, rounded to nanoseconds, "counts": of each round}; empty
/// where nothing was timed.
nlohmann::json timesToJson(const Summary &seconds, const std::vector<std::vector<double>> &rounds,
                           const std::vector<Counts> &counts);

} // namespace lathe::lab
