// Searchers over the spaces of real kernels, with times from the cost model: tests their proposals, that they exhaust
// small spaces, and that they find better schedules than random search with as many trials.
#include "codegen/testing/FactsTesting.h"
#include "codegen/testing/RandomTesting.h"
#include "tune/ModelSearcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace lathe::tune {
namespace {

const Target target = Target::parse("znver4");

/// The time of a point on a machine that deviates from the cost model.
double timeOf(const Space &space, const Point &point) {
  double error = 1;
  for (uint32_t value : point.values)
    error += 0.03 * ((value * 2654435761u >> 16) % 7);
  return space.kernel().predict(space.schedule(point)).total() * error * 1e-9;
}

std::vector<Trial> measured(const Space &space, const std::vector<Point> &points) {
  std::vector<Trial> trials;
  for (const Point &point : points)
    trials.push_back({point, timeOf(space, point)});
  return trials;
}

double bestAfter(const std::string &name, const Space &space, uint64_t seed, size_t trials) {
  auto searcher = makeSearcher(name, space, seed);
  for (size_t done = 0; done < trials; done += 8)
    searcher->report(measured(space, searcher->propose(8)));
  return searcher->best()->seconds;
}

TEST(Space, holdsEveryAlgorithmThatComputesTheKernel) {
  TaskFacts kernel(conv3x3(64, 64, 28), target);
  Space space(*kernel.facts);
  std::vector<std::string> names;
  for (const Subspace &subspace : space.algorithms())
    names.push_back(subspace.algorithm->name);
  EXPECT_THAT(names, testing::UnorderedElementsAre("direct", "winograd", "lanewise"));
}

TEST(Space, aPointHasOneScheduleAndAScheduleOnePoint) {
  TaskFacts kernel(conv3x3(64, 64, 28), target);
  Schedule prior = *priorSchedule(*kernel.facts);
  Space space(*kernel.facts, {prior});
  ASSERT_TRUE(space.point(prior));
  Random random(baseSeed());
  for (int i = 0; i < 500; ++i) {
    Point point = *space.draw(random);
    EXPECT_EQ(space.point(space.schedule(point)), point);
    EXPECT_TRUE(legal(*kernel.facts, readSchedule(space.schedule(point).str())));
  }
  // A schedule without its default values gives the same point as one with them.
  Schedule direct = readSchedule("direct/1 px=14 oc=2 rows=28 width=28"), whole = direct;
  whole.numbers["kc"] = 0;
  Space both(*kernel.facts, {direct});
  EXPECT_EQ(both.point(direct), both.point(whole));
  EXPECT_FALSE(both.point(readSchedule("direct/1 px=14 oc=2 rows=27 width=28")));
  EXPECT_FALSE(both.point(readSchedule("gemm/2")));
}

TEST(Space, neighboursAreLegalAndDifferInOneKnob) {
  TaskFacts kernel(conv3x3(64, 64, 28), target);
  Space space(*kernel.facts);
  Random random(baseSeed());
  for (int i = 0; i < 20; ++i) {
    Point point = *space.draw(random);
    for (const Point &other : space.neighbours(point)) {
      EXPECT_TRUE(space.isLegal(other));
      ASSERT_EQ(other.algorithm, point.algorithm);
      int different = 0;
      for (size_t knob = 0; knob < point.values.size(); ++knob)
        different += point.values[knob] != other.values[knob];
      EXPECT_EQ(different, 1);
    }
    if (std::optional<Point> drawn = space.drawNeighbour(point, random))
      EXPECT_THAT(space.neighbours(point), testing::Contains(*drawn));
  }
}

TEST(Space, hasSchedulesThatRoundOnlyUnderAPrecisionThatAsksForThem) {
  TaskFacts kernel(conv3x3(64, 64, 28), target);
  Schedule rounding = readSchedule("direct/1 px=14 oc=2 type=bf16");
  ASSERT_TRUE(legal(*kernel.facts, rounding));
  auto isIn = [](const Space &space) {
    Random random(baseSeed());
    for (int i = 0; i < 300; ++i)
      if (auto words = space.schedule(*space.draw(random)).words; words.contains("type") && words.at("type") == "bf16")
        return true;
    return false;
  };
  Space exact(*kernel.facts, {rounding});
  EXPECT_FALSE(exact.point(rounding));
  EXPECT_FALSE(isIn(exact));
  kernel.facts->precision = Precision::bf16;
  EXPECT_TRUE(isIn(Space(*kernel.facts)));
}

TEST(Searcher, proposesEachLegalPointOnceAndTheStartsFirst) {
  TaskFacts kernel(conv3x3(64, 64, 28), target);
  Schedule prior = *priorSchedule(*kernel.facts);
  Space space(*kernel.facts, {prior});
  for (const auto &[name, summary] : searcherNames()) {
    auto searcher = makeSearcher(name, space, baseSeed(), {*space.point(prior)});
    std::set<Point> seen;
    for (int batch = 0; batch < 6; ++batch) {
      std::vector<Point> points = searcher->propose(8);
      ASSERT_EQ(points.size(), 8u) << name;
      if (batch == 0)
        EXPECT_EQ(points[0], space.point(prior)) << name;
      for (const Point &point : points) {
        EXPECT_TRUE(space.isLegal(point)) << name;
        EXPECT_TRUE(seen.insert(point).second) << name << ": " << space.schedule(point).str() << " twice";
      }
      std::vector<Trial> trials = measured(space, points);
      trials.back().seconds = INFINITY; // one fails
      searcher->report(trials);
    }
  }
}

TEST(Searcher, exhaustsASmallSpace) {
  TaskFacts kernel(elementwise("relu", 4096), target);
  Space space(*kernel.facts);
  size_t legalPoints = 0;
  auto grid = makeSearcher("gridsearch", space, 1);
  while (grid->propose(1).size())
    ++legalPoints;
  ASSERT_GT(legalPoints, 3u);
  ASSERT_LT(legalPoints, 300u);
  for (const auto &[name, summary] : searcherNames()) {
    auto searcher = makeSearcher(name, space, baseSeed());
    size_t proposed = 0;
    for (std::vector<Point> points; !(points = searcher->propose(5)).empty(); proposed += points.size())
      searcher->report(measured(space, points));
    EXPECT_EQ(proposed, legalPoints) << name;
  }
}

TEST(Searcher, repeatsItselfWithASeed) {
  TaskFacts kernel(conv3x3(64, 64, 28), target);
  Space space(*kernel.facts);
  for (const auto &[name, summary] : searcherNames()) {
    auto one = makeSearcher(name, space, 5), two = makeSearcher(name, space, 5);
    for (int batch = 0; batch < 6; ++batch) {
      std::vector<Point> points = one->propose(8);
      EXPECT_EQ(points, two->propose(8)) << name;
      one->report(measured(space, points));
      two->report(measured(space, points));
    }
  }
}

TEST(Searcher, doesNotProposeWhatEarlierRunsMeasured) {
  TaskFacts kernel(elementwise("relu", 4096), target);
  Space space(*kernel.facts);
  for (const auto &[name, summary] : searcherNames()) {
    auto first = makeSearcher(name, space, 1), second = makeSearcher(name, space, 1);
    std::vector<Point> points = first->propose(3);
    second->report(measured(space, points));
    for (std::vector<Point> more; !(more = second->propose(5)).empty(); second->report(measured(space, more)))
      for (const Point &point : more)
        EXPECT_THAT(points, testing::Not(testing::Contains(point))) << name;
  }
}

TEST(Searcher, descentAndGeneticFindMoreThanRandom) {
  TaskFacts kernel(conv3x3(64, 64, 28), target);
  Space space(*kernel.facts);
  // A genetic algorithm needs some generations before it is better than random search.
  for (auto [name, trials] : {std::pair("descent", 96), std::pair("ga", 320)}) {
    double ratio = 0;
    constexpr int seeds = 10;
    for (uint64_t seed = baseSeed(); seed < baseSeed() + seeds; ++seed)
      ratio += std::log(bestAfter("random", space, seed, trials) / bestAfter(name, space, seed, trials)) / seeds;
    EXPECT_GT(ratio, 0) << name << ", LATHE_SEED=" << baseSeed();
  }
}

TEST(Searcher, modelsBeginWithTheLowestPredictionsAndFindMoreThanRandom) {
  TaskFacts kernel(conv3x3(64, 64, 28), target);
  Space space(*kernel.facts);
  for (const char *name : {"xgb_knob", "xgb_itervar", "xgb_curve", "xgb_rank_itervar"}) {
    // Means over seeds, because a single search may begin above the least of 200 points.
    double ratio = 0, begins = 0;
    constexpr int seeds = 4;
    for (uint64_t seed = baseSeed(); seed < baseSeed() + seeds; ++seed) {
      Random random(seed);
      double least = INFINITY; // of 200 random points
      for (int i = 0; i < 200; ++i)
        least = std::min(least, kernel.facts->predict(space.schedule(*space.draw(random))).total());
      std::vector<Point> first = makeSearcher(name, space, seed)->propose(4);
      double proposed = INFINITY; // one of them may be random
      for (const Point &point : first)
        proposed = std::min(proposed, kernel.facts->predict(space.schedule(point)).total());
      begins += std::log(proposed / least) / seeds;
      ratio += std::log(bestAfter("random", space, seed, 48) / bestAfter(name, space, seed, 48)) / seeds;
    }
    EXPECT_LE(begins, std::log(1.05)) << name << ", LATHE_SEED=" << baseSeed();
    EXPECT_GT(ratio, 0) << name << ", LATHE_SEED=" << baseSeed();
  }
}

TEST(Searcher, modelsLearnWhatTheCostModelGetsWrongAndStartFromWhatIsKnown) {
  TaskFacts kernel(conv3x3(64, 64, 28), target);
  Space space(*kernel.facts);
  // A machine on which register blocks of several vectors are eight times slower than predicted.
  auto seconds = [&](const Point &point) {
    Schedule schedule = space.schedule(point);
    bool wide = schedule.numbers.contains("oc") && schedule.number("oc") > 1;
    return kernel.facts->predict(schedule).total() * (wide ? 8e-9 : 1e-9);
  };
  auto slow = [&](const std::vector<Point> &points) {
    return std::count_if(points.begin(), points.end(), [&](const Point &point) {
      return space.schedule(point).numbers.contains("oc") && space.schedule(point).number("oc") > 1;
    });
  };
  Features features(*kernel.facts, FeatureSet::knob);
  std::vector<TrainingExample> known;
  Random random(baseSeed());
  for (int i = 0; i < 200; ++i) {
    Point point = *space.draw(random);
    known.push_back({features.example(space.schedule(point)), seconds(point)});
  }
  auto ignorant = makeSearcher("xgb_knob", space, 1);
  std::vector<Point> points = ignorant->propose(16);
  EXPECT_GT(slow(points), 8);
  auto report = [&](Searcher &searcher, const std::vector<Point> &proposed) {
    std::vector<Trial> trials;
    for (const Point &point : proposed)
      trials.push_back({point, seconds(point)});
    searcher.report(trials);
  };
  for (int batch = 0; batch < 3; ++batch) {
    report(*ignorant, points);
    points = ignorant->propose(16);
  }
  EXPECT_LT(slow(points), 8);
  auto model = std::make_shared<LearnedModel>();
  model->fit(known);
  // Half of the first proposals come from the model, until its order of trials is known to be better.
  auto informed = makeSearcher("xgb_knob", space, 1, {}, [&] { return model; });
  points = informed->propose(16);
  EXPECT_GT(slow(points), 4);
  EXPECT_LT(slow(points), 12);
  report(*informed, points);
  EXPECT_LT(slow(informed->propose(16)), 4);
}

TEST(Searcher, modelsLeaveWhatMisleadsThem) {
  TaskFacts kernel(conv3x3(64, 64, 28), target);
  Space space(*kernel.facts);
  Features features(*kernel.facts, FeatureSet::knob);
  std::vector<TrainingExample> reversed;
  Random random(baseSeed());
  for (int i = 0; i < 200; ++i) {
    Example example = features.example(space.schedule(*space.draw(random)));
    reversed.push_back({example, 1 / example.cycles});
  }
  auto model = std::make_shared<LearnedModel>();
  model->fit(reversed);
  auto cycles = [&](const Point &point) { return kernel.facts->predict(space.schedule(point)).total(); };
  auto slowest = [&](const std::vector<Point> &points) {
    double most = 0;
    for (const Point &point : points)
      most = std::max(most, cycles(point));
    return most;
  };
  auto misled = makeSearcher("xgb_knob", space, 1, {}, [&] { return model; });
  std::vector<Point> first = misled->propose(16);
  std::vector<Trial> trials;
  for (const Point &point : first)
    trials.push_back({point, cycles(point) * 1e-9});
  misled->report(trials);
  double least = slowest({misled->best()->point});
  EXPECT_GT(slowest(first), 3 * least) << "LATHE_SEED=" << baseSeed();
  size_t good = 0;
  for (const Point &point : misled->propose(16))
    good += cycles(point) < 1.5 * least;
  EXPECT_GT(good, 10u) << "LATHE_SEED=" << baseSeed(); // some are random
}

TEST(Searcher, namesOfAutotvmAreAccepted) {
  TaskFacts kernel(elementwise("relu", 4096), target);
  Space space(*kernel.facts);
  for (const char *name : {"gridsearch", "random", "ga", "xgb", "xgb-rank", "xgb_rank", "xgb-knob", "xgb_rank-curve"})
    EXPECT_EQ(makeSearcher(name, space, 1)->propose(1).size(), 1u) << name;
  EXPECT_EQ(modelKindOf("xgb_rank_curve")->features, FeatureSet::curve);
  EXPECT_EQ(modelKindOf("xgb_rank_curve")->objective, Objective::ranking);
  EXPECT_EQ(modelKindOf("xgb_knob")->objective, Objective::regression);
  EXPECT_FALSE(modelKindOf("xgb_loops"));
  EXPECT_FALSE(modelKindOf("random"));
}

TEST(Searcher, unknownNamesAreAnError) {
  TaskFacts kernel(elementwise("relu", 64), target);
  Space space(*kernel.facts);
  auto isUnknown = testing::ThrowsMessage<Error>(
      testing::HasSubstr("unknown searcher 'annealing', expected xgb_itervar, xgb_knob, xgb_curve"));
  EXPECT_THAT([&] { makeSearcher("annealing", space, 1); }, isUnknown);
  EXPECT_THAT([&] { requireSearcher("annealing"); }, isUnknown);
  EXPECT_THROW(requireSearcher(""), Error);
  for (const auto &[name, summary] : searcherNames())
    EXPECT_NO_THROW(requireSearcher(name)) << name;
  for (const char *name : {"xgb", "xgb-rank", "xgb-rank-curve", "gridsearch"})
    EXPECT_NO_THROW(requireSearcher(name)) << name;
}

} // namespace
} // namespace lathe::tune
