#include "tune/ModelTable.h"

#include "codegen/space/LoopFacts.h"
#include "tune/Space.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace lathe::tune {
namespace {

MeasuredSchedule measured(std::vector<double> seconds) { return {{}, std::move(seconds)}; }

Ranking rankingOf(const std::vector<MeasuredSchedule> &schedules, const std::vector<double> &scores) {
  RankingSum sum;
  std::vector<const MeasuredSchedule *> pointers;
  for (const MeasuredSchedule &one : schedules)
    pointers.push_back(&one);
  sum.add(pointers, scores);
  return sum.mean();
}

TEST(Ranking, countsPairsThatDifferByFivePercentInBothHalves) {
  MeasuredSchedule fast = measured({1.0, 1.0}), near = measured({1.04, 1.2}), slow = measured({1.06, 1.2});
  EXPECT_FALSE(differ(fast, near)); // in one half only
  EXPECT_TRUE(differ(fast, slow));
  EXPECT_FALSE(differ(slow, fast));
  EXPECT_TRUE(differ(measured({1.0}), measured({1.06}))); // one sample
  Ranking ranking = rankingOf({fast, near, slow}, {3, 2, 1});
  EXPECT_EQ(ranking.pairs, 1u);
  EXPECT_EQ(ranking.accuracy, 1);
}

TEST(Ranking, ofHandMadeScores) {
  std::vector<MeasuredSchedule> schedules = {measured({1}), measured({2}), measured({4}), measured({8})};
  Ranking right = rankingOf(schedules, {9, 8, 7, 6});
  EXPECT_EQ(right.pairs, 6u);
  EXPECT_EQ(right.accuracy, 1);
  EXPECT_EQ(right.peak1, 1);
  EXPECT_EQ(right.peak5, 1);
  Ranking reversed = rankingOf(schedules, {6, 7, 8, 9});
  EXPECT_EQ(reversed.accuracy, 0);
  EXPECT_DOUBLE_EQ(reversed.peak1, 0.125);
  EXPECT_DOUBLE_EQ(reversed.peak5, (0.125 + 0.25 + 0.5 + 1) / 4); // of four schedules
  Ranking equal = rankingOf(schedules, {0, 0, 0, 0});
  EXPECT_EQ(equal.accuracy, 0.5);
  // Scores equal to the logarithms plus a constant have no error; scores of half the logarithms have half the
  // deviation.
  std::vector<double> logarithms, half;
  for (const MeasuredSchedule &one : schedules) {
    logarithms.push_back(5 - std::log(one.best()));
    half.push_back(-std::log(one.best()) / 2);
  }
  EXPECT_NEAR(rankingOf(schedules, logarithms).rmse, 0, 1e-12);
  EXPECT_NEAR(rankingOf(schedules, half).rmse, std::log(2) / 2 * std::sqrt(1.25), 1e-12);
}

TEST(Ranking, weighsTasksByTheirSchedules) {
  RankingSum sum;
  std::vector<MeasuredSchedule> two = {measured({1}), measured({2})},
                                four = {measured({1}), measured({2}), measured({4}), measured({8})};
  std::vector<const MeasuredSchedule *> small = {&two[0], &two[1]}, large = {&four[0], &four[1], &four[2], &four[3]};
  sum.add(small, std::vector<double>{1, 2});       // wrong: peak@1 is 1/2
  sum.add(large, std::vector<double>{4, 3, 2, 1}); // right
  sum.add(std::span(small).first(1), std::vector<double>{1});
  Ranking ranking = sum.mean();
  EXPECT_EQ(ranking.tasks, 2u); // a single schedule cannot be ranked
  EXPECT_EQ(ranking.schedules, 6u);
  EXPECT_DOUBLE_EQ(ranking.accuracy, 4.0 / 6);
  EXPECT_DOUBLE_EQ(ranking.peak1, (2 * 0.5 + 4) / 6);
}

/// Element-wise kernels whose times are the predicted times multiplied by a factor that depends on a parameter. The
/// cost model does not know the factor.
std::vector<MeasuredTask> tasksOf(size_t count) {
  std::vector<MeasuredTask> tasks;
  for (size_t number = 0; number < count; ++number) {
    auto facts = std::make_shared<MapFacts>();
    facts->family = "elementwise";
    facts->target = Target::parse("znver4");
    facts->operators = 1;
    auto rows = int64_t(64 + 16 * number);
    facts->inputs = facts->outputs = {{ElementType::f32, {Dim(rows), Dim(4096)}}};
    facts->shape = {{Dim(rows), Dim(4096)}, 2, 16, 1};
    Space space(*facts);
    MeasuredTask task{"map", "map " + std::to_string(number / 2), facts, {}};
    Random random(number);
    for (int i = 0; i < 80; ++i) {
      Schedule schedule = space.schedule(*space.draw(random));
      double wrong = schedule.number("interleave") > 8 ? 3 : 1;
      task.schedules.push_back({schedule, {facts->predict(schedule).total() * wrong * 1e-9}});
    }
    tasks.push_back(std::move(task));
  }
  return tasks;
}

TEST(Evaluation, holdsOutSchedulesOrWholeGroups) {
  std::vector<MeasuredTask> tasks = tasksOf(10);
  EvaluationOptions options;
  std::vector<std::vector<size_t>> parts = partsOf(tasks, options);
  for (const std::vector<size_t> &ofTask : parts)
    for (size_t part = 0; part < options.parts; ++part)
      EXPECT_EQ(std::count(ofTask.begin(), ofTask.end(), part), 16);
  EXPECT_EQ(parts, partsOf(tasks, options));
  options.heldOut = HeldOut::groups;
  parts = partsOf(tasks, options);
  std::set<size_t> used;
  for (size_t i = 0; i < tasks.size(); ++i) {
    EXPECT_EQ(std::set<size_t>(parts[i].begin(), parts[i].end()).size(), 1u);
    EXPECT_EQ(parts[i][0], parts[i / 2 * 2][0]) << "tasks of a group are apart";
    used.insert(parts[i][0]);
  }
  EXPECT_EQ(used.size(), options.parts);
}

TEST(Evaluation, holdsOutChosenGroupsOnce) {
  std::vector<MeasuredTask> tasks = tasksOf(10);
  EvaluationOptions options{.heldOut = HeldOut::chosen, .chosen = {"map 1", "map 4"}};
  EXPECT_EQ(options.trainings(), 1u);
  std::vector<std::vector<size_t>> parts = partsOf(tasks, options);
  for (size_t i = 0; i < tasks.size(); ++i)
    EXPECT_THAT(parts[i], testing::Each(options.chosen.contains(tasks[i].group) ? 0u : 1u));
  Evaluation learned = evaluate(tasks, FeatureSet::knob, {}, options);
  EXPECT_EQ(learned.ranking.tasks, 4u);
  EXPECT_EQ(learned.ranking.schedules, 320u);
  EXPECT_GT(learned.ranking.accuracy, 0.97);
}

TEST(Evaluation, aTableHasTheAnalyticModelAndEveryLearnedOne) {
  std::vector<MeasuredTask> tasks = tasksOf(5);
  for (size_t i = 0; i < tasks.size(); ++i)
    tasks[i].group = std::to_string(i);
  LearnedModelOptions model;
  model.rounds = 10;
  std::vector<std::string> told;
  EvaluationOptions options{.heldOut = HeldOut::groups};
  std::vector<ModelQuality> qualities =
      modelQualities(tasks, options, model, [&](const ModelQuality &one) { told.push_back(one.model); });
  EXPECT_THAT(told, testing::ElementsAre("analytic", "xgb_knob", "xgb_itervar", "xgb_curve", "xgb_rank_knob",
                                         "xgb_rank_itervar", "xgb_rank_curve"));
  EXPECT_EQ(told, evaluatedModels());
  Table table = modelTable(qualities);
  ASSERT_EQ(table.rowCount(), told.size());
  double accuracy = evaluate(tasks, FeatureSet::knob, model, options).ranking.accuracy;
  EXPECT_EQ(table.cells()[1][0].text, "tasks");
  EXPECT_EQ(table.cells()[1][1].text, "xgb_knob");
  EXPECT_EQ(table.cells()[1][2].text, fmt::format("{:.3f}", accuracy));
  EXPECT_NE(table.cells()[3][5].text, "");
  EXPECT_EQ(table.cells()[4][5].text, "") << "scores of xgb_rank have no unit";
}

TEST(Evaluation, aModelLearnsWhatTheAnalyticModelDoesNotKnow) {
  std::vector<MeasuredTask> tasks = tasksOf(10);
  for (HeldOut heldOut : {HeldOut::schedules, HeldOut::groups}) {
    EvaluationOptions options;
    options.heldOut = heldOut;
    Ranking analytic = evaluateAnalytic(tasks, options).ranking;
    Ranking learned = evaluate(tasks, FeatureSet::knob, {}, options).ranking;
    EXPECT_EQ(analytic.schedules, 800u);
    EXPECT_EQ(analytic.tasks, 10u);
    EXPECT_EQ(analytic.pairs, learned.pairs);
    EXPECT_LT(analytic.accuracy, 0.9);
    EXPECT_GT(learned.accuracy, 0.97);
    EXPECT_LT(learned.rmse, analytic.rmse / 2);
    EXPECT_GT(learned.peak1, 0.95);
  }
}

} // namespace
} // namespace lathe::tune
