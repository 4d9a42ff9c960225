// The prior's choice between the hand rules and the model is legal and repeatable and keeps the promises of its header,
// for random kernels of all families. `study prior` measures whether it is fast (docs/notes/prior.md).
//
// LATHE_SEED repeats a run.
#include "codegen/cost/BestPrediction.h"

#include "codegen/testing/FactsTesting.h"
#include "codegen/testing/RandomKernels.h"

#include <gtest/gtest.h>

#include <set>

namespace lathe {
namespace {

TEST(BestPrediction, isALegalScheduleThatNoRuleIsPredictedToBeat) {
  const std::vector<Target> targets = {Target::parse("znver4"), Target::parse("sapphirerapids"),
                                       Target::parse("x86-64-v3"), Target::parse("aarch64-linux-gnu,cpu=cortex-a76")};
  const std::vector<std::string> families = {"contraction", "contraction", "contraction", "contraction", "attention",
                                             "recurrent",   "softmax",     "normalize",   "elementwise", "pool",
                                             "reduction",   "lrn",         "resize",      "scan",        "selection",
                                             "indexed",     "movement"};
  int chosen = 0, better = 0;
  for (uint64_t number = 0; chosen < 400; ++number) {
    Random random(baseSeed() + number);
    const std::string &family = families[random.in(0, int64_t(families.size()) - 1)];
    const Target &target = targets[random.in(0, int64_t(targets.size()) - 1)];
    std::string text = randomKernel(random, family, target);
    TextFacts read(text, target, int(random.in(1, 3)));
    if (!read.facts)
      continue;
    Outcome<ScheduleChoice> choice = priorChoice(*read.facts);
    if (!choice)
      continue;
    ++chosen;
    SCOPED_TRACE(fmt::format("LATHE_SEED={}\n{}", baseSeed() + number, text));
    EXPECT_TRUE(bool(legal(*read.facts, choice->rule.schedule)));
    EXPECT_TRUE(bool(legal(*read.facts, choice->model.schedule))) << choice->model.schedule.str();
    EXPECT_EQ(choice->rule.schedule.str(), read.facts->prior().str());
    EXPECT_EQ(choice->model.cycles, read.facts->predict(choice->model.schedule).total());
    EXPECT_LE(choice->model.cycles, choice->rule.cycles);
    if (choice->model.cycles == choice->rule.cycles)
      EXPECT_EQ(choice->model.schedule.str(), choice->rule.schedule.str()); // ties go to the rule
    if (choice->byModel)
      EXPECT_LT(choice->model.cycles, choice->rule.cycles);
    EXPECT_EQ(priorChoice(*read.facts)->schedule().str(), choice->schedule().str());
    better += choice->model.cycles < choice->rule.cycles;
    for (const PredictedSchedule &other : ruleSchedules(*read.facts, choice->rule)) {
      EXPECT_TRUE(bool(legal(*read.facts, other.schedule)));
      EXPECT_FALSE(other.schedule.words.contains("type") && other.schedule.words.at("type") == "bf16");
    }
  }
  EXPECT_GT(better, 0); // the search finds something
}

TEST(BestPrediction, comparesAlgorithmsUnlessOneIsAskedFor) {
  Target target = Target::parse("znver4");
  TextFacts read(conv3x3(64, 64, 56), target);
  std::set<std::string> compared;
  for (const PredictedSchedule &rule : ruleSchedules(*read.facts, bestPrediction(*read.facts).rule))
    compared.insert(rule.schedule.algorithm);
  EXPECT_EQ(compared, (std::set<std::string>{"direct", "lanewise", "winograd"}));
  for (const std::string &algorithm : compared) {
    ScheduleChoice choice = bestPrediction(*read.facts, AlgorithmChoice{algorithm});
    EXPECT_EQ(choice.rule.schedule.algorithm, algorithm);
    EXPECT_EQ(choice.model.schedule.algorithm, algorithm);
  }
  EXPECT_EQ(bestPrediction(*read.facts, AlgorithmChoice{"winograd", 2}).model.schedule.number("m"), 2);
  TextFacts exact(conv3x3(64, 64, 56), target, 1, true);
  EXPECT_EQ(bestPrediction(*exact.facts).model.schedule.algorithm, "direct");
}

TEST(BestPrediction, kernelsWithOpenExtentsKeepTheRule) {
  Target target = Target::parse("znver4");
  TextFacts open(conv3x3(64, 64, 56, "?"), target);
  ASSERT_TRUE(open.facts);
  ScheduleChoice choice = bestPrediction(*open.facts);
  EXPECT_FALSE(choice.byModel);
  EXPECT_EQ(choice.model.schedule.str(), choice.rule.schedule.str());
}

} // namespace
} // namespace lathe
