#include "tune/Replay.h"

#include "codegen/space/LoopFacts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lathe::tune {
namespace {

/// An element-wise kernel and a table of its schedules. Times follow the cost model, except for one schedule that is
/// far faster.
struct Measured {
  MapFacts facts;
  std::vector<MeasuredSchedule> table;

  explicit Measured(size_t count) {
    facts.family = "elementwise";
    facts.target = Target::parse("znver4");
    facts.operators = 1;
    facts.inputs = facts.outputs = {{ElementType::f32, {Dim(256), Dim(4096)}}};
    facts.shape = {{Dim(256), Dim(4096)}, 2, 16, 1};
    Space space(facts);
    Random random(1);
    std::set<Point> seen;
    while (seen.size() < count)
      if (Point point = *space.draw(random); seen.insert(point).second) {
        Schedule schedule = space.schedule(point);
        table.push_back({schedule, {facts.predict(schedule).total() * 1e-9}});
      }
    table[count / 2].seconds[0] /= 100;
  }
};

TEST(TableSpace, hasThePointsOfTheTableOnly) {
  Measured measured(40);
  std::vector<MeasuredSchedule> table = measured.table;
  table.push_back(table.front()); // twice
  table.push_back({readSchedule("softmax/2"), {1}});
  TableSpace space(measured.facts, table);
  EXPECT_EQ(space.size(), 40u);
  EXPECT_DOUBLE_EQ(space.leastSeconds(), measured.table[20].seconds[0]);
  std::set<Point> drawn, inTable;
  for (const MeasuredSchedule &one : measured.table)
    inTable.insert(*space.point(one.schedule));
  Random random(2);
  for (int i = 0; i < 2000; ++i)
    drawn.insert(*space.draw(random, 1));
  EXPECT_EQ(drawn, inTable);
  for (const Point &point : inTable) {
    std::vector<Point> neighbours = space.neighbours(point);
    EXPECT_EQ(neighbours.size(), 16u);
    EXPECT_THAT(neighbours, testing::Not(testing::Contains(point)));
    EXPECT_THAT(neighbours, testing::Contains(*space.drawNeighbour(point, random, 1)));
    for (const Point &one : neighbours)
      EXPECT_TRUE(space.isLegal(one));
  }
}

/// Number of trials until the best schedule of the table is found.
double needed(const TableSpace &space, const std::string &searcher, uint64_t seed) {
  ReplayOptions options;
  options.enough = space.leastSeconds();
  auto secondsOf = [&](const Point &point) { return space.secondsOf(point); };
  return trialsUntil(replay(space, secondsOf, searcher, seed, options), options.enough);
}

TEST(Replay, everySearcherFindsTheBestOfASmallTable) {
  Measured measured(40);
  TableSpace space(measured.facts, measured.table);
  for (const auto &[name, summary] : searcherNames())
    EXPECT_LE(needed(space, name, 3), 40) << name;
}

TEST(Replay, modelsFindAtOnceWhatTheCostModelKnows) {
  Measured measured(60);
  measured.table[30].seconds[0] *= 100;
  TableSpace space(measured.facts, measured.table);
  for (const char *name : {"xgb", "xgb-rank", "xgb_knob"})
    EXPECT_LE(needed(space, name, 1), 4) << name;
}

TEST(Replay, endsWithTheBatchThatIsFastEnoughOrWithTheLastTrial) {
  Measured measured(40);
  TableSpace space(measured.facts, measured.table);
  ReplayOptions options;
  options.trials = 10;
  std::vector<double> times;
  auto count = [&](const Point &) {
    times.push_back(100 - double(times.size()));
    return times.back();
  };
  EXPECT_EQ(replay(space, count, "random", 1, options), times);
  EXPECT_EQ(times.size(), 10u);
  times.clear();
  options.batch = 4;
  options.enough = 95; // the sixth trial
  EXPECT_EQ(replay(space, count, "random", 1, options).size(), 8u);
  EXPECT_EQ(trialsUntil(times, 95), 6);
  EXPECT_EQ(trialsUntil(times, 50), INFINITY);
}

TEST(InterpolatedMachine, isNearTheTableAtItsSchedulesAndFollowsItBetween) {
  Measured measured(60);
  for (MeasuredSchedule &one : measured.table) // a machine that is three times slower than predicted for wide loops
    one.seconds[0] =
        measured.facts.predict(one.schedule).total() * (one.schedule.number("interleave") > 8 ? 3e-9 : 1e-9);
  std::vector<Schedule> schedules;
  for (const MeasuredSchedule &one : measured.table)
    schedules.push_back(one.schedule);
  Space space(measured.facts, schedules);
  InterpolatedMachine machine(space, measured.table);
  for (const MeasuredSchedule &one : measured.table) {
    double ratio = machine.secondsOf(*space.point(one.schedule)) / one.best();
    EXPECT_GT(ratio, 0.6) << one.schedule.str();
    EXPECT_LT(ratio, 1.6) << one.schedule.str();
  }
  auto error = [&](const char *text) {
    Schedule schedule = readSchedule(text);
    return machine.secondsOf(*space.point(schedule)) / measured.facts.predict(schedule).total() * 1e9;
  };
  EXPECT_GT(error("map/2 grain=16384 interleave=16"), 2);
  EXPECT_LT(error("map/2 grain=16384 interleave=2"), 1.5);
}

TEST(Replay, spread) {
  Spread spread = spreadOf({5, 1, 4, 2, 3});
  EXPECT_EQ(spread.low, 2);
  EXPECT_EQ(spread.median, 3);
  EXPECT_EQ(spread.high, 4);
}

} // namespace
} // namespace lathe::tune
