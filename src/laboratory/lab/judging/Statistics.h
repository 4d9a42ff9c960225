// Statistics of timings.
//
// Times of programs are not normally distributed: they have a lower bound and a long tail. The
// estimate is therefore the median, and its uncertainty comes from ranks or resampling. Verdict.h
// draws conclusions from ratios and intervals. Samples may have any unit.
#pragma once

#include "lab/judging/Counts.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace lathe::lab {

struct Summary {
  size_t count = 0;
  double median = 0, mean = 0, min = 0, max = 0;
  double standardDeviation = 0; // standard deviation of the sample (divisor n - 1); 0 for one value
  double deviation = 0;         // median absolute deviation from the median, unscaled
  double p05 = 0, p25 = 0, p75 = 0, p95 = 0, p99 = 0;
};

/// Summarises samples. All figures are zero if there are no samples.
Summary summarize(std::span<const double> samples);

double median(std::span<const double> samples);
/// The `percent`th percentile of samples, interpolated linearly (NumPy's default); 0 gives the minimum, 100 the
/// maximum.
double percentile(std::span<const double> samples, double percent);

/// Returns the indices of the runs of a profile that count, fastest first: the fastest quarter by the
/// time of the whole run (`whole`), rounded up. All times of a profile are means over these runs
/// (docs/profiling.md).
std::vector<size_t> fastestQuarter(std::span<const double> whole);
/// Mean of the samples whose indices are in `indices`, which is not empty.
double meanAt(std::span<const double> samples, std::span<const size_t> indices);

struct Interval {
  double low = 0, high = 0;
  bool holds(double value) const { return low <= value && value <= high; }
};

/// Interval that contains the true median of samples with at least this `confidence` for any distribution: order
/// statistics (k, n + 1 - k) with a binomial tail of at most (1 - confidence) / 2 below k. With too few samples (fewer
/// than 6 at 0.95) it is the whole range. The samples must be independent; repetitions of one process are not
/// (medianOverStarts).
Interval medianInterval(std::span<const double> samples, double confidence = 0.95);

/// Times of one side of a comparison in seconds: for every process start a list of rounds, and in each round the times
/// of its repetitions.
using Starts = std::vector<std::vector<std::vector<double>>>;

/// A statistic of samples (a member of Summary) that stands for their time, such as the median.
using Statistic = double Summary::*;
struct NamedStatistic {
  std::string_view name;
  Statistic statistic;
};
/// The statistics that the page of reports offers for times; the first one is the median.
constexpr NamedStatistic shownStatistics[] = {
    {"median", &Summary::median},       {"minimum", &Summary::min},  {"mean", &Summary::mean},
    {"5th percentile", &Summary::p05},  {"quartile", &Summary::p25}, {"third quartile", &Summary::p75},
    {"95th percentile", &Summary::p95},
};

/// The times of one side of a comparison by one statistic: all that comparisons need. The value of a round or start
/// without samples is NaN.
struct SideTimes {
  SideTimes() = default;
  /// Reduces the times of a side by the median.
  SideTimes(const Starts &starts);

  Statistic statistic = &Summary::median;
  std::vector<double> rounds; // statistic of each round, start by start
  std::vector<double> starts; // statistic of all samples of each start
  std::vector<size_t> roundsOfStarts;
  double whole = 0;  // statistic of all samples
  double median = 0; // median of all samples
  Interval range;    // range of all samples
};
/// Reduces the times of a side by each of `statistics`.
std::vector<SideTimes> timesBy(const Starts &starts, std::span<const NamedStatistic> statistics);

/// An estimate of a median time from several process starts, with an interval.
struct MedianEstimate {
  Interval interval;
  bool isRange = false; // true: too few starts, so `interval` is only the range of the measurements
};

/// Returns an interval that holds 95 % of the medians of the process starts (of fewer than 40 starts: all medians),
/// because what the memory of a process changes lasts as long as the process. It does not become narrower with more
/// starts: the starts of one run are close in time, so they say little about another run (docs/measuring.md). With
/// fewer than 6 starts it is called a range; of one start it is the range of the medians of its rounds; of one round
/// the range of its samples. Without samples: zero.
MedianEstimate medianOverStarts(const SideTimes &side);

struct RatioEstimate {
  double ratio = 0;     // numerator / denominator; the function that returns the estimate says of what
  Interval interval;    // interval of the ratio, for the requested confidence
  bool isRange = false; // true: too few observations for the confidence, so `interval` is only their range
};

/// Ratio of two sets measured in turns: element i of each has the samples of round i. Each round
/// gives a ratio of medians, in which a disturbance of both sides (clock frequency, other programs)
/// cancels. A disturbance of one side in a few rounds has little influence on the estimate.
/// The estimate is the Hodges-Lehmann estimate of the logarithms of the ratios (median of the means
/// of all pairs). The interval has the ratios that Wilcoxon's signed-rank test does not reject
/// (Hollander, Wolfe, Chicken: Nonparametric Statistical Methods, 3.2 and 3.3; exact up to 60
/// rounds, then normal). The test assumes that the logarithms are distributed symmetrically, which
/// holds for sets measured in turns; the interval is then narrower than one from order statistics.
/// With too few rounds (fewer than 6 at 0.95, or 9 at 0.995) the interval is only a range. Throws
/// Error if the numbers of rounds differ or a round is empty.
RatioEstimate rankedRatioInRounds(const std::vector<std::vector<double>> &numerator,
                                  const std::vector<std::vector<double>> &denominator, double confidence = 0.95);

/// Ratio over several process starts, which both sides have in equal number, as proposed by
/// Kalibera and Jones ("Rigorous benchmarking in reasonable time", 2013): the placement of a
/// process in memory changes times by a few percent, which no number of rounds averages out. Each
/// start gives its Hodges-Lehmann ratio. The estimate is their geometric mean, with Student's
/// interval over the starts. With fewer than three starts it is the Hodges-Lehmann ratio of all
/// rounds, with the range of the ratios of the rounds. For another statistic than the median, the ratio of the starts'
/// (of all samples') statistics replaces the Hodges-Lehmann ratio.
RatioEstimate ratioOverStarts(const SideTimes &numerator, const SideTimes &denominator, double confidence = 0.95);
/// Ratio over several process starts, as ratioOverStarts gives it, for several confidences without repeating the work.
class RatioOverStarts {
public:
  RatioOverStarts(const SideTimes &numerator, const SideTimes &denominator);
  RatioEstimate at(double confidence) const;

private:
  std::vector<double> logarithms; // logarithms of the ratio of each start; empty: too few starts
  RatioEstimate range;            // the estimate if there are too few starts
};

/// Ratio of two sets of starts that took no turns together. With three or more starts on both sides it is the ratio of
/// the medians of the starts' medians, and the interval contains `confidence` of the ratios of all pairs of starts. A
/// bootstrap over the starts would be narrower, but wrong: if a machine is slow for a minute, all starts of a run are
/// slow. With too few starts the interval is only a range: fewer than 4 on each side at 0.95, or 6 at 0.995. (Even if
/// all starts of one side were faster, the exact Mann-Whitney test could not reject equality.) With fewer than three
/// starts it is the ratio of the medians of all rounds with their range (of all samples, if a side has one round).
/// Throws Error if a side has no samples.
RatioEstimate ratioApart(const SideTimes &numerator, const SideTimes &denominator, double confidence = 0.95);

/// Smallest number of process starts per side for any verdict: with fewer, the difference between starts is unknown.
constexpr size_t leastStarts = 3;
/// Smallest number of process starts of both sides with which ratioApart may call one side faster: then its 99.5 %
/// interval is a confidence interval and not a range. For unequal numbers see canDecideApart.
constexpr size_t leastStartsApart = 6;
/// True if two sides with these numbers of process starts, not measured in turns, can have a verdict other than
/// ambiguous or same.
bool canDecideApart(size_t numeratorStarts, size_t denominatorStarts);

/// Figures that show whether the times of a series of rounds are doubtful: outliers and drift.
struct SeriesCheck {
  double outlierShare = 0; // share of samples more than 3 interquartile ranges above the third quartile (Tukey)
  double drift = 0;        // relative change of the medians from the first to the last round (Theil-Sen)
  bool drifts = false;     // true: the Mann-Kendall test finds a drift (level 5 %) and it exceeds 2 %
};
SeriesCheck checkSeries(const std::vector<std::vector<double>> &rounds);

/// Geometric mean of ratios with a percentile-bootstrap interval over the ratios. The interval reflects the choice of
/// the ratios, not the uncertainty of each ratio. Deterministic for a given seed. With too few ratios (fewer than 6 at
/// 0.95) the interval is only a range. Throws Error if there are no ratios and for a ratio that is not positive.
RatioEstimate geometricMean(std::span<const double> ratios, double confidence = 0.95, int resamples = 2000,
                            uint64_t seed = 1);

/// Decides when a measurement has enough samples.
struct StoppingRule {
  size_t minSamples = 10;
  size_t maxSamples = 10000;
  double maxSeconds = 10; // limit of the measuring time in seconds
  // half width of the median's interval, relative to the median, that is precise enough
  double relativeHalfWidth = 0.005;

  bool satisfied(std::span<const double> samples, double elapsedSeconds) const;
};

/// JSON of a summary of times in seconds, with keys in milliseconds: count, median_ms, mean_ms, min_ms, max_ms,
/// std_ms, mad_ms, p05_ms ... p99_ms.
nlohmann::json toJson(const Summary &seconds);
/// JSON of a series of rounds: {"time": the summary, "rounds_ns": samples of each round in nanoseconds, "counts":
/// hardware counters of each round}. "counts" is absent if `counts` is empty; without rounds the object is empty.
nlohmann::json timesToJson(const Summary &seconds, const std::vector<std::vector<double>> &rounds,
                           const std::vector<Counts> &counts);

} // namespace lathe::lab
