#include "lab/judging/FullSpeed.h"

#include <gtest/gtest.h>

#include <thread>

using namespace lathe::lab;

namespace {

/// A clock that advances only while sleeping, and readings that depend on it.
struct Simulated {
  double now = 0, slept = 0;
  std::function<SpeedReading(double now)> reading;

  FullSpeed::Hooks hooks() {
    return {[this] { return reading(now); }, [this] { return now; },
            [this](double seconds) {
              now += seconds;
              slept += seconds;
            }};
  }
};

} // namespace

TEST(FullSpeed, aFastMachineWaitsForNothing) {
  Simulated machine{.reading = [](double) { return SpeedReading{10, 9}; }};
  FullSpeed speed(machine.hooks());
  for (int i = 0; i < 200; ++i)
    EXPECT_TRUE(speed.await(1));
  EXPECT_EQ(machine.slept, 0);
  EXPECT_EQ(speed.asked(), 200u);
  EXPECT_EQ(speed.slow(), 0u);
}

TEST(FullSpeed, twoProcessorsOfOneCoreAreSlowFromTheFirstReadingOn) {
  Simulated machine{.reading = [](double now) { return now < 0.2 ? SpeedReading{10, 5} : SpeedReading{10, 10}; }};
  FullSpeed speed(machine.hooks());
  EXPECT_TRUE(speed.await(1));
  EXPECT_NEAR(machine.slept, 0.2, 0.006);
  EXPECT_DOUBLE_EQ(speed.waitedSeconds(), machine.slept);
}

TEST(FullSpeed, aNeighbourShowsInComparisonWithEarlierReadings) {
  Simulated machine{
      .reading = [](double now) { return now > 0.9 && now < 1.2 ? SpeedReading{8, 8} : SpeedReading{10, 10}; }};
  FullSpeed speed(machine.hooks());
  for (; machine.now < 1; machine.now += 0.1)
    EXPECT_TRUE(speed.await(1));
  EXPECT_NEAR(speed.waitedSeconds(), 0.3, 0.11);
}

TEST(FullSpeed, waitsNoLongerThanAllowed) {
  Simulated machine{.reading = [](double) { return SpeedReading{10, 5}; }};
  FullSpeed speed(machine.hooks());
  EXPECT_FALSE(speed.await(0.1));
  EXPECT_NEAR(machine.slept, 0.1, 0.006);
  EXPECT_FALSE(speed.await(10));
  EXPECT_NEAR(machine.slept, 3, 0.006); // without measurements
  EXPECT_FALSE(speed.await(10));
  EXPECT_NEAR(machine.slept, 3, 0.006);
  speed.measured(2);
  EXPECT_FALSE(speed.await(10));
  EXPECT_NEAR(machine.slept, 5, 0.012);
  EXPECT_EQ(speed.slow(), 4u);
}

TEST(FullSpeed, aMachineThatHasBecomeSlowerIsBelieved) {
  Simulated machine{.reading = [](double now) { return now < 1 ? SpeedReading{10, 10} : SpeedReading{8, 8}; }};
  FullSpeed speed(machine.hooks());
  speed.measured(1000);
  EXPECT_TRUE(speed.await(1));
  machine.now = 1;
  EXPECT_TRUE(speed.await(100)); // after 64 readings at most
  EXPECT_LT(speed.waitedSeconds(), 0.4);
}

TEST(FullSpeed, ratesOfThisMachineAreMeasured) {
  SpeedReading one = readSpeed(1);
  EXPECT_GT(one.alone, 0);
  EXPECT_EQ(one.alone, one.slowest);
  if (std::thread::hardware_concurrency() >= 2) {
    SpeedReading two = readSpeed(2);
    EXPECT_GT(two.alone, 0);
    EXPECT_GT(two.slowest, 0);
  }
  SpeedReading tooMany = readSpeed(100000); // not measured, so no reason to wait
  EXPECT_EQ(tooMany.slowest, 0);
  EXPECT_TRUE(FullSpeed(100000).await(1));
}
