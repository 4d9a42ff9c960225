// Which task gets the next batch, and when the search ends.
#include "tune/Budget.h"

#include <gtest/gtest.h>

#include <limits>

namespace lathe::tune {
namespace {

constexpr double ms = 1e-3;

TEST(Budget, beginsWithTheTaskThatHasMostToGainForItsTime) {
  std::vector<TaskProgress> tasks{{1, 1 * ms, 2 * ms, 1}, {4, 1 * ms, 2 * ms, 1}, {4, 1.9 * ms, 2 * ms, 1}};
  EXPECT_EQ(nextTask(tasks, 0), 1u); // four runs in a run of the model, each far above its floor
  tasks[1] = {4, 1 * ms, 2 * ms, 100};
  EXPECT_EQ(nextTask(tasks, 0), 0u); // its batches take too long
}

TEST(Budget, leavesATaskThatGainsNothing) {
  std::vector<TaskProgress> tasks{{2, 1 * ms, 2 * ms, 1}, {1, 1 * ms, 2 * ms, 1}};
  ASSERT_EQ(nextTask(tasks, 0), 0u);
  size_t batches = 0;
  for (; nextTask(tasks, 0) == 0u; ++batches)
    tasks[0].add(2 * ms, 1);
  EXPECT_LE(batches, 3u);
  // A task that still gains gets further batches.
  tasks[0] = {2, 1 * ms, 2 * ms, 1};
  for (int i = 1; i <= 2; ++i) {
    tasks[0].add((2 - 0.15 * i) * ms, 1);
    EXPECT_EQ(nextTask(tasks, 0), 0u) << i;
  }
}

TEST(Budget, beginsWithTheTaskThatIsExpectedToGainMost) {
  std::vector<TaskProgress> tasks{{1, 1 * ms, 2 * ms, 1}, {1, 1 * ms, 2 * ms, 1}};
  tasks[1].expect(1.5 * ms);
  EXPECT_EQ(nextTask(tasks, 0), 1u);
  EXPECT_DOUBLE_EQ(tasks[1].expectedGain(), 0.5 * ms);
  tasks[1].expect(3 * ms); // no time is expected to rise
  EXPECT_EQ(nextTask(tasks, 0), 0u);
  EXPECT_GT(tasks[1].expectedGain(), 0);
}

TEST(Budget, endsWhereOneMoreBatchOfEveryTaskGainsLessThanTheMargin) {
  std::vector<TaskProgress> tasks{{1, 1 * ms, 1.5 * ms, 1}, {1, 1 * ms, 1.5 * ms, 1}};
  size_t batches = 0;
  while (std::optional<size_t> next = nextTask(tasks, 0.01)) {
    tasks[*next].add(tasks[*next].best(), 1);
    ASSERT_LT(++batches, 100u);
  }
  EXPECT_GE(batches, 4u);
  EXPECT_LT(tasks[0].expectedGain() + tasks[1].expectedGain(), 0.01 * modelSeconds(tasks));
}

TEST(Budget, knowsWhenItEndsIfNothingIsGained) {
  std::vector<TaskProgress> tasks{{1, 1 * ms, 1.5 * ms, 3}, {2, 1 * ms, 1.5 * ms, 1}};
  double expected = secondsToEnd(tasks, 0.01), seconds = 0;
  EXPECT_GT(expected, 0);
  while (std::optional<size_t> next = nextTask(tasks, 0.01)) {
    seconds += tasks[*next].batchSeconds();
    tasks[*next].add(tasks[*next].best(), tasks[*next].batchSeconds());
  }
  EXPECT_DOUBLE_EQ(seconds, expected);
  EXPECT_EQ(secondsToEnd(tasks, 0.01), 0);
  EXPECT_EQ(secondsToEnd(tasks, 0), std::numeric_limits<double>::infinity());
}

TEST(Budget, aTaskThatHasEndedIsNotChosen) {
  std::vector<TaskProgress> tasks{{1, 1 * ms, 2 * ms, 1}, {9, 1 * ms, 2 * ms, 1}};
  tasks[1].end();
  EXPECT_EQ(nextTask(tasks, 0), 0u);
  EXPECT_DOUBLE_EQ(modelSeconds(tasks), 20 * ms);
  tasks[0].end();
  EXPECT_FALSE(nextTask(tasks, 0));
}

TEST(Budget, aFloorThatIsTooHighDoesNotEndATask) {
  std::vector<TaskProgress> tasks{{1, 3 * ms, 2 * ms, 1}};
  EXPECT_GT(tasks[0].expectedGain(), 0);
  tasks[0].add(1.9 * ms, 2);
  EXPECT_GT(tasks[0].expectedGain(), 0);
  EXPECT_DOUBLE_EQ(tasks[0].best(), 1.9 * ms);
  EXPECT_DOUBLE_EQ(tasks[0].batchSeconds(), 2);
}

} // namespace
} // namespace lathe::tune
