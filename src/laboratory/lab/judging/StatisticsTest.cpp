#include "lab/judging/Statistics.h"

#include "support/Error.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

using namespace lathe::lab;

static std::vector<double> normalSamples(std::mt19937_64 &random, double mean, double deviation, int count) {
  std::normal_distribution<double> distribution(mean, deviation);
  std::vector<double> values(size_t(count), 0.0);
  for (double &value : values)
    value = distribution(random);
  return values;
}

TEST(Statistics, summaryOfKnownValues) {
  std::vector<double> values{4, 1, 3, 2, 10};
  Summary s = summarize(values);
  EXPECT_EQ(s.count, 5u);
  EXPECT_DOUBLE_EQ(s.median, 3);
  EXPECT_DOUBLE_EQ(s.mean, 4);
  EXPECT_DOUBLE_EQ(s.min, 1);
  EXPECT_DOUBLE_EQ(s.max, 10);
  EXPECT_DOUBLE_EQ(s.standardDeviation, std::sqrt(12.5));
  EXPECT_DOUBLE_EQ(s.deviation, 1); // |1-3| |2-3| |3-3| |4-3| |10-3| -> 0 1 1 2 7
  EXPECT_DOUBLE_EQ(s.p25, 2);
  EXPECT_DOUBLE_EQ(s.p95, 8.8); // as numpy.percentile([1, 2, 3, 4, 10], 95)
  EXPECT_EQ(summarize({}).count, 0u);
  EXPECT_DOUBLE_EQ(summarize(std::vector<double>{7}).standardDeviation, 0);
}

TEST(Statistics, percentilesAndMediansOfEvenCounts) {
  std::vector<double> values{1, 2, 3, 4};
  EXPECT_DOUBLE_EQ(median(values), 2.5);
  EXPECT_DOUBLE_EQ(percentile(values, 0), 1);
  EXPECT_DOUBLE_EQ(percentile(values, 100), 4);
  EXPECT_DOUBLE_EQ(percentile(values, 10), 1.3);
}

TEST(Statistics, theFastestQuarterCountsInProfiles) {
  using Indices = std::vector<size_t>;
  EXPECT_EQ(fastestQuarter(std::vector<double>{5, 1, 4, 3, 2, 6, 8, 7}), (Indices{1, 4}));
  EXPECT_EQ(fastestQuarter(std::vector<double>{5, 1, 4, 3, 2}), (Indices{1, 4})); // rounded up
  EXPECT_EQ(fastestQuarter(std::vector<double>{5}), (Indices{0}));
  EXPECT_EQ(fastestQuarter(std::vector<double>{}), Indices{});
  EXPECT_DOUBLE_EQ(meanAt(std::vector<double>{1, 2, 4, 8}, Indices{3, 1}), 5);
}

TEST(Statistics, medianIntervalFollowsTheBinomialTable) {
  // Conover, table of 95 % intervals: n = 10 gives ranks 2 and 9, n = 20 ranks 6 and 15, n = 5 has none.
  std::vector<double> values;
  for (int i = 1; i <= 20; ++i)
    values.push_back(i);
  Interval ten = medianInterval(std::span(values).first(10));
  EXPECT_EQ(ten.low, 2);
  EXPECT_EQ(ten.high, 9);
  Interval twenty = medianInterval(values);
  EXPECT_EQ(twenty.low, 6);
  EXPECT_EQ(twenty.high, 15);
  Interval five = medianInterval(std::span(values).first(5));
  EXPECT_EQ(five.low, 1);
  EXPECT_EQ(five.high, 5);
}

/// Samples of one start agree, but starts differ: an interval over samples would cover only one start.
TEST(Statistics, medianOverStartsTakesAStartForOneObservation) {
  auto start = [](double time) { return std::vector<std::vector<double>>(5, {time, time * 1.001, time * 0.999}); };
  Starts starts;
  for (double time : {1.00, 1.05, 0.97, 1.02, 1.04})
    starts.push_back(start(time));
  MedianEstimate five = medianOverStarts(starts);
  EXPECT_TRUE(five.isRange);
  EXPECT_DOUBLE_EQ(five.interval.low, 0.97);
  EXPECT_DOUBLE_EQ(five.interval.high, 1.05);
  starts.push_back(start(0.95));
  MedianEstimate six = medianOverStarts(starts);
  EXPECT_FALSE(six.isRange);
  EXPECT_DOUBLE_EQ(six.interval.low, 0.95);
  EXPECT_DOUBLE_EQ(six.interval.high, 1.05);
  MedianEstimate one = medianOverStarts(Starts{{{1, 2, 3}, {4, 5, 6}}}); // its rounds
  EXPECT_TRUE(one.isRange);
  EXPECT_DOUBLE_EQ(one.interval.low, 2);
  EXPECT_DOUBLE_EQ(one.interval.high, 5);
  MedianEstimate round = medianOverStarts(Starts{{{1, 2, 3}}}); // its samples
  EXPECT_TRUE(round.isRange);
  EXPECT_DOUBLE_EQ(round.interval.high, 3);
  EXPECT_EQ(medianOverStarts(Starts()).interval.high, 0);
}

/// Two runs of one program whose starts differ by 2 %, with little variation inside a start: their 95 % intervals
/// overlap.
TEST(Statistics, intervalsOfEqualRunsAreHardlyEverDisjoint) {
  const uint64_t seed = 11;
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  auto run = [&](size_t starts) {
    Starts made;
    for (double time : normalSamples(random, 1, 0.02, int(starts)))
      made.push_back(std::vector<std::vector<double>>(4, normalSamples(random, time, 0.001, 3)));
    return made;
  };
  auto disjoint = [](Interval a, Interval b) { return a.high < b.low || b.high < a.low; };
  auto pooled = [](const Starts &starts) {
    std::vector<double> samples;
    for (auto &start : starts)
      for (auto &round : start)
        samples.insert(samples.end(), round.begin(), round.end());
    return medianInterval(samples);
  };
  constexpr int pairs = 400;
  int overStarts = 0, overSamples = 0;
  for (int i = 0; i < pairs; ++i) {
    Starts a = run(6 + size_t(i) % 7), b = run(6 + size_t(i) % 7);
    overStarts += disjoint(medianOverStarts(a).interval, medianOverStarts(b).interval);
    overSamples += disjoint(pooled(a), pooled(b));
  }
  EXPECT_LE(overStarts, pairs * 2 / 100);
  EXPECT_GT(overSamples, pairs / 10); // the result of pooling the samples
}

TEST(Statistics, medianIntervalCoversTheTrueMedian) {
  const uint64_t seed = 20240611;
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  std::exponential_distribution<double> distribution(1);
  int covered = 0;
  const int experiments = 2000;
  for (int i = 0; i < experiments; ++i) {
    std::vector<double> values(25);
    for (double &value : values)
      value = distribution(random);
    covered += medianInterval(values).holds(std::log(2.0));
  }
  EXPECT_GE(covered, experiments * 0.94);
  EXPECT_LE(covered, experiments * 0.99);
}

static Starts startsOf(const std::vector<double> &medians) {
  Starts starts;
  for (double median : medians)
    starts.push_back({{median, median}, {median}});
  return starts;
}

TEST(Statistics, ratioApartHoldsThePairsOfStarts) {
  std::vector<double> a = {2.0, 2.2, 2.1, 2.4, 1.9, 2.3}, b = {1.0, 1.1, 0.9, 1.05, 0.95, 1.2};
  RatioEstimate six = ratioApart(startsOf(a), startsOf(b));
  EXPECT_DOUBLE_EQ(six.ratio, 2.15 / 1.025);
  EXPECT_FALSE(six.isRange);
  EXPECT_DOUBLE_EQ(six.interval.low, 1.9 / 1.2); // of 36 pairs none may be cut off
  EXPECT_DOUBLE_EQ(six.interval.high, 2.4 / 0.9);
  std::vector<double> many(20, 1.0), ones(20, 1.0);
  many[3] = 5, many[7] = 0.2; // 20 of 400 pairs each: more than 2.5 %
  EXPECT_DOUBLE_EQ(ratioApart(startsOf(many), startsOf(ones)).interval.high, 5);
  many.resize(64, 1.0), ones.resize(64, 1.0); // 64 of 4096 are less
  EXPECT_DOUBLE_EQ(ratioApart(startsOf(many), startsOf(ones)).interval.high, 1);
  EXPECT_DOUBLE_EQ(ratioApart(startsOf(many), startsOf(ones)).interval.low, 1);
  EXPECT_TRUE(ratioApart(startsOf({1, 2, 3}), startsOf({4, 5, 6})).isRange);
  a.resize(5), b.resize(5);
  EXPECT_FALSE(ratioApart(startsOf(a), startsOf(b)).isRange);
  EXPECT_TRUE(ratioApart(startsOf(a), startsOf(b), 0.995).isRange);
  EXPECT_THROW(ratioApart({}, startsOf(b)), lathe::Error);
}

/// Runs on a machine whose speed drifts between starts like a neighbour's load: x' = 0.8 x + noise. Equal consecutive
/// runs are hardly ever called different, for any number of starts, and real differences are found.
TEST(Statistics, driftBetweenRunsIsNoDifference) {
  const uint64_t seed = 2711;
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  std::normal_distribution<double> noise(0, 1);
  for (size_t starts : {6, 10, 20, 64}) {
    int wrong = 0, found = 0;
    constexpr int pairs = 400;
    for (int i = 0; i < pairs; ++i) {
      double drift = 0;
      auto run = [&](double time) {
        std::vector<double> medians(starts);
        for (double &median : medians) {
          drift = 0.8 * drift + noise(random);
          median = time * std::exp(0.012 * drift + 0.02 * noise(random));
        }
        return startsOf(medians);
      };
      auto differs = [](const Starts &a, const Starts &b) {
        RatioEstimate sure = ratioApart(a, b, 0.995);
        return (sure.interval.low > 1 || sure.interval.high < 1) && std::abs(sure.ratio - 1) > 0.02;
      };
      Starts before = run(1), same = run(1), slower = run(1.25);
      wrong += differs(before, same);
      found += differs(before, slower);
    }
    EXPECT_LE(wrong, pairs * 2 / 100) << starts << " starts";
    EXPECT_GE(found, pairs * 95 / 100) << starts << " starts";
  }
}

TEST(Statistics, roundsCancelCommonDrift) {
  const uint64_t seed = 5;
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  std::vector<std::vector<double>> a, b;
  for (int round = 0; round < 12; ++round) {
    double clock = round % 2 ? 1.0 : 1.3; // both sides are slowed down in every second round
    a.push_back(normalSamples(random, 11 * clock, 0.05, 5));
    b.push_back(normalSamples(random, 10 * clock, 0.05, 5));
  }
  RatioEstimate estimate = rankedRatioInRounds(a, b);
  EXPECT_NEAR(estimate.ratio, 1.1, 0.02);
  EXPECT_LT(estimate.interval.high - estimate.interval.low, 0.06);
  EXPECT_GT(estimate.interval.low, 1);
  RatioEstimate apart = ratioApart(Starts{a}, Starts{b}); // as if there had been no turns
  EXPECT_GT(apart.interval.high - apart.interval.low, estimate.interval.high - estimate.interval.low);
}

TEST(Statistics, disturbedRoundsAreOutvoted) {
  std::vector<std::vector<double>> a, b;
  for (int round = 0; round < 12; ++round) { // a neighbour takes half of the CPU in a few turns
    a.push_back({round < 3 ? 2.0 : 1.0 + 0.001 * round});
    b.push_back({1.0});
  }
  RatioEstimate estimate = rankedRatioInRounds(a, b);
  EXPECT_NEAR(estimate.ratio, 1.0, 0.012);
}

static std::vector<std::vector<double>> oneEach(const std::vector<double> &values) {
  std::vector<std::vector<double>> rounds;
  for (double value : values)
    rounds.push_back({value});
  return rounds;
}

TEST(Statistics, signedRanksGiveTheTextbookInterval) {
  // Differences of logarithms 1..10, of n = 10: Wilcoxon's two-sided critical value at 5 % is 8 (rejected up to 8), so
  // the interval runs from the 9th smallest of the 55 Walsh averages to the 9th largest.
  std::vector<double> ours(10, 1.0), peers;
  for (int i = 1; i <= 10; ++i)
    peers.push_back(std::exp(i));
  std::vector<double> walsh;
  for (int i = 1; i <= 10; ++i)
    for (int j = i; j <= 10; ++j)
      walsh.push_back((i + j) / 2.0);
  std::sort(walsh.begin(), walsh.end());
  std::sort(walsh.begin(), walsh.end());
  RatioEstimate estimate = rankedRatioInRounds(oneEach(peers), oneEach(ours));
  EXPECT_NEAR(std::log(estimate.ratio), 5.5, 1e-9);
  EXPECT_NEAR(std::log(estimate.interval.low), walsh[8], 1e-9);
  EXPECT_NEAR(std::log(estimate.interval.high), walsh[55 - 9], 1e-9);
  // Too few rounds for 5 %: nothing can be excluded.
  RatioEstimate few = rankedRatioInRounds(oneEach({2, 4, 8, 16, 32}), oneEach({1, 1, 1, 1, 1}));
  EXPECT_NEAR(few.interval.low, 2, 1e-9);
  EXPECT_NEAR(few.interval.high, 32, 1e-9);
  EXPECT_THROW(rankedRatioInRounds({{1}, {1}}, {{1}}), lathe::Error);
}

TEST(Statistics, signedRanksCoverAndAreSharper) {
  std::mt19937_64 random(11);
  for (int count : {8, 20, 80}) { // exact, exact, normal
    SCOPED_TRACE(count);
    int covered = 0, experiments = 1000;
    double ranked = 0, ordered = 0;
    for (int i = 0; i < experiments; ++i) {
      std::vector<double> peers, ours(size_t(count), 1.0);
      for (double value : normalSamples(random, 0.2, 0.05, count))
        peers.push_back(std::exp(value));
      RatioEstimate a = rankedRatioInRounds(oneEach(peers), oneEach(ours));
      Interval b = medianInterval(peers);
      covered += a.interval.holds(std::exp(0.2));
      ranked += a.interval.high - a.interval.low;
      ordered += b.high - b.low;
    }
    EXPECT_GE(covered, experiments * 0.93);
    EXPECT_LE(covered, experiments * 0.99);
    EXPECT_LT(ranked, ordered * 0.97);
  }
}

TEST(Statistics, startsAreTheUnitsOfTheirInterval) {
  // Logarithms 1, 2, 3 of three starts: mean 2, deviation 1, interval 4.3027 (Student's t, two degrees) / sqrt(3).
  std::vector<std::vector<std::vector<double>>> peers, ours;
  for (int i = 1; i <= 3; ++i) {
    peers.push_back(oneEach(std::vector<double>(20, std::exp(i))));
    ours.push_back(oneEach(std::vector<double>(20, 1.0)));
  }
  RatioEstimate estimate = ratioOverStarts(peers, ours);
  EXPECT_NEAR(std::log(estimate.ratio), 2, 1e-9);
  EXPECT_NEAR(std::log(estimate.interval.high), 2 + 4.30265273 / std::sqrt(3.0), 1e-6);
  for (auto [starts, quantile] :
       {std::pair{4, 3.18244631}, {5, 2.77644511}, {6, 2.57058184}, {11, 2.22813885}}) { // tables
    std::vector<std::vector<std::vector<double>>> a, b;
    for (int i = 0; i < starts; ++i) {
      a.push_back({{std::exp(i == 0 ? 1.0 : 0.0)}});
      b.push_back({{1}});
    }
    double deviation = 1 / std::sqrt(double(starts)), mean = 1.0 / starts;
    EXPECT_NEAR(std::log(ratioOverStarts(a, b).interval.high), mean + quantile * deviation / std::sqrt(double(starts)),
                1e-6);
  }
  peers.pop_back(), ours.pop_back(); // two starts: not enough
  EXPECT_TRUE(ratioOverStarts(peers, ours).isRange);
  EXPECT_NEAR(std::log(ratioOverStarts(peers, ours).interval.high), 2, 1e-9);
  EXPECT_EQ(ratioOverStarts(peers, ours).ratio, rankedRatioInRounds(oneEach([] {
                                                                      std::vector<double> both(20, std::exp(1.0));
                                                                      both.insert(both.end(), 20, std::exp(2.0));
                                                                      return both;
                                                                    }()),
                                                                    oneEach(std::vector<double>(40, 1.0)))
                                                    .ratio);
}

TEST(Statistics, seriesThatDriftOrHaveOutliers) {
  std::mt19937_64 random(9);
  int accused = 0;
  for (int i = 0; i < 400; ++i) {
    std::vector<std::vector<double>> steady;
    for (int round = 0; round < 12; ++round)
      steady.push_back(normalSamples(random, 1, 0.05, 3));
    accused += checkSeries(steady).drifts;
  }
  EXPECT_LE(accused, 400 * 0.07);
  std::vector<std::vector<double>> rising;
  for (int round = 0; round < 12; ++round)
    rising.push_back(normalSamples(random, 1 + 0.01 * round, 0.005, 3));
  SeriesCheck check = checkSeries(rising);
  EXPECT_TRUE(check.drifts);
  EXPECT_NEAR(check.drift, 0.105, 0.02); // 0.11 over a median of 1.055
  EXPECT_EQ(check.outlierShare, 0);
  rising[5].insert(rising[5].end(), {9, 9, 9, 9});
  EXPECT_NEAR(checkSeries(rising).outlierShare, 0.1, 1e-9);
  EXPECT_FALSE(checkSeries({}).drifts);
}

TEST(Statistics, estimatesAreReproducible) {
  std::mt19937_64 random(3);
  auto a = normalSamples(random, 1, 0.1, 30);
  EXPECT_EQ(geometricMean(a).interval.low, geometricMean(a).interval.low);
  EXPECT_THROW(rankedRatioInRounds({{1}, {}}, {{1}, {1}}), lathe::Error);
}

TEST(Statistics, stoppingRule) {
  StoppingRule rule;
  rule.minSamples = 8;
  rule.maxSeconds = 5;
  std::vector<double> steady(20, 1.0), wild;
  for (int i = 0; i < 20; ++i)
    wild.push_back(1 + i % 7);
  EXPECT_TRUE(rule.satisfied(steady, 0.1));
  EXPECT_FALSE(rule.satisfied(std::span(steady).first(7), 0.1));
  EXPECT_FALSE(rule.satisfied(wild, 0.1));
  EXPECT_TRUE(rule.satisfied(wild, 5));
  EXPECT_FALSE(rule.satisfied({}, 5)); // never without an observation
  rule.maxSamples = 20;
  EXPECT_TRUE(rule.satisfied(wild, 0.1));
}

TEST(Statistics, json) {
  auto document = toJson(summarize(std::vector<double>{0.001, 0.002, 0.003}));
  EXPECT_DOUBLE_EQ(document["median_ms"], 2);
  EXPECT_EQ(document["count"], 3);
}

TEST(Statistics, geometricMeanOfKnownRatios) {
  std::vector<double> ratios{1, 2, 4};
  RatioEstimate mean = geometricMean(ratios);
  EXPECT_DOUBLE_EQ(mean.ratio, 2);
  EXPECT_TRUE(mean.interval.holds(2));
  // Of three values drawn three times, all are the least in 1 of 27 samples, more than the tail of 2.5 %.
  EXPECT_DOUBLE_EQ(mean.interval.low, 1);
  EXPECT_DOUBLE_EQ(mean.interval.high, 4);
  RatioEstimate same = geometricMean(std::vector<double>{1.5, 1.5});
  EXPECT_NEAR(same.interval.low, 1.5, 1e-12);
  EXPECT_NEAR(same.interval.high, 1.5, 1e-12);
  EXPECT_THROW(geometricMean({}), lathe::Error);
  EXPECT_THROW(geometricMean(std::vector<double>{1, 0}), lathe::Error);
}
