#include "lab/judging/Statistics.h"

#include "support/Error.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace lathe::lab {

static std::vector<double> sorted(std::span<const double> samples) {
  std::vector<double> values(samples.begin(), samples.end());
  std::sort(values.begin(), values.end());
  return values;
}

static double percentileOfSorted(const std::vector<double> &values, double percent) {
  if (values.empty())
    return 0;
  double position = std::clamp(percent, 0.0, 100.0) / 100 * double(values.size() - 1);
  auto below = size_t(position);
  if (below + 1 >= values.size())
    return values.back();
  return values[below] + (position - double(below)) * (values[below + 1] - values[below]);
}

double percentile(std::span<const double> samples, double percent) {
  return percentileOfSorted(sorted(samples), percent);
}

/// The median of `values`, which are reordered.
static double medianInPlace(std::vector<double> &values) {
  if (values.empty())
    return 0;
  auto middle = values.begin() + int64_t(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2)
    return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

double median(std::span<const double> samples) {
  std::vector<double> values(samples.begin(), samples.end());
  return medianInPlace(values);
}

std::vector<size_t> fastestQuarter(std::span<const double> whole) {
  std::vector<size_t> order(whole.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return std::pair(whole[a], a) < std::pair(whole[b], b); });
  order.resize((order.size() + 3) / 4);
  return order;
}

double meanAt(std::span<const double> samples, std::span<const size_t> indices) {
  double sum = 0;
  for (size_t i : indices)
    sum += samples[i];
  return sum / double(indices.size());
}

/// The statistics of sorted values that pages show (shownStatistics).
static Summary shownOf(const std::vector<double> &values) {
  Summary summary;
  if (values.empty())
    return summary;
  size_t middle = values.size() / 2;
  summary.count = values.size();
  summary.min = values.front();
  summary.max = values.back();
  summary.median = values.size() % 2 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
  summary.mean = std::accumulate(values.begin(), values.end(), 0.0) / double(values.size());
  summary.p05 = percentileOfSorted(values, 5);
  summary.p25 = percentileOfSorted(values, 25);
  summary.p75 = percentileOfSorted(values, 75);
  summary.p95 = percentileOfSorted(values, 95);
  return summary;
}

Summary summarize(std::span<const double> samples) {
  auto values = sorted(samples);
  Summary summary = shownOf(values);
  if (samples.empty())
    return summary;
  auto n = double(values.size());
  summary.median = percentileOfSorted(values, 50);
  double squares = 0;
  std::vector<double> deviations;
  for (double value : values) {
    squares += (value - summary.mean) * (value - summary.mean);
    deviations.push_back(std::abs(value - summary.median));
  }
  summary.standardDeviation = values.size() > 1 ? std::sqrt(squares / (n - 1)) : 0;
  summary.deviation = medianInPlace(deviations);
  summary.p99 = percentileOfSorted(values, 99);
  return summary;
}

Interval medianInterval(std::span<const double> samples, double confidence) {
  if (samples.empty())
    return {};
  auto values = sorted(samples);
  auto n = double(values.size());
  // The largest k (from 1) with P(Binomial(n, 1/2) < k) <= tail, in log space because 2^-n underflows.
  double tail = (1 - confidence) / 2, below = 0;
  size_t k = 0;
  for (size_t i = 0; i < values.size() / 2; ++i) {
    auto x = double(i);
    below += std::exp(std::lgamma(n + 1) - std::lgamma(x + 1) - std::lgamma(n - x + 1) - n * std::log(2.0));
    if (below > tail)
      break;
    k = i + 1;
  }
  if (k == 0)
    return {values.front(), values.back()};
  return {values[k - 1], values[values.size() - k]};
}

static Interval rangeOf(std::span<const double> values) {
  if (values.empty())
    return {};
  auto [low, high] = std::minmax_element(values.begin(), values.end());
  return {*low, *high};
}

/// The interval that contains the share `confidence` of `values`, which are sorted; half of the rest is cut off at
/// either end, rounded down.
static Interval holding(const std::vector<double> &values, double confidence) {
  auto outside = size_t((1 - confidence) / 2 * double(values.size()));
  return {values[outside], values[values.size() - 1 - outside]};
}

/// Merges sorted values into sorted ones.
static void mergeInto(std::vector<double> &values, const std::vector<double> &more) {
  std::vector<double> both(values.size() + more.size());
  std::merge(values.begin(), values.end(), more.begin(), more.end(), both.begin());
  values = std::move(both);
}

std::vector<SideTimes> timesBy(const Starts &starts, std::span<const NamedStatistic> statistics) {
  std::vector<SideTimes> sides(statistics.size());
  /// Appends each statistic of sorted samples to the list `to` of its side; NaN without samples.
  auto append = [&](std::vector<double> SideTimes::*to, const std::vector<double> &samples) {
    Summary summary = shownOf(samples);
    for (size_t i = 0; i < sides.size(); ++i)
      (sides[i].*to).push_back(samples.empty() ? NAN : summary.*statistics[i].statistic);
  };
  std::vector<double> all;
  for (auto &start : starts) {
    std::vector<double> pooled;
    for (auto &round : start) {
      std::vector<double> samples = sorted(round);
      append(&SideTimes::rounds, samples);
      mergeInto(pooled, samples);
    }
    append(&SideTimes::starts, pooled);
    mergeInto(all, pooled);
  }
  Summary summary = shownOf(all);
  for (size_t i = 0; i < sides.size(); ++i) {
    SideTimes &side = sides[i];
    side.statistic = statistics[i].statistic;
    for (auto &start : starts)
      side.roundsOfStarts.push_back(start.size());
    side.whole = summary.*side.statistic;
    side.median = summary.median;
    side.range = {summary.min, summary.max};
  }
  return sides;
}

SideTimes::SideTimes(const Starts &starts) { *this = std::move(timesBy(starts, {shownStatistics, 1}).front()); }

MedianEstimate medianOverStarts(const SideTimes &side) {
  constexpr size_t enough = 6; // 2 / 2^6 is below 5 %
  if (side.starts.size() >= enough)
    return {holding(sorted(side.starts), 0.95)};
  if (side.starts.size() > 1)
    return {rangeOf(side.starts), true};
  return {side.rounds.size() > 1 ? rangeOf(side.rounds) : side.range, true};
}

static Interval middleOf(std::vector<double> &ratios, double confidence) {
  std::sort(ratios.begin(), ratios.end());
  double tail = (1 - confidence) / 2 * 100;
  return {percentileOfSorted(ratios, tail), percentileOfSorted(ratios, 100 - tail)};
}

namespace {

/// Random numbers of 32 bits (Marsaglia's xorshift), cheap in JavaScript as well: the page of reports draws the same ones
/// (report/page/src/data/statistics.ts) for means over the points that its reader has chosen.
class Drawing {
public:
  explicit Drawing(uint64_t seed) : state(uint32_t(seed) * first) {
    if (state == 0)
      state = first;
  }
  uint32_t operator()() {
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state;
  }

private:
  static constexpr uint32_t first = 2463534242;
  uint32_t state;
};

} // namespace

/// True if the exact two-sided test of Mann and Whitney can reject at all. If all values of one set are below all of
/// the other, two of C(m + n, m) orders are as extreme.
static bool canReject(size_t m, size_t n, double confidence) {
  double logarithm = std::lgamma(double(m + n) + 1) - std::lgamma(double(m) + 1) - std::lgamma(double(n) + 1);
  return 2 * std::exp(-logarithm) <= 1 - confidence;
}

static RatioEstimate withRange(std::span<const double> numerator, std::span<const double> denominator) {
  Interval top = rangeOf(numerator), bottom = rangeOf(denominator);
  return {median(numerator) / median(denominator), {top.low / bottom.high, top.high / bottom.low}, true};
}

RatioEstimate ratioApart(const SideTimes &numerator, const SideTimes &denominator, double confidence) {
  const std::vector<double> &tops = numerator.starts, &bottoms = denominator.starts;
  if (std::min(tops.size(), bottoms.size()) >= leastStarts) {
    RatioEstimate estimate = withRange(tops, bottoms);
    if (!canReject(tops.size(), bottoms.size(), confidence))
      return estimate;
    std::vector<double> ratios; // of all pairs
    for (double top : tops)
      for (double bottom : bottoms)
        ratios.push_back(top / bottom);
    std::sort(ratios.begin(), ratios.end());
    return {estimate.ratio, holding(ratios, confidence)};
  }
  require(!numerator.rounds.empty() && !denominator.rounds.empty(), "ratio apart: no samples");
  if (std::min(numerator.rounds.size(), denominator.rounds.size()) >= 2)
    return withRange(numerator.rounds, denominator.rounds);
  Interval top = numerator.range, bottom = denominator.range;
  return {numerator.median / denominator.median, {top.low / bottom.high, top.high / bottom.low}, true};
}

bool canDecideApart(size_t numeratorStarts, size_t denominatorStarts) {
  constexpr double sureConfidence = 0.995; // the confidence of the verdicts faster and slower (Verdict.h)
  return std::min(numeratorStarts, denominatorStarts) >= leastStarts &&
         canReject(numeratorStarts, denominatorStarts, sureConfidence);
}

/// Each round's ratio.
static std::vector<double> ratiosOfRounds(std::span<const double> numerator, std::span<const double> denominator) {
  require(numerator.size() == denominator.size() && !numerator.empty(), "ratio of medians: {} rounds against {}",
          numerator.size(), denominator.size());
  std::vector<double> ratios;
  for (size_t i = 0; i < numerator.size(); ++i) {
    ratios.push_back(numerator[i] / denominator[i]);
    require(!std::isnan(ratios.back()), "ratio of medians: round {} has no samples", i);
  }
  return ratios;
}

/// The largest w for which P(signed-rank sum of `n` <= w) is at most `tail`, or -1.
static int64_t signedRankQuantile(size_t n, double tail) {
  size_t most = n * (n + 1) / 2;
  if (n > 60) { // the normal approximation, with 1/2 for continuity
    double mean = double(most) / 2, deviation = std::sqrt(double(n) * double(n + 1) * double(2 * n + 1) / 24);
    double low = -40, high = 0; // P(Z <= z) = tail by bisection
    for (int i = 0; i < 200; ++i) {
      double middle = (low + high) / 2;
      (0.5 * std::erfc(-middle / std::sqrt(2.0)) > tail ? high : low) = middle;
    }
    return int64_t(std::floor(mean + low * deviation - 0.5));
  }
  std::vector<double> probability(most + 1); // of each sum
  probability[0] = 1;
  for (size_t rank = 1; rank <= n; ++rank)
    for (size_t sum = most + 1; sum-- > 0;)
      probability[sum] = (probability[sum] + (sum >= rank ? probability[sum - rank] : 0)) / 2;
  double below = 0;
  for (size_t sum = 0; sum <= most; ++sum) {
    below += probability[sum];
    if (below > tail)
      return int64_t(sum) - 1;
  }
  return int64_t(most);
}

/// Means of the logarithms of all pairs of `ratios`, each with itself, too, in ascending order.
static std::vector<double> pairMeans(const std::vector<double> &ratios) {
  std::vector<double> logarithms, means;
  for (double ratio : ratios)
    logarithms.push_back(std::log(ratio));
  for (size_t i = 0; i < ratios.size(); ++i)
    for (size_t j = 0; j <= i; ++j)
      means.push_back((logarithms[i] + logarithms[j]) / 2);
  std::sort(means.begin(), means.end());
  return means;
}

RatioEstimate rankedRatioInRounds(const std::vector<std::vector<double>> &numerator,
                                  const std::vector<std::vector<double>> &denominator, double confidence) {
  auto ratios = ratiosOfRounds(SideTimes({numerator}).rounds, SideTimes({denominator}).rounds);
  std::vector<double> means = pairMeans(ratios);
  int64_t k = signedRankQuantile(ratios.size(), (1 - confidence) / 2);
  size_t cut = size_t(std::max<int64_t>(0, k)); // sums up to k are rejected, so the interval begins with the (k + 1)th
  cut = std::min(cut, (means.size() - 1) / 2);
  return {
      std::exp(percentileOfSorted(means, 50)), {std::exp(means[cut]), std::exp(means[means.size() - 1 - cut])}, k < 0};
}

/// P(T <= t) for Student's distribution with `freedom` degrees: Abramowitz and Stegun, 26.7.3 and 26.7.4.
static double studentBelow(double t, int freedom) {
  double angle = std::atan2(t, std::sqrt(double(freedom))), cosine = std::cos(angle), sine = std::sin(angle);
  double sum = 0, term = freedom % 2 ? cosine : 1;
  for (int power = freedom % 2; power <= freedom - 2; power += 2) {
    sum += term;
    term *= cosine * cosine * double(power + 1) / double(power + 2);
  }
  double between = freedom % 2 ? 2 / M_PI * (angle + sine * sum) : sine * sum; // P(-t <= T <= t)
  return 0.5 + between / 2;
}

/// The t such that |T| <= t with probability `confidence` in Student's distribution.
static double studentQuantile(double confidence, int freedom) {
  thread_local std::map<std::pair<double, int>, double> known; // a page asks for each of its pairs
  auto [place, isNew] = known.try_emplace({confidence, freedom});
  if (!isNew)
    return place->second;
  double low = 0, high = 1e4;
  for (int i = 0; i < 200; ++i) {
    double middle = (low + high) / 2;
    (2 * studentBelow(middle, freedom) - 1 < confidence ? low : high) = middle;
  }
  return place->second = high;
}

RatioOverStarts::RatioOverStarts(const SideTimes &numerator, const SideTimes &denominator) {
  require(numerator.starts.size() == denominator.starts.size() && !numerator.starts.empty(),
          "ratio over starts: {} against {}", numerator.starts.size(), denominator.starts.size());
  bool ranked = numerator.statistic == &Summary::median;
  auto rankedRatio = [](const std::vector<double> &ratios) {
    return std::exp(percentileOfSorted(pairMeans(ratios), 50));
  };
  std::span<const double> tops = numerator.rounds, bottoms = denominator.rounds;
  if (numerator.starts.size() < leastStarts) {
    std::vector<double> ratios = ratiosOfRounds(tops, bottoms);
    range = {ranked ? rankedRatio(ratios) : numerator.whole / denominator.whole, rangeOf(ratios), true};
    return;
  }
  for (size_t i = 0; i < numerator.starts.size(); ++i) {
    size_t above = numerator.roundsOfStarts[i], below = denominator.roundsOfStarts[i];
    logarithms.push_back(std::log(ranked ? rankedRatio(ratiosOfRounds(tops.first(above), bottoms.first(below)))
                                         : numerator.starts[i] / denominator.starts[i]));
    tops = tops.subspan(above), bottoms = bottoms.subspan(below);
  }
}

RatioEstimate RatioOverStarts::at(double confidence) const {
  if (logarithms.empty())
    return range;
  Summary summary = summarize(logarithms);
  auto n = double(logarithms.size());
  double half = studentQuantile(confidence, int(logarithms.size()) - 1) * summary.standardDeviation / std::sqrt(n);
  return {std::exp(summary.mean), {std::exp(summary.mean - half), std::exp(summary.mean + half)}};
}

RatioEstimate ratioOverStarts(const SideTimes &numerator, const SideTimes &denominator, double confidence) {
  return RatioOverStarts(numerator, denominator).at(confidence);
}

SeriesCheck checkSeries(const std::vector<std::vector<double>> &rounds) {
  SeriesCheck check;
  std::vector<double> pooled, medians;
  for (auto &round : rounds) {
    pooled.insert(pooled.end(), round.begin(), round.end());
    if (!round.empty())
      medians.push_back(median(round));
  }
  if (pooled.empty())
    return check;
  auto values = sorted(pooled);
  double upper = percentileOfSorted(values, 75), fence = upper + 3 * (upper - percentileOfSorted(values, 25));
  auto outside = std::count_if(values.begin(), values.end(), [&](double value) { return value > fence; });
  check.outlierShare = double(outside) / double(values.size());
  auto n = double(medians.size());
  if (medians.size() < 4)
    return check;
  double concordance = 0;
  std::vector<double> slopes;
  for (size_t i = 0; i < medians.size(); ++i)
    for (size_t j = i + 1; j < medians.size(); ++j) {
      concordance += medians[j] > medians[i] ? 1 : medians[j] < medians[i] ? -1 : 0;
      slopes.push_back((medians[j] - medians[i]) / double(j - i));
    }
  check.drift = medianInPlace(slopes) * (n - 1) / median(medians);
  double deviation = std::sqrt(n * (n - 1) * (2 * n + 5) / 18);
  double z = (std::abs(concordance) - 1) / deviation; // continuity correction of 1
  check.drifts = z > 1.959964 && std::abs(check.drift) > 0.02;
  return check;
}

RatioEstimate geometricMean(std::span<const double> ratios, double confidence, int resamples, uint64_t seed) {
  require(!ratios.empty(), "geometric mean: no ratios");
  std::vector<double> logarithms;
  for (double ratio : ratios) {
    require(ratio > 0, "geometric mean: expected positive ratios, got {}", ratio);
    logarithms.push_back(std::log(ratio));
  }
  auto count = double(logarithms.size());
  Drawing random(seed);
  std::vector<double> means;
  for (int i = 0; i < resamples; ++i) {
    double sum = 0;
    for (size_t drawn = 0; drawn < logarithms.size(); ++drawn)
      sum += logarithms[random() % logarithms.size()];
    means.push_back(std::exp(sum / count));
  }
  double mean = std::exp(std::accumulate(logarithms.begin(), logarithms.end(), 0.0) / count);
  if (2 * std::exp2(-count) > 1 - confidence) { // not even the sign test could reject anything
    return {mean, rangeOf(ratios), true};
  }
  return {mean, middleOf(means, confidence)};
}

bool StoppingRule::satisfied(std::span<const double> samples, double elapsedSeconds) const {
  if (samples.size() >= maxSamples || (elapsedSeconds >= maxSeconds && !samples.empty()))
    return true;
  if (samples.size() < minSamples)
    return false;
  Interval interval = medianInterval(samples);
  return (interval.high - interval.low) / 2 <= relativeHalfWidth * median(samples);
}

nlohmann::json toJson(const Summary &seconds) {
  return {{"count", seconds.count},
          {"median_ms", seconds.median * 1e3},
          {"mean_ms", seconds.mean * 1e3},
          {"min_ms", seconds.min * 1e3},
          {"max_ms", seconds.max * 1e3},
          {"std_ms", seconds.standardDeviation * 1e3},
          {"mad_ms", seconds.deviation * 1e3},
          {"p05_ms", seconds.p05 * 1e3},
          {"p25_ms", seconds.p25 * 1e3},
          {"p75_ms", seconds.p75 * 1e3},
          {"p95_ms", seconds.p95 * 1e3},
          {"p99_ms", seconds.p99 * 1e3}};
}

nlohmann::json timesToJson(const Summary &seconds, const std::vector<std::vector<double>> &rounds,
                           const std::vector<Counts> &counts) {
  auto document = nlohmann::json::object();
  if (rounds.empty())
    return document;
  document["time"] = toJson(seconds);
  document["rounds_ns"] = nlohmann::json::array();
  for (auto &round : rounds) {
    auto samples = nlohmann::json::array();
    for (double sample : round)
      samples.push_back(std::llround(sample * 1e9));
    document["rounds_ns"].push_back(std::move(samples));
  }
  for (const Counts &round : counts)
    document["counts"].push_back(toJson(round));
  return document;
}

} // namespace lathe::lab
