#include "lab/judging/Turns.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

using namespace lathe::lab;

namespace {

/// State that all sides share: the time, the clock speed, which changes over time, and the random generator.
struct Machine {
  explicit Machine(uint64_t seed) : random(seed) {}
  double now = 0, speed = 1;
  std::mt19937_64 random;
  std::normal_distribution<double> normal;

  double draw(double deviation) { return std::exp(deviation * normal(random)); }
};

/// A process with random speed: `startDeviation` (of the logarithm) for its whole life, `roundDeviation` for each
/// round; one round in 30 takes 1.3 times as long. Uses only the simulated clock.
class SimulatedSide : public TimedSide {
public:
  SimulatedSide(Machine &machine, double seconds, double startDeviation, double roundDeviation, double startSeconds)
      : machine(machine), seconds(seconds), startDeviation(startDeviation), roundDeviation(roundDeviation),
        startSeconds(startSeconds), luck(machine.draw(startDeviation)) {}

  bool running() const override { return alive; }
  void startAgain() override {
    machine.now += startSeconds;
    luck = machine.draw(startDeviation);
    ++starts;
  }
  void estimate() override { machine.now += seconds; }
  void takeTurn() override {
    machine.speed *= machine.draw(0.002);
    double disturbed = machine.random() % 30 == 0 ? 1.3 : 1;
    double run = seconds * luck * machine.draw(roundDeviation) * disturbed * machine.speed;
    times.push_back({run, run});
    machine.now += std::max(0.05, run);
    if (times.size() == failsAfter)
      alive = false;
  }
  const std::vector<std::vector<double>> &rounds() const override { return times; }

  size_t starts = 1, failsAfter = 0;

private:
  Machine &machine;
  double seconds, startDeviation, roundDeviation, startSeconds, luck;
  std::vector<std::vector<double>> times;
  bool alive = true;
};

/// The default options of `lathe compare`.
TurnOptions compareOptions(Machine &machine) {
  TurnOptions options;
  options.maxSeconds = options.limitSeconds = 30;
  options.clock = [&machine] { return machine.now; };
  return options;
}

JudgedPair compared(Machine &machine, double slowdown, double deviation) {
  SimulatedSide ours(machine, 0.02, deviation, 0.01, 0.05);
  SimulatedSide theirs(machine, 0.02 * (1 + slowdown), deviation, 0.01, 0.3);
  TurnOptions options = compareOptions(machine);
  options.startSeconds = 0.35;
  JudgedPair judged;
  TurnWatch watch;
  auto judge = [&](const std::vector<size_t> &starts) {
    judged = judgePair({theirs.rounds(), {}}, {ours.rounds(), {}}, starts, options, judged);
    return judged.decidedAfter > 0;
  };
  watch.decided = judge;
  double began = machine.now;
  auto starts = takeTurns({&ours, &theirs}, options, watch);
  judge(starts);
  EXPECT_LE(machine.now - began, options.limitSeconds + 1);
  return judged;
}

struct Rates {
  int different = 0, same = 0, found = 0;
};

Rates ratesOf(double deviation, int rows, uint64_t seed) {
  Machine machine(seed);
  Rates rates;
  for (int row = 0; row < rows; ++row) {
    Verdict twin = compared(machine, 0, deviation).alone;
    rates.different += twin == Verdict::faster || twin == Verdict::slower;
    rates.same += twin == Verdict::same;
    rates.found += compared(machine, 0.05, deviation).alone == Verdict::faster;
  }
  return rates;
}

} // namespace

/// If processes of one program differ by up to 2 % (standard deviation), at most 2 % of twins are called different and
/// at least 95 % of true differences of 5 % are found. For larger deviations the rule may ask for more than 30 s, but
/// must not invent differences.
TEST(Turns, errorRatesOfCompare) {
  constexpr int rows = 400;
  for (double deviation : {0.003, 0.01, 0.02}) {
    SCOPED_TRACE(deviation);
    Rates rates = ratesOf(deviation, rows, 1);
    EXPECT_LE(rates.different, rows * 2 / 100);
    EXPECT_GE(rates.found, rows * 95 / 100);
    if (deviation < 0.02)
      EXPECT_GE(rates.same, rows * 95 / 100);
    std::cout << rows << " rows, processes differ by " << deviation << ": " << rates.different << " twins different, "
              << rates.same << " same, " << rates.found << " of 5 % found\n";
  }
  EXPECT_LE(ratesOf(0.05, rows, 1).different, rows * 3 / 100);
}

/// A rule over the rounds of one start of each side. Processes differ by 2 %; with any interval, many twins would be
/// called different. So one start gives no verdict.
TEST(Turns, oneStartIsNotEnough) {
  Machine machine(1);
  int different = 0;
  constexpr int rows = 200;
  for (int row = 0; row < rows; ++row) {
    SimulatedSide ours(machine, 0.02, 0.02, 0.003, 0), theirs(machine, 0.02, 0.02, 0.003, 0);
    for (int round = 0; round < 20; ++round)
      ours.takeTurn(), theirs.takeTurn();
    different += !rankedRatioInRounds(theirs.rounds(), ours.rounds(), 0.995).interval.holds(1);
  }
  EXPECT_GT(different, rows / 10);
}

TEST(Turns, aLimitLeavesRoomForTheLeastStarts) {
  for (double limit : {0.0, 0.5, 3.0, 12.0}) {
    Machine machine(2);
    SimulatedSide ours(machine, 0.1, 0, 0, 0.3), theirs(machine, 0.1, 0, 0, 0.3);
    TurnOptions options = compareOptions(machine);
    options.maxSeconds = options.limitSeconds = limit;
    options.startSeconds = 0.6;
    auto starts = takeTurns({&ours, &theirs}, options, {});
    ASSERT_FALSE(starts.empty());
    // A start costs 0.6 s, its estimates and one round of both sides 0.4 s.
    EXPECT_LE(machine.now, limit + 0.45) << limit;
    EXPECT_EQ(starts.size() >= 6, limit >= 6.0) << limit;
    EXPECT_EQ(ours.starts, starts.size());
  }
}

TEST(Turns, sidesThatFailAreLeftOut) {
  Machine machine(3);
  SimulatedSide ours(machine, 0.01, 0, 0, 0), theirs(machine, 0.01, 0, 0, 0), broken(machine, 0.01, 0, 0, 0);
  broken.failsAfter = 20;
  TurnOptions options = compareOptions(machine);
  options.maxStarts = 6;
  options.minRounds = options.maxRounds = 24; // four in each start
  auto starts = takeTurns({&ours, &broken, &theirs}, options, {});
  EXPECT_EQ(starts, (std::vector<size_t>(6, 4)));
  EXPECT_EQ(broken.rounds().size(), 20u);
  EXPECT_EQ(broken.starts, 5u);
  EXPECT_EQ(ours.rounds().size(), theirs.rounds().size());
  size_t sum = 0;
  for (size_t count : starts)
    sum += count;
  EXPECT_EQ(ours.rounds().size(), sum);
}

TEST(Turns, looksComeLessAndLessOften) {
  Machine machine(4);
  SimulatedSide ours(machine, 0.001, 0, 0, 0);
  TurnOptions options = compareOptions(machine);
  options.maxSeconds = options.limitSeconds = 1e9;
  std::vector<size_t> looks;
  TurnWatch watch;
  watch.decided = [&](const std::vector<size_t> &starts) {
    looks.push_back(starts.size());
    return false;
  };
  options.maxSeconds = 1; // a start takes a sixty-fourth of it
  options.limitSeconds = 1e9;
  EXPECT_LE(takeTurns({&ours}, options, watch).size(), 64u);
  ASSERT_FALSE(looks.empty());
  std::vector<size_t> all = {6, 8, 10, 13, 17, 22, 29, 38, 50};
  for (size_t i = 0; i < looks.size(); ++i)
    EXPECT_EQ(looks[i], all[i]);
}

TEST(Turns, startsOfASideThatWasLeftOut) {
  using Counts = std::vector<size_t>;
  EXPECT_EQ(startsWithin({3, 4, 3}, 10), (Counts{3, 4, 3}));
  EXPECT_EQ(startsWithin({3, 4, 3}, 5), (Counts{3, 2}));
  EXPECT_EQ(startsWithin({3, 4, 3}, 0), Counts());
}

TEST(Turns, whatFewStartsCanSay) {
  std::vector<std::vector<double>> twice(12, {2.0}), once(12, {1.0});
  TurnOptions options;
  JudgedPair one = judgePair({twice, {}}, {once, {}}, {12}, options);
  EXPECT_TRUE(one.ratio.isRange);
  EXPECT_TRUE(one.tooFewStarts); // twelve rounds say nothing about other processes
  EXPECT_EQ(one.verdict, Verdict::ambiguous);
  JudgedPair three = judgePair({twice, {}}, {once, {}}, {4, 4, 4}, options);
  EXPECT_EQ(three.verdict, Verdict::faster);
  EXPECT_EQ(three.decidedAfter, 0u); // six starts are requested
  JudgedPair six = judgePair({twice, {}}, {once, {}}, {2, 2, 2, 2, 2, 2}, options);
  EXPECT_EQ(six.decidedAfter, 6u);
  options.minStarts = 1; // like --starts 1
  EXPECT_EQ(judgePair({twice, {}}, {once, {}}, {12}, options).verdict, Verdict::ambiguous);
  EXPECT_EQ(judgePair({twice, {}}, {once, {}}, {6, 6}, options).verdict, Verdict::ambiguous);
  // A verdict that was decided at an earlier look stays the verdict of a run without other pairs.
  JudgedPair later = judgePair({once, {}}, {once, {}}, {2, 2, 2, 2, 2, 2}, options, six);
  EXPECT_EQ(later.alone, Verdict::faster);
  EXPECT_EQ(later.verdict, Verdict::same);
}

TEST(Turns, beginRoundsAtFullSpeedAndCountNoWaitingAsTiming) {
  Machine machine(1);
  SimulatedSide ours(machine, 0.05, 0, 0, 0.1), theirs(machine, 0.05, 0, 0, 0.1);
  std::vector<TimedSide *> sides{&ours, &theirs};
  double slowUntil = 0.3; // seconds
  size_t readings = 0;
  FullSpeed speed({[&] {
                     ++readings;
                     return machine.now < slowUntil ? SpeedReading{1, 0.5} : SpeedReading{1, 1};
                   },
                   [&] { return machine.now; }, [&](double seconds) { machine.now += seconds; }});
  TurnOptions options = compareOptions(machine);
  options.fullSpeed = &speed;
  options.maxStarts = options.minStarts;
  std::vector<size_t> starts = takeTurns(sides, options, {});
  EXPECT_EQ(speed.asked(), ours.rounds().size()); // before every round
  EXPECT_EQ(speed.slow(), 0u);
  EXPECT_NEAR(speed.waitedSeconds(), slowUntil - 0.1, 0.02); // without the time of the estimates
  EXPECT_GT(readings, speed.asked());

  Machine undisturbed(1);
  SimulatedSide ours2(undisturbed, 0.05, 0, 0, 0.1), theirs2(undisturbed, 0.05, 0, 0, 0.1);
  std::vector<TimedSide *> sides2{&ours2, &theirs2};
  TurnOptions options2 = compareOptions(undisturbed);
  options2.maxStarts = options2.minStarts;
  EXPECT_EQ(takeTurns(sides2, options2, {}), starts); // as many rounds as without a wait
}
