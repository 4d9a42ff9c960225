#include "predict/Evaluation.h"

#include "predict/PredictTesting.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace lathe::predict {
namespace {

/// Numbers of successes between which a binomial variable lies with a probability of 1 - 1e-6, exactly.
std::pair<int, int> binomialBounds(int n, double p) {
  std::vector<double> probability(static_cast<size_t>(n) + 1);
  for (int k = 0; k <= n; ++k)
    probability[static_cast<size_t>(k)] = std::exp(std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1) +
                                                   k * std::log(p) + (n - k) * std::log1p(-p));
  int low = 0, high = n;
  for (double tail = 0; (tail += probability[static_cast<size_t>(low)]) < 5e-7;)
    ++low;
  for (double tail = 0; (tail += probability[static_cast<size_t>(high)]) < 5e-7;)
    --high;
  return {low, high};
}

std::vector<KernelCost> costsOf(const MeasuredNetwork &network) {
  return {network.kernels.begin(), network.kernels.end()};
}

TEST(Ridge, findsALinearLaw) {
  RidgeSums<3> sums;
  std::mt19937 random(1);
  std::normal_distribution<double> normal;
  for (int i = 0; i < 100; ++i) {
    std::array<double, 3> x{1, normal(random), normal(random)};
    sums.add(x, 2 + 3 * x[1] - x[2], 1 + i % 3);
  }
  std::array<double, 3> found = sums.fit(1e-9, {}, true);
  EXPECT_NEAR(found[0], 2, 1e-6);
  EXPECT_NEAR(found[1], 3, 1e-6);
  EXPECT_NEAR(found[2], -1, 1e-6);
  // A penalty draws the coefficients towards the given ones. Without rows they are equal to these.
  std::array<double, 3> drawn = sums.fit(1e9, {5, 6, 7}, false);
  EXPECT_NEAR(drawn[0], 5, 1e-3);
  EXPECT_NEAR(drawn[1], 6, 1e-3);
  EXPECT_EQ(RidgeSums<3>().fit(1, {5, 6, 7}, true), (std::array<double, 3>{5, 6, 7}));
}

TEST(Ridge, sumsOfGroupsAddUp) {
  RidgeSums<2> all, a, b;
  for (int i = 0; i < 20; ++i) {
    std::array<double, 2> x{1, double(i * i % 7)};
    (i % 2 ? a : b).add(x, i);
    all.add(x, i);
  }
  a.add(b);
  EXPECT_EQ(a.fit(1, {}, true), all.fit(1, {}, true));
}

TEST(Conformal, quantile) {
  std::vector<Score> scores;
  for (int i = 1; i <= 19; ++i)
    scores.push_back({double(i), i % 2 ? "a" : "b"});
  // 19 scores: rank ceil(0.9 * 20) = 18 if all count the same. Family a has one score more than b.
  for (Score &score : scores)
    score.family = "a";
  EXPECT_EQ(conformalQuantile(scores, 0.9), 18);
  EXPECT_EQ(conformalQuantile(scores, 0.5), 10);
  EXPECT_EQ(conformalQuantile(scores, 0.95), 19);
  EXPECT_TRUE(std::isinf(conformalQuantile(scores, 0.96))) << "20 scores would be needed";
  EXPECT_TRUE(std::isinf(conformalQuantile({}, 0.9)));
  // Each family counts the same, however many scores it has.
  std::vector<Score> uneven(90, Score{1, "many"});
  uneven.insert(uneven.end(), 10, Score{5, "few"});
  EXPECT_EQ(conformalQuantile(uneven, 0.4), 1);
  EXPECT_EQ(conformalQuantile(uneven, 0.6), 5);
}

TEST(Conformal, coversExchangeableScores) {
  std::mt19937 random(20261129);
  std::lognormal_distribution<double> drawn(0, 2);
  int covered = 0;
  const int trials = 4000;
  for (int trial = 0; trial < trials; ++trial) {
    std::vector<Score> scores;
    for (int i = 0; i < 49; ++i)
      scores.push_back({drawn(random), "one"});
    covered += drawn(random) <= conformalQuantile(scores, 0.9);
  }
  auto [low, high] = binomialBounds(trials, 0.9); // 0.9 * 50 is whole, so the coverage is exact
  EXPECT_GE(covered, low);
  EXPECT_LE(covered, high);
}

TEST(Latency, constantsThatStayInCachesAreWaitedForLess) {
  MachineFacts facts = machineFromTable("znver4", "x86_64", {});
  const double last = static_cast<double>(facts.caches.back().bytes),
               second = static_cast<double>(facts.caches[1].bytes);
  EXPECT_NEAR(waitShare(1000 * last, 1, facts), 1, 0.01);
  double before = 0;
  for (double bytes : {1e3, second, last / 2, 2 * last, 8 * last}) {
    double wait = waitShare(bytes, 1, facts);
    EXPECT_GE(wait, before);
    EXPECT_LE(wait, 1);
    before = wait;
  }
  EXPECT_EQ(waitShare(1e3, 1, facts), 0); // the innermost cache
  // A kernel that only reads constants from memory takes as long as the caches do; one without constants takes the
  // same.
  KernelCost kernel{"gemm", 0, 1e6, 1e6 / facts.memoryRate(1), 1e6};
  EXPECT_NEAR(std::exp(kernelFeatures(kernel, 1, 0.25, facts).back()), 1 - 0.95 * 0.75, 1e-9);
  kernel.constantBytes = 0;
  EXPECT_EQ(kernelFeatures(kernel, 1, 0.25, facts).back(), 0);
}

TEST(Latency, findsWhatTheCostModelLacks) {
  MachinePoints points = synthetic({.factor = 1.3, .gemmFactor = 1.5, .bytesPower = 0.1, .callCycles = 2000}, 8, 20, 7);
  Predictor predictor(points);
  MachinePoints others = synthetic({.factor = 1.3, .gemmFactor = 1.5, .bytesPower = 0.1, .callCycles = 2000}, 1, 40, 8);
  for (const MeasuredNetwork &network : others.networks) {
    Latency latency = predictor.predict(costsOf(network), network.threads, points.facts, 4e9);
    EXPECT_NEAR(latency.seconds / network.seconds, 1, 0.02) << network.name;
    ASSERT_EQ(latency.kernelSeconds.size(), network.kernels.size());
    for (size_t i = 0; i < network.kernels.size(); ++i)
      EXPECT_NEAR(latency.kernelSeconds[i] / network.kernels[i].seconds, 1, 0.1);
    EXPECT_LT(latency.low, latency.seconds);
    EXPECT_GT(latency.high, latency.seconds);
  }
}

TEST(Latency, familiesThatAreLeftOutChangeNothing) {
  MachinePoints points = synthetic({.networkNoise = 0.1}, 4, 10, 3), changed = points;
  for (MeasuredNetwork &network : changed.networks)
    if (network.family == "f2") {
      network.seconds *= 5;
      for (MeasuredKernel &kernel : network.kernels)
        kernel.seconds *= 7;
    }
  auto secondsOf = [](const MachinePoints &from, const std::set<std::string> &without) {
    std::map<std::string, double> seconds;
    Residual residual(from);
    for (const Residual::HeldOut &one : residual.heldOut(without))
      seconds[one.network->name] = one.seconds;
    return seconds;
  };
  std::map<std::string, double> before = secondsOf(points, {}), after = secondsOf(changed, {});
  EXPECT_EQ(before.at("f2n3"), after.at("f2n3")); // predicted without its own family
  EXPECT_NE(before.at("f1n3"), after.at("f1n3"));
  before = secondsOf(points, {"f2"}), after = secondsOf(changed, {"f2"});
  EXPECT_EQ(before, after);
  EXPECT_FALSE(before.contains("f2n3"));
  // Networks that take part in no fit change nothing either, but are predicted.
  for (MeasuredNetwork &network : changed.networks)
    network.heldOut = network.family == "f2";
  EXPECT_EQ(secondsOf(changed, {}).at("f1n3"), before.at("f1n3"));
  EXPECT_TRUE(secondsOf(changed, {}).contains("f2n3"));
}

double coverageOf(const MachinePoints &points, double *spread = nullptr) {
  std::vector<Evaluated> all = evaluate(points);
  std::vector<const Evaluated *> list;
  for (const Evaluated &one : all)
    list.push_back(&one);
  if (spread)
    *spread = all.front().spread;
  return errorsOf(list).covered;
}

TEST(Latency, intervalsOfUnseenFamiliesCover) {
  // Errors of networks are drawn alike in all families, so those of a family that is held out are like the others.
  const int families = 10, each = 100;
  for (unsigned seed : {1, 2, 3}) {
    double covered =
        coverageOf(synthetic({.factor = 1.2, .kernelNoise = 0.2, .networkNoise = 0.08}, families, each, seed));
    auto [low, high] = binomialBounds(families * each, intervalShare);
    // The fits and the quantiles share their networks, which adds less than a hundredth.
    EXPECT_GE(covered, low / double(families * each) - 0.01) << seed;
    EXPECT_LE(covered, high / double(families * each) + 0.01) << seed;
  }
}

TEST(Latency, shuffledTimesWiden) {
  MachinePoints points = synthetic({.networkNoise = 0.05}, 6, 40, 5), shuffled = points;
  std::vector<size_t> order(points.networks.size());
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = i;
  std::mt19937 random(11);
  std::shuffle(order.begin(), order.end(), random);
  for (size_t i = 0; i < order.size(); ++i)
    shuffled.networks[i].seconds = points.networks[order[i]].seconds;
  double spread = 0, widened = 0;
  coverageOf(points, &spread);
  coverageOf(shuffled, &widened);
  EXPECT_LT(spread, 0.15);
  EXPECT_GT(widened, 10 * spread);
}

TEST(Latency, differentFamiliesWiden) {
  double alike = 0, different = 0;
  coverageOf(synthetic({.networkNoise = 0.05}, 10, 30, 5), &alike);
  double covered = coverageOf(synthetic({.networkNoise = 0.05, .familyNoise = 0.3}, 10, 30, 5), &different);
  EXPECT_GT(different, 2 * alike);
  EXPECT_GT(covered, 0.7); // of ten families; the interval of one fit to all networks would cover a sixth
}

TEST(Latency, costModelAlone) {
  MachinePoints points = synthetic({.factor = 2}, 2, 10, 1);
  EXPECT_NEAR(costModelSpread({{points}}), std::log(2), 1e-9);
  EXPECT_TRUE(std::isinf(costModelSpread({})));
  EXPECT_EQ(peakSeconds(128e9, points.facts, 512, 2, 4e9),
            128e9 / (2 * 16 * 2 * 4e9)); // Zen 4: one of 512 bits a cycle
}

TEST(Latency, streamsSaveTheirShare) {
  MachinePoints points = synthetic({}, 4, 10, 1);
  Predictor predictor(points);
  std::vector<KernelCost> costs = costsOf(points.networks[0]);
  double cycles = 0;
  for (const KernelCost &cost : costs)
    cycles += cost.cycles;
  double alone = predictor.predict(costs, 2, points.facts, 4e9).seconds;
  EXPECT_NEAR(predictor.predict(costs, 2, points.facts, 4e9, cycles / 4).seconds / alone, 0.75, 0.02);
}

} // namespace
} // namespace lathe::predict
