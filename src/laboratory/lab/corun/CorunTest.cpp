#include "lab/corun/Corun.h"

#include "lab/corun/CorunTesting.h"
#include "lab/corun/PackageCompanion.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <numeric>
#include <thread>
#include <unistd.h>

namespace lathe::lab {
namespace {

using testing::HasSubstr;

class CorunTest : public testing::Test {
protected:
  process::TemporaryDirectory folder{"corun-test"};

  CorunMember half(const std::string &name, size_t instances = 1) const {
    return halfMember(folder.path, name, instances);
  }

  /// Few and short windows.
  static CorunOptions brief() {
    CorunOptions options;
    options.minStarts = options.maxStarts = 3;
    options.minRounds = options.maxRounds = 9;
    options.roundSeconds = 0.002;
    options.maxSeconds = 5;
    return options;
  }

  static std::string errorOf(const std::vector<CorunMember> &members) {
    try {
      corun(members, brief());
    } catch (const Error &error) {
      return error.what();
    }
    return "";
  }
};

TEST_F(CorunTest, countsRunsAloneAndTogether) {
  for (bool processEach : {false, true}) {
    CorunOptions options = brief();
    options.processEach = processEach;
    size_t reports = 0;
    options.afterStart = [&](const CorunResult &soFar) { EXPECT_EQ(soFar.starts.size(), ++reports); };
    CorunResult result = corun({half("a"), half("b", 2)}, options);
    EXPECT_EQ(result.starts, (std::vector<size_t>{3, 3, 3}));
    EXPECT_EQ(reports, 3u);
    ASSERT_EQ(result.members.size(), 2u);
    for (const CorunResult::Member &member : result.members) {
      EXPECT_EQ(member.wrong, "");
      EXPECT_EQ(member.mistrust, "");
      EXPECT_TRUE(member.slowDown.has_value());
      for (const CorunRuns *runs : {&member.alone, &member.together}) {
        EXPECT_EQ(runs->rounds.size(), 9u);
        EXPECT_GE(runs->seconds, 9 * options.roundSeconds);
        EXPECT_GT(runs->time.median, 0);
        EXPECT_GE(runs->share, double(runs->runs())); // with the parts at the ends
        for (size_t i = 0; i < 9; ++i) {
          EXPECT_GT(runs->counts[i], 0u);
          EXPECT_LE(runs->rounds[i].size(), std::min<size_t>(runs->counts[i], 400));
          EXPECT_GE(runs->rounds[i].size(), std::min<size_t>(runs->counts[i], 200));
        }
      }
    }
  }
}

TEST_F(CorunTest, mistrustsTooFewRuns) {
  CorunOptions options = brief();
  options.alone = false;
  options.leastRuns = 100000000;
  options.minStarts = options.maxStarts = 1;
  options.minRounds = options.maxRounds = 3;
  std::vector<CorunMember> members{half("a"), half("b")};
  CorunResult result = corun(members, options);
  EXPECT_THAT(result.members[0].mistrust, HasSubstr("expected at least 100000000"));
  EXPECT_FALSE(result.members[0].slowDown.has_value());
  EXPECT_TRUE(result.members[0].alone.rounds.empty());
}

TEST_F(CorunTest, referencesTakeTurns) {
  for (bool processEach : {false, true}) {
    CorunOptions options = brief();
    options.processEach = processEach;
    options.alone = false;
    options.references = {half("c"), half("d", 3)};
    CorunResult result = corun({half("a"), half("b")}, options);
    ASSERT_EQ(result.members.size(), 2u);
    ASSERT_EQ(result.references.size(), 2u);
    for (const CorunRuns &runs : result.references) {
      EXPECT_EQ(runs.rounds.size(), result.members[0].together.rounds.size());
      EXPECT_GT(runs.perSecond(), 0);
    }
  }
}

TEST_F(CorunTest, measuresEachAloneAndJudgesTheGain) {
  CorunOptions options = brief();
  options.together = false;
  CorunResult result = corun({half("a"), half("b", 2), half("c", 3)}, options);
  ASSERT_EQ(result.members.size(), 3u);
  EXPECT_FALSE(result.members[0].gain.has_value());
  for (size_t i = 0; i < 3; ++i) {
    const CorunResult::Member &member = result.members[i];
    EXPECT_EQ(member.wrong, "");
    EXPECT_EQ(member.mistrust, "");
    EXPECT_FALSE(member.slowDown.has_value());
    EXPECT_TRUE(member.together.rounds.empty());
    ASSERT_EQ(member.alone.periods.size(), 9u);
    std::vector<double> periods;
    for (const std::vector<double> &period : member.alone.periods)
      periods.push_back(period.at(0));
    EXPECT_GT(std::ranges::min(periods), 0);
    EXPECT_LE(std::ranges::min(periods), 1 / member.alone.perSecond());
    EXPECT_GE(std::ranges::max(periods), 1 / member.alone.perSecond());
    if (i == 0)
      continue;
    ASSERT_TRUE(member.gain.has_value());
    JudgedPair judged =
        judgePair({result.members[0].alone.periods, {}}, {member.alone.periods, {}}, result.starts, options);
    EXPECT_EQ(member.gain->ratio.ratio, judged.ratio.ratio);
  }
}

TEST_F(CorunTest, mistrustsTooFewRunsAlone) {
  CorunOptions options = brief();
  options.together = false;
  options.leastRuns = 100000000;
  CorunResult result = corun({half("a"), half("b", 2)}, options);
  EXPECT_THAT(result.members[1].mistrust, HasSubstr("expected at least 100000000"));
}

TEST_F(CorunTest, refusesWrongOutputsAndFiles) {
  CorunMember right = half("right"), wrong = half("wrong"), missing = half("missing");
  wrong.outputs = "0123";
  EXPECT_THAT(errorOf({right, wrong}),
              HasSubstr("wrong.lathe: its outputs on " + std::to_string(firstCpu()) + " have the hash"));
  missing.inputs = {{"z", right.inputs["x"]}};
  EXPECT_THAT(errorOf({missing, right}), HasSubstr("missing.lathe: no input 'z'"));
  missing.package += "x";
  EXPECT_THAT(errorOf({missing, right}), HasSubstr("missing.lathex: cannot copy"));
}

/// The other model's process, which would go on for an hour, is ended, too.
TEST_F(CorunTest, aProcessThatEndsIsAnError) {
  CorunOptions options = brief();
  options.processEach = true;
  options.roundSeconds = 3600;
  options.maxSeconds = 1e6;
  std::vector<CorunMember> members{half("a"), half("b")};
  std::atomic<bool> killed{false};
  std::string children = "/proc/self/task/" + std::to_string(gettid()) + "/children";
  std::thread killer([&] {
    std::this_thread::sleep_for(std::chrono::seconds(2)); // usually within the first long window
    while (!killed) {
      std::ifstream list(children);
      pid_t first = 0, second = 0;
      list >> first >> second;
      if (second)
        killed = kill(second, SIGKILL) == 0;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  std::string said;
  try {
    corun(members, options);
  } catch (const Error &error) {
    said = error.what();
  }
  killer.join();
  EXPECT_THAT(said, HasSubstr("was ended by signal 9"));
}

/// What `work` throws while a companion runs; "": nothing.
template <class Work> std::string errorBeside(PackageCompanion &companion, Work work) {
  try {
    companion.during([&] {
      work();
      return true;
    });
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

/// Waits for more runs of a companion.
void awaitRuns(const PackageCompanion &companion, uint64_t more) {
  for (uint64_t before = companion.runs(); companion.runs() < before + more;)
    std::this_thread::yield();
}

TEST_F(CorunTest, aCompanionRunsDuringAMeasurementOnly) {
  PackageCompanion companion(half("b", 2), 7);
  EXPECT_EQ(companion.leastRuns(), 7);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(companion.during([&] {
      EXPECT_GE(companion.runs(), 1u);
      awaitRuns(companion, 100);
      return 5;
    }),
              5);
    uint64_t runs = companion.runs();
    EXPECT_GE(runs, 101u);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_EQ(companion.runs(), runs);
    EXPECT_GT(companion.secondsPerRun(), 0);
  }
}

TEST_F(CorunTest, aCompanionThatGoesWrongIsAnError) {
  CorunMember wrong = half("wrong");
  wrong.outputs = "0123";
  PackageCompanion loaded(wrong, 1);
  EXPECT_THAT(errorBeside(loaded, [] {}), HasSubstr("wrong.lathe: its outputs on "));
  PackageCompanion killed(half("killed"), 1);
  auto kill9 = [] {
    pid_t child = 0;
    std::ifstream("/proc/self/task/" + std::to_string(gettid()) + "/children") >> child;
    ASSERT_GT(child, 0);
    kill(child, SIGKILL);
  };
  EXPECT_THAT(errorBeside(killed, kill9), HasSubstr("killed.lathe: "));
  EXPECT_EQ(errorBeside(killed, [] {}), ""); // it starts anew
  EXPECT_EQ(errorBeside(killed, [] { fail("the measurement"); }), "the measurement");
  EXPECT_EQ(errorBeside(killed, [] {}), "");
}

TEST_F(CorunTest, knowsWhetherCpusAreShared) {
  CorunMember a, b;
  a.instances = {{0}, {1}};
  b.instances = {{2, 3}};
  EXPECT_FALSE(shareCpus({a, b}));
  EXPECT_EQ(a.cpus(), (NumberList{0, 1}));
  b.instances = {{1, 2}};
  EXPECT_TRUE(shareCpus({a, b}));
  a.instances = {{0}, {0}};
  EXPECT_TRUE(shareCpus({a}));
}

} // namespace
} // namespace lathe::lab
