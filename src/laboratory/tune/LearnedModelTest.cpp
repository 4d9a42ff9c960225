#include "tune/LearnedModel.h"

#include "support/Error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace lathe::tune {
namespace {

/// Schedules of `tasks` tasks. Their times are the predicted times multiplied by a factor that depends on the first
/// feature. The second feature is irrelevant; the third is missing in every other schedule.
std::vector<TrainingExample> examples(uint64_t seed, size_t tasks, size_t each) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<float> share(0, 1);
  std::vector<TrainingExample> result;
  for (size_t task = 0; task < tasks; ++task)
    for (size_t i = 0; i < each; ++i) {
      TrainingExample example;
      example.task = task;
      float wrong = share(random);
      example.features = {wrong, share(random), i % 2 ? share(random) : NAN};
      example.cycles = (1e4 + 3e4 * share(random)) * double(task + 1);
      example.seconds = example.cycles * 1e-9 * (wrong > 0.5 ? 3 : 1);
      result.push_back(example);
    }
  return result;
}

/// Share of the pairs of a task that the scores and the times order alike.
double accuracy(const std::vector<TrainingExample> &examples, const std::vector<double> &scores) {
  double right = 0, pairs = 0;
  for (size_t i = 0; i < examples.size(); ++i)
    for (size_t j = 0; j < examples.size(); ++j)
      if (examples[i].task == examples[j].task && examples[i].seconds < 0.95 * examples[j].seconds) {
        ++pairs;
        right += scores[i] > scores[j];
      }
  return right / pairs;
}

std::vector<Example> withoutTimes(const std::vector<TrainingExample> &examples) {
  return {examples.begin(), examples.end()};
}

LearnedModelOptions with(Objective objective) {
  LearnedModelOptions options;
  options.objective = objective;
  return options;
}

TEST(LearnedModel, untrainedOrdersAsTheAnalyticModel) {
  std::vector<TrainingExample> all = examples(1, 3, 40);
  LearnedModel model;
  EXPECT_FALSE(model.trained());
  std::vector<double> scores = model.score(withoutTimes(all));
  for (size_t i = 1; i < all.size(); ++i)
    if (all[i].task == all[i - 1].task)
      EXPECT_EQ(scores[i] > scores[i - 1], all[i].cycles < all[i - 1].cycles);
}

TEST(LearnedModel, learnsWhatTheAnalyticModelGetsWrongAlsoOfTasksItHasNotSeen) {
  std::vector<TrainingExample> seen = examples(1, 8, 120), other = examples(2, 2, 60);
  double untrained = accuracy(other, LearnedModel().score(withoutTimes(other)));
  EXPECT_LT(untrained, 0.8);
  for (Objective objective : {Objective::regression, Objective::ranking}) {
    LearnedModel model(with(objective));
    model.fit(seen);
    ASSERT_TRUE(model.trained());
    SCOPED_TRACE(objective == Objective::ranking ? "ranking" : "regression");
    // Pairs in the right order no longer change the trees for ranking, so these learn the size of the error less well.
    double least = objective == Objective::ranking ? 0.86 : 0.95;
    EXPECT_GT(accuracy(seen, model.score(withoutTimes(seen))), least);
    EXPECT_GT(accuracy(other, model.score(withoutTimes(other))), least);
  }
}

TEST(LearnedModel, isTheSameForTheSameExamples) {
  std::vector<TrainingExample> all = examples(3, 4, 30);
  LearnedModel one, two;
  one.fit(all);
  two.fit(all);
  EXPECT_EQ(one.score(withoutTimes(all)), two.score(withoutTimes(all)));
  EXPECT_EQ(one.save(), two.save());
}

TEST(LearnedModel, survivesSavingAndLoading) {
  std::vector<TrainingExample> all = examples(4, 4, 30);
  for (Objective objective : {Objective::regression, Objective::ranking}) {
    LearnedModel model(with(objective)), copy;
    model.fit(all);
    copy.load(model.save());
    EXPECT_EQ(model.score(withoutTimes(all)), copy.score(withoutTimes(all)));
  }
}

TEST(LearnedModel, oneMeasurementIsEnoughToBegin) {
  LearnedModel model;
  model.fit({});
  EXPECT_FALSE(model.trained());
  model.fit(examples(5, 1, 1));
  EXPECT_EQ(model.score(withoutTimes(examples(5, 1, 4))).size(), 4u);
}

TEST(LearnedModel, refusesWhatIsNone) {
  LearnedModel model;
  EXPECT_THROW(model.save(), Error);
  EXPECT_THROW(model.load("{\"version\": [1, 6]}"), Error);
  EXPECT_THROW(model.load("abc"), Error);
  EXPECT_FALSE(model.trained());
  std::vector<TrainingExample> uneven = examples(6, 1, 3);
  uneven[1].features.pop_back();
  EXPECT_THROW(model.fit(uneven), Error);
}

} // namespace
} // namespace lathe::tune
