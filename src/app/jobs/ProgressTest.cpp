#include "jobs/Progress.h"

#include <gtest/gtest.h>

namespace lathe::jobs {
namespace {

TEST(TimeLeft, followsFromWhatWasDone) {
  TimeLeft left;
  EXPECT_EQ(left.seconds(), std::nullopt);
  left.update(0, 10, 5);
  EXPECT_EQ(left.seconds(), std::nullopt); // nothing done yet
  left.update(2, 10, 9);
  EXPECT_DOUBLE_EQ(left.seconds().value(), 16); // two seconds each
  left.update(5, 10, 10);
  EXPECT_DOUBLE_EQ(left.seconds().value(), 5);
  left.update(10, 10, 20);
  EXPECT_EQ(left.seconds(), std::nullopt);
}

TEST(TimeLeft, whatComesAfterwardsIsCounted) {
  TimeLeft left(30);
  left.update(0, 10, 5);
  EXPECT_EQ(left.seconds(), std::nullopt);
  left.update(2, 10, 9);
  EXPECT_DOUBLE_EQ(left.seconds().value(), 46);
}

TEST(TimeLeft, whatWasThereBeforeIsNotCounted) {
  TimeLeft left;
  left.update(90, 100, 0); // an interrupted run continues
  left.update(95, 100, 50);
  EXPECT_DOUBLE_EQ(left.seconds().value(), 50);
}

TEST(TimeLeft, anotherStageBeginsAnew) {
  TimeLeft left;
  left.update(0, 10, 0);
  left.update(9, 10, 9);
  left.update(0, 10, 100); // `done` goes back
  EXPECT_EQ(left.seconds(), std::nullopt);
  left.update(1, 10, 103);
  EXPECT_DOUBLE_EQ(left.seconds().value(), 27);
  left.update(1, 4, 110); // another number of all
  EXPECT_EQ(left.seconds(), std::nullopt);
  left.update(2, 4, 111);
  EXPECT_DOUBLE_EQ(left.seconds().value(), 2);
}

TEST(TimeLeft, withoutATotalThereIsNone) {
  TimeLeft left;
  left.update(1, 0, 0);
  left.update(2, 0, 10);
  EXPECT_EQ(left.seconds(), std::nullopt);
}

TEST(Progress, aStepOfALongerTaskSaysWhichItIs) {
  EXPECT_EQ(Progress::stepText(), "");
  Progress::beginStep(2, 8, 3 * 3600.0);
  EXPECT_EQ(Progress::stepText(), " (2/8, about 3.0 h left in all)");
  Progress::beginStep(3, 8, std::nullopt);
  EXPECT_EQ(Progress::stepText(), " (3/8)");
  Progress::beginStep(8, 8, -5); // it takes longer than expected
  EXPECT_EQ(Progress::stepText(), " (8/8, about 0 s left in all)");
  Progress::endSteps();
  EXPECT_EQ(Progress::stepText(), "");
}

} // namespace
} // namespace lathe::jobs
