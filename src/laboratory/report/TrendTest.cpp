#include "report/Trend.h"
#include "store/StoreTesting.h"

#include <gmock/gmock.h>

#include <cmath>

using namespace lathe;
using namespace lathe::report;

namespace {

/// Times with noise of the relative size `noise`; a share `outliers` of them takes up to twice as long.
std::vector<double> series(unsigned seed, size_t count, double noise, double outliers = 0) {
  std::mt19937 random{seed};
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  std::vector<double> times;
  for (size_t i = 0; i < count; ++i)
    times.push_back(1e-3 * std::exp(noise * normal(random)) * (uniform(random) < outliers ? 1 + uniform(random) : 1));
  return times;
}

void scale(std::vector<double> &times, size_t from, double factor) {
  for (size_t i = from; i < times.size(); ++i)
    times[i] *= factor;
}

} // namespace

/// The noise is 1 %; outliers of up to twice the time sometimes hide the step.
TEST(Trend, aStepOfThreePercentIsFound) {
  for (double outliers : {0.0, 0.05}) {
    int found = 0;
    for (unsigned seed = 0; seed < 30; ++seed) {
      std::vector<double> times = series(seed, 40, 0.01, outliers);
      scale(times, 25, 1.03);
      auto changes = changePoints(times);
      if (changes.empty())
        continue;
      ++found;
      // The change nearest to the step; noise may add another change at the stated rate.
      auto nearest = *std::min_element(changes.begin(), changes.end(), [](auto &a, auto &b) {
        return std::abs(int(a.index) - 25) < std::abs(int(b.index) - 25);
      });
      EXPECT_NEAR(double(nearest.index), 25, 4) << seed;
      EXPECT_NEAR(nearest.ratio, 1.03, 0.015) << seed;
      EXPECT_LE(nearest.p, 0.01);
    }
    if (outliers == 0)
      EXPECT_EQ(found, 30);
    else
      EXPECT_GE(found, 24);
  }
}

/// The rate of false alarms is the one in the header: 1 % of series, for any kind of noise. Of 600 series, 6 are
/// expected, and more than 15 have a probability below 0.001.
TEST(Trend, noiseIsNoChange) {
  int alarms = 0;
  for (unsigned seed = 0; seed < 600; ++seed) {
    const size_t lengths[] = {6, 12, 30, 60};
    alarms += !changePoints(series(seed, lengths[seed % 4], seed % 3 ? 0.01 : 0.1, seed % 2 ? 0.1 : 0)).empty();
  }
  EXPECT_LE(alarms, 15);
}

TEST(Trend, severalSteps) {
  std::vector<double> times = series(3, 60, 0.005);
  scale(times, 20, 0.8);
  scale(times, 40, 1.1);
  auto changes = changePoints(times);
  ASSERT_EQ(changes.size(), 2u);
  EXPECT_EQ(changes[0].index, 20u);
  EXPECT_EQ(changes[1].index, 40u);
  EXPECT_NEAR(changes[0].ratio, 0.8, 0.01);
  EXPECT_NEAR(changes[1].ratio, 1.1, 0.01);
}

TEST(Trend, fewOrEqualTimes) {
  for (size_t count = 0; count < 8; ++count) { // no order of so few times has a probability of 1 %
    std::vector<double> times = series(1, count, 0.001);
    scale(times, count / 2, 2);
    EXPECT_TRUE(changePoints(times).empty()) << count;
  }
  EXPECT_TRUE(changePoints(std::vector<double>(50, 1e-3)).empty());
  std::vector<double> outlier(50, 1e-3);
  outlier[20] = 1;
  EXPECT_TRUE(changePoints(outlier).empty());
  std::vector<double> late =
      series(2, 24, 0.005); // three observations after a change are enough if there are many before
  scale(late, 21, 1.2);
  ASSERT_EQ(changePoints(late).size(), 1u);
  EXPECT_EQ(changePoints(late)[0].index, 21u);
}

class TrendOfStore : public store::StoreFolder {
protected:
  /// Measures problem `number` for `ns` in a separate experiment on day `day`.
  void measure(store::Store &store, int number, int day, int64_t ns, const std::string &kernel = "Linux 6.1.0",
               store::PointStatus status = store::PointStatus::passed, double others = 0) {
    store::Platform platform = store::somePlatform();
    platform.kernel = kernel;
    store::Experiment experiment = store::someExperiment(store::ExperimentKind::bench);
    experiment.revision = fmt::format("{:012x}", day / 2);
    store::Point point = store::somePoint(store.addExperiment(experiment, platform), number);
    point.measured = fmt::format("2026-{:02}-{:02}T00:00:00.000000Z", 1 + day / 28, 1 + day % 28);
    point.status = status;
    point.disturbance = {others * double(platform.hardwareThreads), {}};
    for (auto &round : point.rounds)
      for (store::Sample &sample : round)
        sample.wallNs = ns;
    if (status == store::PointStatus::failed) {
      point.reason = "wrong";
      point.rounds.clear();
      point.starts.clear();
    }
    store.addPoint(point);
  }
};

/// Other programs that kept a third of the processors busy may have slowed a run down by a half. Programs beside the
/// faster runs do not explain the slower ones.
TEST_F(TrendOfStore, whatOthersMayExplainIsNoChange) {
  auto changesWith = [&](const std::string &name, double othersBefore, double othersAfter, int64_t after) {
    store::Store store(file(name));
    for (int day = 0; day < 30; ++day)
      measure(store, 2, day, (day < 15 ? 1000000 : after) + day * 7919 % 101, "Linux 6.1.0", store::PointStatus::passed,
              day < 15 ? othersBefore : othersAfter);
    return trendsOf(store, {.text = "oc2oh56"}).at(0).changes.size();
  };
  EXPECT_EQ(changesWith("quiet.db", 0, 0, 1250000), 1u);
  EXPECT_EQ(changesWith("busy.db", 0, 0.33, 1250000), 0u);
  EXPECT_EQ(changesWith("slower.db", 0, 0.33, 1600000), 1u);
  EXPECT_EQ(changesWith("before.db", 0.33, 0, 1250000), 1u);
  EXPECT_EQ(changesWith("faster.db", 0.33, 0, 800000), 0u);
}

TEST_F(TrendOfStore, seriesOfProblems) {
  store::Store store(file("lathe.db"));
  for (int day = 29; day >= 0; --day) // in any order
    measure(store, 2, day, (day < 14 ? 1000000 : 900000) + day * 7919 % 101, day < 20 ? "Linux 6.1.0" : "Linux 6.2.0");
  measure(store, 2, 40, 1, "Linux 6.2.0", store::PointStatus::failed);
  measure(store, 2, 41, 0, "Linux 6.2.0"); // shorter than the clock
  measure(store, 2, 42, 800000, "Linux 6.2.0", store::PointStatus::notVerified);
  measure(store, 12, 3, 5000);
  auto all = trendsOf(store, {});
  ASSERT_EQ(all.size(), 2u);
  auto found = trendsOf(store, {.text = "oc2oh56"});
  ASSERT_EQ(found.size(), 1u);
  const TrendSeries &one = found[0];
  EXPECT_EQ(one.kind, store::ExperimentKind::bench);
  ASSERT_EQ(one.observations.size(), 30u); // an update of the kernel belongs to the history
  EXPECT_NE(one.observations[0].platform, one.observations[29].platform);
  EXPECT_LT(one.observations[0].measured, one.observations[29].measured);
  EXPECT_EQ(one.observations[28].revision, "00000000000e");
  EXPECT_NEAR(one.observations[0].median, 1e-3, 1e-9);
  EXPECT_NEAR(one.observations[0].spread.interval.low, 1e-3, 1e-9);
  ASSERT_EQ(one.changes.size(), 1u);
  EXPECT_EQ(one.changes[0].index, 14u);
  EXPECT_NEAR(one.changes[0].ratio, 0.9, 1e-3);
  EXPECT_TRUE(trendsOf(store, {.text = "nothing"}).empty());
  EXPECT_TRUE(trendsOf(store, {.points = {.provider = "onednn"}}).empty());
  EXPECT_EQ(trendsOf(store, {.text = "conv2d"}).size(), 2u); // the operator
}
