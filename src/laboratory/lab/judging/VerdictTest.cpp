#include "lab/judging/Verdict.h"

#include <gtest/gtest.h>

#include <cmath>
#include <iostream>
#include <random>

using namespace lathe::lab;

static constexpr Interval anything{0, 100};

TEST(Verdict, ofIntervals) {
  auto of = [](double ratio, double low, double high, Interval sure) {
    return verdictOn({ratio, {low, high}}, {ratio, sure});
  };
  EXPECT_EQ(of(1.3, 1.2, 1.4, {1.1, 1.5}), Verdict::faster);
  EXPECT_EQ(of(0.8, 0.7, 0.9, {0.6, 0.95}), Verdict::slower);
  EXPECT_EQ(of(1.005, 0.99, 1.015, anything), Verdict::same);
  EXPECT_EQ(of(1.01, 1.005, 1.018, {1.001, 1.03}), Verdict::same); // sure, but too small to matter
  EXPECT_EQ(of(1.1, 0.9, 1.3, anything), Verdict::ambiguous);
  EXPECT_EQ(of(1.015, 1.005, 1.03, {1.001, 1.04}), Verdict::ambiguous);
  EXPECT_EQ(of(1.1, 1.05, 1.15, {0.99, 1.2}), Verdict::ambiguous); // beyond 1 with 95 %, not with 99.5 %
  EXPECT_EQ(of(0.9, 0.85, 0.95, {0.8, 1.01}), Verdict::ambiguous);
  EXPECT_EQ(verdictOn({1.04, {1.02, 1.06}}, {1.04, {1.01, 1.07}}, 0.05), Verdict::ambiguous);
}

/// One start with one round and one sample for each value.
static Starts startsOf(const std::vector<double> &values) {
  Starts starts;
  for (double value : values)
    starts.push_back({{value}});
  return starts;
}

static Starts oneStart(const std::vector<double> &values) {
  Starts starts(1);
  for (double value : values)
    starts[0].push_back({value});
  return starts;
}

/// Ten starts, two of which show the opposite: the 95 % interval excludes 1, the 99.5 % interval does not.
TEST(Verdict, needsTheWiderIntervalOfWhateverWasMeasured) {
  std::vector<double> slower = {0.94, 0.98, 1.04, 1.05, 1.06, 1.07, 1.08, 1.09, 1.10, 1.11}, ones(10, 1.0);
  JudgedRatio inTurns = judgeInTurns(startsOf(slower), startsOf(ones));
  EXPECT_GT(inTurns.ratio.interval.low, 1);
  EXPECT_LT(ratioOverStarts(startsOf(slower), startsOf(ones), 0.995).interval.low, 1);
  EXPECT_EQ(inTurns.verdict, Verdict::ambiguous);
  std::vector<double> many(64, 1.06), others(64, 1.0);
  many[0] = 0.94; // in 64 of 4096 pairs
  JudgedRatio apart = judgeApart(startsOf(many), startsOf(others));
  EXPECT_GT(apart.ratio.interval.low, 1);
  EXPECT_LT(ratioApart(startsOf(many), startsOf(others), 0.995).interval.low, 1);
  EXPECT_EQ(apart.verdict, Verdict::ambiguous);
  for (double &value : slower)
    value += 0.1;
  EXPECT_EQ(judgeInTurns(startsOf(slower), startsOf(ones)).verdict, Verdict::faster);
  EXPECT_EQ(judgeInTurns(startsOf(ones), startsOf(slower)).verdict, Verdict::slower);
  EXPECT_EQ(judgeApart(startsOf(slower), startsOf(ones)).verdict, Verdict::faster);
  EXPECT_EQ(judgeApart(startsOf(slower), startsOf(ones), 0.5).verdict, Verdict::same);
  // Without turns the interval must be at least 1 % away from 1.
  std::vector<double> near(6, 1.03), ours(6, 1.0);
  EXPECT_EQ(judgeApart(startsOf(near), startsOf(ours)).verdict, Verdict::faster);
  ours[5] = 1.022;
  EXPECT_GT(ratioApart(startsOf(near), startsOf(ours), 0.995).interval.low, 1);
  EXPECT_EQ(judgeApart(startsOf(near), startsOf(ours)).verdict, Verdict::ambiguous);
  EXPECT_EQ(judgeApart(startsOf(ours), startsOf(near)).verdict, Verdict::ambiguous);
}

/// A neighbour takes half of the CPU in a few rounds of one side of a start.
TEST(Verdict, disturbedRoundsAreOutvoted) {
  std::vector<double> ours;
  for (int round = 0; round < 12; ++round)
    ours.push_back(round < 3 ? 2.0 : 1.0 + 0.001 * round);
  Starts disturbed(6, oneStart(ours)[0]), even(6, oneStart(std::vector<double>(12, 1.0))[0]);
  EXPECT_EQ(judgeInTurns(disturbed, even).verdict, Verdict::same);
}

/// Fewer than three starts give a range and support no verdict, for any number of rounds and however clear they look.
TEST(Verdict, needsThreeStarts) {
  auto of = [](size_t starts, double slowdown) {
    return judgeInTurns(startsOf(std::vector<double>(starts, 1 + slowdown)), startsOf(std::vector<double>(starts, 1)));
  };
  std::vector<double> many(100, 1.5), ones(100, 1);
  EXPECT_EQ(judgeInTurns(oneStart(many), oneStart(ones)).verdict, Verdict::ambiguous);
  EXPECT_EQ(judgeApart(oneStart(many), oneStart(ones)).verdict, Verdict::ambiguous);
  EXPECT_EQ(judgeApart(oneStart(ones), oneStart(ones)).verdict, Verdict::ambiguous);
  EXPECT_TRUE(of(2, 0).ratio.isRange);
  EXPECT_FALSE(of(3, 0).ratio.isRange);
  EXPECT_EQ(of(2, 0).verdict, Verdict::ambiguous);
  EXPECT_TRUE(of(2, 0).tooFewStarts);
  EXPECT_EQ(of(3, 0).verdict, Verdict::same);
  EXPECT_EQ(of(2, 0.5).verdict, Verdict::ambiguous);
  EXPECT_EQ(of(3, 0.5).verdict, Verdict::faster);
  EXPECT_EQ(toJson(of(2, 0).ratio)["confidence"], nullptr);
  EXPECT_EQ(toJson(of(3, 0).ratio)["confidence"], 0.95);
  EXPECT_EQ(intervalText(of(2, 0).ratio), "range 1.000 to 1.000, too few for an interval");
  EXPECT_EQ(intervalText(of(3, 0).ratio), "95 % interval 1.000 to 1.000");
}

/// Without turns, even if all values of one side are below all of the other: three starts each prove nothing at 95 %,
/// five at 99.5 %.
TEST(Verdict, needsMoreStartsWithoutTurns) {
  auto of = [](size_t count, double slowdown) {
    return judgeApart(startsOf(std::vector<double>(count, 1 + slowdown)), startsOf(std::vector<double>(count, 1)));
  };
  EXPECT_TRUE(of(3, 0).ratio.isRange);
  EXPECT_EQ(of(3, 0).verdict, Verdict::ambiguous);
  EXPECT_EQ(of(4, 0).verdict, Verdict::same);
  EXPECT_EQ(of(5, 0.5).verdict, Verdict::ambiguous);
  EXPECT_TRUE(of(5, 0.5).tooFewStarts);
  EXPECT_EQ(of(leastStartsApart, 0.5).verdict, Verdict::faster);
  EXPECT_FALSE(of(leastStartsApart, 0.5).tooFewStarts);
  EXPECT_FALSE(canDecideApart(leastStartsApart - 1, leastStartsApart - 1));
  EXPECT_FALSE(canDecideApart(2, 1000)); // the difference between starts is unknown
}

namespace {

struct Shares {
  int twinsDifferent = 0, found5 = 0, found10 = 0;
};

/// Verdicts over two simulated runs without turns, of six starts each. `deviation`: between starts of one program, in
/// logarithms; `ofRuns`: between runs, common to all starts of a run.
Shares apartInSimulation(double deviation, double ofRuns, int rows, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  auto run = [&](double time) {
    std::vector<double> starts;
    double whole = ofRuns * normal(random);
    for (size_t i = 0; i < leastStartsApart; ++i)
      starts.push_back(time * std::exp(whole + deviation * normal(random)));
    return startsOf(starts);
  };
  Shares shares;
  for (int row = 0; row < rows; ++row) {
    auto of = [&](double share) { return judgeApart(run(1 + share), run(1)).verdict; };
    Verdict twin = of(0);
    shares.twinsDifferent += twin == Verdict::faster || twin == Verdict::slower;
    shares.found5 += of(0.05) == Verdict::faster;
    shares.found10 += of(0.1) == Verdict::faster;
  }
  return shares;
}

} // namespace

/// At most 2 % of twins are called different. A difference of 5 % is found if processes differ by up to 0.7 %, and one
/// of 10 % if they differ by up to 2 %. The starts of a run cannot show what they all have in common. docs/measuring.md
/// has these figures.
TEST(Verdict, errorRatesWithoutTurns) {
  constexpr int rows = 400;
  for (auto [deviation, ofRuns] : {std::pair{0.003, 0.0}, {0.007, 0.0}, {0.01, 0.0}, {0.02, 0.0}, {0.01, 0.01}}) {
    Shares shares = apartInSimulation(deviation, ofRuns, rows, 1);
    std::cout << rows << " rows, processes differ by " << deviation << ", runs by " << ofRuns << ": "
              << shares.twinsDifferent << " twins different, " << shares.found5 << " of 5 %, " << shares.found10
              << " of 10 % found\n";
    EXPECT_GE(shares.found10, rows * 95 / 100);
    if (ofRuns > 0)
      continue;
    EXPECT_LE(shares.twinsDifferent, rows * 2 / 100);
    if (deviation < 0.01)
      EXPECT_GE(shares.found5, rows * 95 / 100);
  }
}

TEST(Verdict, saysWhyItIsAmbiguous) {
  JudgedRatio wide{{1.1, {0.9, 1.3}}, Verdict::ambiguous};
  EXPECT_EQ(ambiguityOf(wide), "wide interval");
  EXPECT_EQ(ambiguityOf(wide, true), "disturbed");
  wide.tooFewStarts = true;
  EXPECT_EQ(ambiguityOf(wide, true), "too few starts");
  EXPECT_EQ(toJson(wide)["ambiguous_because"], "too few starts");
  EXPECT_EQ(ambiguityOf({{1, {0.99, 1.01}}, Verdict::same}, true), "");
}

TEST(Verdict, whatCallsCostIsNoSpeed) {
  // Softmax of ten values: ONNX Runtime's session call takes 12.9 us, ours 0.05 us.
  SideTime peer{13.4e-6, 12.9e-6}, ours{0.1e-6, 0.05e-6};
  EXPECT_TRUE(withinOverhead(peer, ours));
  EXPECT_TRUE(withinOverhead(ours, peer));
  JudgedRatio judged{{134, {130, 138}}, Verdict::faster};
  JudgedRatio beside = besideOverhead(judged, peer, ours);
  EXPECT_EQ(beside.verdict, Verdict::ambiguous);
  EXPECT_TRUE(beside.withinOverhead);
  EXPECT_EQ(beside.ratio.ratio, 134); // as measured
  // A convolution of 400 us against 300 us: calls explain 13 us of the 100 us.
  EXPECT_FALSE(withinOverhead({400e-6, 12.9e-6}, {300e-6, 0.05e-6}));
  // Up to twice the difference of the calls, but not more.
  EXPECT_TRUE(withinOverhead({30e-6, 11e-6}, {10e-6, 1e-6}));
  EXPECT_FALSE(withinOverhead({30.1e-6, 11e-6}, {10e-6, 1e-6}));
  // The side with the more expensive call is nevertheless the faster one.
  EXPECT_FALSE(withinOverhead({20e-6, 12e-6}, {24e-6, 1e-6}));
  EXPECT_FALSE(withinOverhead({20e-6, 5e-6}, {10e-6, 5e-6})); // calls cost the same
  EXPECT_FALSE(withinOverhead({20e-6, {}}, {10e-6, 5e-6}));   // unknown
  EXPECT_EQ(verdictText(beside), "ambiguous (call overhead)");
  EXPECT_EQ(verdictText(judged), "faster");
  // Verdicts that are the same or ambiguous do not change.
  JudgedRatio same = besideOverhead({{1.0, {0.99, 1.01}}, Verdict::same}, peer, ours);
  EXPECT_EQ(same.verdict, Verdict::same);
  EXPECT_FALSE(same.withinOverhead);
}

TEST(Verdict, turnsToTheOtherSide) {
  EXPECT_EQ(turned(Verdict::faster), Verdict::slower);
  EXPECT_EQ(turned(Verdict::slower), Verdict::faster);
  EXPECT_EQ(turned(Verdict::same), Verdict::same);
  EXPECT_EQ(turned(Verdict::ambiguous), Verdict::ambiguous);
}
