// Models of other tasks, on a simulated machine whose register blocks of several vectors are far slower than predicted.
#include "tune/Transfer.h"

#include "codegen/testing/FactsTesting.h"
#include "codegen/testing/RandomTesting.h"
#include "tune/Replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lathe::tune {
namespace {

std::shared_ptr<const KernelFacts> convolution(int64_t channels) {
  return std::move(TaskFacts(conv3x3(channels, channels, 28), Target::parse("znver4")).facts);
}

bool isWide(const Schedule &schedule) { return schedule.numbers.contains("oc") && schedule.number("oc") > 1; }

double secondsOf(const KernelFacts &facts, const Schedule &schedule) {
  return facts.predict(schedule).total() * (isWide(schedule) ? 8e-9 : 1e-9);
}

MeasuredTask measuredTask(const std::string &group, int64_t channels, size_t count) {
  MeasuredTask task{group, group, convolution(channels), {}};
  Space space(*task.facts);
  Random random(baseSeed());
  for (size_t i = 0; i < count; ++i) {
    Schedule schedule = space.schedule(space.draw(random).value());
    task.schedules.push_back({schedule, {secondsOf(*task.facts, schedule)}});
  }
  return task;
}

TEST(Transfer, aSearcherWithKnowledgeOfOtherTasksAvoidsWhatIsSlow) {
  TransferModels models({measuredTask("a", 64, 120), measuredTask("b", 96, 120)}, {"c"}, *modelKindOf("xgb_knob"));
  EXPECT_EQ(models.tasks(), 2u);
  EXPECT_EQ(models.schedules(), 240u);
  auto facts = convolution(128);
  Space space(*facts);
  auto wideOf = [&](uint64_t seed, const StartModel &startModel) { // of two batches
    size_t wide = 0;
    auto count = [&](const Point &point) {
      Schedule schedule = space.schedule(point);
      wide += isWide(schedule);
      return secondsOf(*facts, schedule);
    };
    replay(space, count, "xgb_knob", seed, {.trials = 16}, startModel);
    return wide;
  };
  size_t with = 0, without = 0;
  for (uint64_t seed = baseSeed(); seed < baseSeed() + 20; ++seed) {
    without += wideOf(seed, {});
    with += wideOf(seed, [&] { return models.modelFor("c"); });
  }
  EXPECT_LT(with, without) << "LATHE_SEED=" << baseSeed();
}

TEST(Transfer, aModelForATaskIsTrainedWithoutIt) {
  ModelKind kind = *modelKindOf("xgb_knob");
  MeasuredTask a = measuredTask("a", 64, 20), b = measuredTask("b", 96, 20);
  TransferModels alone({a}, {"a"}, kind);
  EXPECT_EQ(alone.tasks(), 0u);
  EXPECT_EQ(alone.modelFor("a"), nullptr);
  EXPECT_EQ(TransferModels({}, {"a"}, kind).modelFor("a"), nullptr);

  TransferModels both({a, b}, {"a", "b"}, kind);
  EXPECT_EQ(both.tasks(), 2u);
  LearnedModel ofB;
  ofB.fit(trainingExamples({b}, kind.features));
  ASSERT_NE(both.modelFor("a"), nullptr);
  EXPECT_EQ(both.modelFor("a")->save(), ofB.save());
  EXPECT_EQ(both.modelFor("a"), both.modelFor("a")); // trained once
  EXPECT_NE(both.modelFor("a"), both.modelFor("b"));

  auto start = std::make_shared<LearnedModel>(); // trained elsewhere
  start->fit(trainingExamples({measuredTask("d", 128, 20)}, kind.features));
  EXPECT_EQ(TransferModels({}, {"a"}, kind, start).modelFor("a"), start);
  TransferModels begun({a, b}, {"a", "b"}, kind, start);
  LearnedModelOptions options;
  options.start = start;
  LearnedModel ofStartAndB(options);
  ofStartAndB.fit(trainingExamples({b}, kind.features));
  EXPECT_EQ(begun.modelFor("a")->save(), ofStartAndB.save());
  EXPECT_NE(begun.modelFor("a")->save(), ofB.save());

  TransferModels other({a}, {"a", "c"}, kind); // known of a, not of c
  EXPECT_EQ(other.tasks(), 1u);
  EXPECT_EQ(other.modelFor("a"), nullptr);
  EXPECT_NE(other.modelFor("c"), nullptr);
}

TEST(Transfer, takesASampleOfTooMuch) {
  std::vector<MeasuredTask> tasks;
  for (size_t i = 0; i < 10; ++i) {
    MeasuredTask task{"", std::to_string(i), nullptr, {}};
    for (size_t number = 0; number < 1 + 10 * i; ++number)
      task.schedules.push_back({{}, {double(number + 1)}});
    tasks.push_back(std::move(task));
  }
  auto sizes = [&](const TransferLimits &limits, uint64_t seed) {
    std::vector<size_t> all;
    for (const MeasuredTask &task : sampled(tasks, limits, seed)) {
      all.push_back(task.schedules.size());
      EXPECT_TRUE(std::is_sorted(task.schedules.begin(), task.schedules.end(),
                                 [](auto &a, auto &b) { return a.best() < b.best(); }));
    }
    return all;
  };
  EXPECT_THAT(sizes({}, 1), testing::ElementsAre(11, 21, 31, 41, 51, 61, 71, 81, 91)); // one schedule says nothing
  EXPECT_THAT(sizes({.tasks = 20, .schedules = 200}, 1), testing::ElementsAre(11, 21, 24, 24, 24, 24, 24, 24, 24));
  EXPECT_EQ(sizes({.tasks = 3}, 1).size(), 3u);
  auto groups = [&](uint64_t seed) {
    std::string names;
    for (const MeasuredTask &task : sampled(tasks, {.tasks = 3}, seed))
      names += task.group;
    return names;
  };
  EXPECT_EQ(groups(1), groups(1));
  std::set<std::string> different;
  for (uint64_t seed = 0; seed < 10; ++seed)
    different.insert(groups(seed));
  EXPECT_GT(different.size(), 1u);
}

} // namespace
} // namespace lathe::tune
