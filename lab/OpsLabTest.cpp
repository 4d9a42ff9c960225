#include "lab/OpsLab.h"

#include "process/Worker.h"

#include <gtest/gtest.h>

using namespace lathe;
using namespace lathe::lab;

static OpsColumn fake(const std::string &how, const std::string &provider = "fake",
                      const std::string &variant = "auto") {
  OpsColumn column;
  column.provider.name = provider;
  column.provider.command.argv = {"/usr/bin/python3", LATHE_SOURCE_DIR "/lab/FakeProvider.py"};
  if (!how.empty())
    column.provider.command.argv.push_back(how);
  column.variant = variant;
  return column;
}

static OpsLabOptions quick() {
  OpsLabOptions options;
  options.minRounds = options.maxRounds = 3;
  options.roundSeconds = 0.005;
  return options;
}

static ListedProblem problem(const std::string &text = "mb2g2ic4ih6oc6kh3ph1sh2") {
  return {ConvProblem::parse(text), text, {}, 1};
}

TEST(OpsLab, agreesWithLoopsOverManyShapes) {
  OpsLabOptions options = quick();
  options.checkOnly = true;
  OpsLab bench({fake("")}, options);
  for (const char *text :
       {"ic3ih5oc4kh3ph1", "ic3ih5iw7oc4kh1", "g4ic4ih6oc4kh3ph1sh2", "g2ic4ih6oc2kh3kw1dh1", "mb3ic2ih4oc2oh4kh2"}) {
    OpsRow row = bench.measure(problem(text), 1);
    EXPECT_EQ(row.points[0].status, PointStatus::passed) << text << ": " << row.points[0].reason;
    EXPECT_FALSE(row.points[0].timed());
  }
}

TEST(OpsLab, timesInTurnsAndJudges) {
  OpsRow row = OpsLab({fake("", "ours"), fake("", "peer")}, quick()).measure(problem(), 2);
  EXPECT_EQ(row.threads, 2);
  ASSERT_EQ(row.verdicts.size(), 1u);
  EXPECT_EQ(row.verdicts[0].peer, "peer");
  EXPECT_NEAR(row.verdicts[0].ratio.ratio, 1, 1e-9); // both claim the same samples
  EXPECT_EQ(row.verdicts[0].verdict, Verdict::same);
  for (auto &point : row.points) {
    EXPECT_EQ(point.rounds.size(), 3u);
    EXPECT_EQ(point.implementation, "loops");
    EXPECT_LT(point.relativeL2, 1e-6);
  }
  auto document = toJson(row);
  EXPECT_EQ(document["points"][1]["rounds_ns"].size(), 3u);
  auto summaries = summarizeOps({document, document});
  ASSERT_EQ(summaries.size(), 2u); // all, strided
  EXPECT_EQ(summaries[0].rows, 2u);
  EXPECT_EQ(summaries[1].kind, "strided");
  EXPECT_NEAR(summaries[0].geometricMean, 1, 1e-9);
}

TEST(OpsLab, misbehaviourCostsItsPointOnly) {
  struct Case {
    const char *how;
    PointStatus status;
    const char *reason;
  };
  OpsLabOptions options = quick();
  options.limits.residentBytes = 400 << 20;
  for (const Case &wanted :
       {Case{"wrong", PointStatus::failed, "relative L2"},
        Case{"decline", PointStatus::unimplemented, "not on Sundays"},
        Case{"prepare-crash", PointStatus::crashed, "signal 11"}, Case{"run-crash", PointStatus::crashed, "signal 11"},
        Case{"time-crash", PointStatus::crashed, "signal 11"}, Case{"run-hang", PointStatus::timedOut, ""},
        Case{"time-hang", PointStatus::timedOut, ""}, Case{"run-memory", PointStatus::memoryExceeded, ""},
        Case{"run-garbage", PointStatus::crashed, "warming up"}, Case{"time-empty", PointStatus::crashed, "samples_ns"},
        Case{"run-error", PointStatus::failed, "cannot do that"}}) {
    options.timeouts.run = std::string_view(wanted.how).ends_with("-hang") ? 3 : 60;
    OpsLab bench({fake("", "ours"), fake(wanted.how, "bad"), fake("", "peer")}, options);
    for (int threads : {1, 2}) { // what ended is started again for the next row
      OpsRow row = bench.measure(problem(), threads);
      EXPECT_EQ(row.points[1].status, wanted.status)
          << wanted.how << ": " << name(row.points[1].status) << ", " << row.points[1].reason;
      EXPECT_NE(row.points[1].reason.find(wanted.reason), std::string::npos)
          << wanted.how << ": " << row.points[1].reason;
      EXPECT_FALSE(row.points[1].timed()) << wanted.how;
      EXPECT_EQ(toJson(row)["points"][1].count("time"), 0u) << wanted.how;
      EXPECT_TRUE(row.points[0].timed()) << wanted.how;
      EXPECT_TRUE(row.points[2].timed()) << wanted.how;
      ASSERT_EQ(row.verdicts.size(), 1u) << wanted.how;
      EXPECT_EQ(row.verdicts[0].peer, "peer");
    }
  }
}

TEST(OpsLab, aProviderThatCannotStart) {
  OpsColumn absent = fake("", "absent");
  absent.provider.command.argv = {"/nowhere/provider"};
  OpsRow row = OpsLab({fake("", "ours"), absent}, quick()).measure(problem(), 1);
  EXPECT_EQ(row.points[1].status, PointStatus::crashed);
  EXPECT_TRUE(row.points[0].timed());
  EXPECT_TRUE(row.verdicts.empty());
}

TEST(OpsLab, anImplementationIsTimedOnce) {
  OpsRow row = OpsLab({fake("", "ours"), fake("", "peer"), fake("", "peer", "twin")}, quick()).measure(problem(), 1);
  EXPECT_EQ(row.points[2].status, PointStatus::sameAs);
  EXPECT_EQ(row.points[2].reason, "peer:auto");
  EXPECT_FALSE(row.points[2].timed());
}

TEST(OpsLab, outputsThatAreAllZeroAreMistrusted) {
  // A bias and ReLU over a 1x1 image: with this seed the only output is below zero.
  for (uint64_t seed = 0; seed < 64; ++seed) {
    OpsLabOptions options = quick();
    options.seed = seed;
    options.checkOnly = true;
    OpsRow row = OpsLab({fake("")}, options).measure(problem("ic1ih1oc2kh1"), 1);
    if (row.points[0].status == PointStatus::mistrusted) {
      EXPECT_NE(row.points[0].reason.find("zero"), std::string::npos);
      return;
    }
    EXPECT_EQ(row.points[0].status, PointStatus::passed);
  }
  FAIL() << "no seed of 64 gives two outputs below zero";
}

TEST(OpsLab, providersOfThisBuildAgreeWithTheReference) {
  std::vector<std::string> words;
  for (auto &name : knownProviders())
    if (findProvider(name).done())
      words.push_back(name);
    else
      std::printf("[          ] without %s: %s\n", name.c_str(), findProvider(name).reason().c_str());
  if (words.empty())
    GTEST_SKIP() << "no provider is built";
  OpsLabOptions options;
  options.checkOnly = true;
  auto columns = opsColumns(words, options);
  for (auto &name : words) { // every variant of ours, too
    if (name == knownProviders().front())
      columns.push_back({*findProvider(name), "direct"}), columns.push_back({*findProvider(name), "plain"});
  }
  OpsLab bench(columns, options);
  for (const char *text :
       {"ic64ih14oc64kh3ph1", "mb2ic19ih9oc33kh1", "ic3ih33oc16kh7sh2ph3", "g32ic32ih15oc32kh3ph1sh2",
        "g4ic32ih8oc32kh3ph1", "ic16ih17oc24kh1kw7pw3", "ic16ih12oc16kh3dh1ph2"})
    for (int threads : {1, 2}) {
      OpsRow row = bench.measure(problem(text), threads);
      for (auto &point : row.points)
        EXPECT_TRUE(point.status == PointStatus::passed || point.status == PointStatus::sameAs ||
                    (point.status == PointStatus::unimplemented && !point.reason.empty()))
            << text << " " << point.provider << ":" << point.variant << " " << name(point.status) << ": "
            << point.reason;
      EXPECT_EQ(row.points[0].status, PointStatus::passed) << text << ": " << row.points[0].reason;
    }
}

TEST(OpsLab, unknownAndMissingProvidersDeclineWithAReason) {
  EXPECT_NE(findProvider("mkl").reason().find("expected lathe, onednn"), std::string::npos);
  EXPECT_THROW(opsColumns({"mkl"}, {}), Error);
}
