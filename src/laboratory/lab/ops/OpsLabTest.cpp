#include "lab/ops/OpsLabTesting.h"

#include "lab/StoreRecords.h"

#include <gtest/gtest.h>

using namespace lathe;
using namespace lathe::lab;

TEST(OpsLab, agreesWithLoopsOverManyShapes) {
  OpsLabOptions options = quick();
  options.checkOnly = true;
  OpsLab bench({fake("")}, options);
  for (const char *text :
       {"ic3ih5oc4kh3ph1", "ic3ih5iw7oc4kh1", "g4ic4ih6oc4kh3ph1sh2", "g2ic4ih6oc2kh3kw1dh1", "mb3ic2ih4oc2oh4kh2"}) {
    OpsRow row = bench.measure(problem(text), {});
    EXPECT_EQ(row.points[0].status, PointStatus::passed) << text << ": " << row.points[0].reason;
    EXPECT_FALSE(row.points[0].timed());
  }
}

TEST(OpsLab, timesInTurnsAndJudges) {
  OpsRow row = OpsLab({fake("", "ours"), fake("", "peer")}, enoughStarts()).measure(problem(), {2});
  EXPECT_EQ(row.setting.threads, 2);
  ASSERT_EQ(row.verdicts.size(), 1u);
  EXPECT_EQ(row.verdicts[0].peer, "peer");
  EXPECT_NEAR(row.verdicts[0].ratio.ratio, 1, 1e-9); // both report the same samples
  EXPECT_EQ(row.verdicts[0].verdict, Verdict::same);
  for (auto &point : row.points) {
    EXPECT_EQ(point.rounds.size(), 9u);
    EXPECT_EQ(point.implementation, "loops");
    EXPECT_LT(point.relativeL2, 1e-6);
  }
  auto document = toJson(row);
  EXPECT_EQ(document["points"][1]["rounds_ns"].size(), 9u);
  EXPECT_EQ(document["points"][1]["drifts"], false);
  EXPECT_EQ(document["verdicts"][0]["confidence"], 0.95);
  auto summaries = summarizeOps({document, document});
  ASSERT_EQ(summaries.size(), 2u); // all, strided
  EXPECT_EQ(summaries[0].rows, 2u);
  EXPECT_EQ(summaries[1].kind, "strided");
  EXPECT_NEAR(summaries[0].geometricMean.value_or(0), 1, 1e-9);
  EXPECT_FALSE(document.contains("resources"));
  row.setting.resources.request.memoryNode = "0";
  row.setting.resources.memoryNode = 0;
  row.held = {{"memory_node", "0"}};
  auto limited = toJson(row);
  EXPECT_EQ(limited["held"]["memory_node"], "0");
  auto both = summarizeOps({document, limited}); // not in one mean
  ASSERT_EQ(both.size(), 4u);
  EXPECT_EQ(both[0].resources, "");
  EXPECT_EQ(both[1].resources, "memory node 0");
  EXPECT_EQ(both[1].rows, 1u);
}

TEST(OpsLab, oneStartGivesNoVerdict) {
  OpsRow row = OpsLab({fake("", "ours"), fake("", "peer")}, quick()).measure(problem(), {});
  ASSERT_EQ(row.verdicts.size(), 1u);
  EXPECT_TRUE(row.verdicts[0].ratio.isRange); // range of its rounds
  EXPECT_EQ(row.verdicts[0].verdict, Verdict::ambiguous);
  EXPECT_TRUE(row.verdicts[0].tooFewStarts);
  EXPECT_TRUE(toJson(row)["verdicts"][0]["confidence"].is_null());
}

TEST(OpsLab, whatCallsCostIsNoVictory) {
  OpsLab bench({fake("local", "ours"), fake("remote", "peer"), fake("", "silent")}, enoughStarts());
  OpsRow row = bench.measure(problem(), {});
  ASSERT_EQ(row.verdicts.size(), 2u);
  const OpsVerdict &peer = row.verdicts[0], &silent = row.verdicts[1];
  EXPECT_NEAR(row.points[0].callSeconds.value_or(0), 4e-6, 1e-9); // 1 us, plus the variation of its samples
  EXPECT_NEAR(row.points[1].callSeconds.value_or(0), 604e-6, 1e-9);
  EXPECT_FALSE(row.points[2].callSeconds); // it does not support a problem this small
  EXPECT_NEAR(peer.ratio.ratio, 1.6, 0.01);
  EXPECT_EQ(peer.verdict, Verdict::ambiguous);
  EXPECT_TRUE(peer.withinOverhead);
  EXPECT_EQ(silent.verdict, Verdict::same);
  auto document = toJson(row);
  EXPECT_NEAR(document["points"][1]["call_us"], 604, 1e-3);
  EXPECT_EQ(document["verdicts"][0]["within_overhead"], true);
  auto summaries = summarizeOps({document});
  ASSERT_EQ(summaries.size(), 4u); // of each peer: all, strided
  EXPECT_EQ(summaries[0].withinOverhead, 1u);
  EXPECT_FALSE(summaries[0].geometricMean); // no row remains for the mean
  EXPECT_EQ(toJson(summaries[0])["geometric_mean"], nullptr);
  EXPECT_NEAR(summaries[1].geometricMean.value_or(0), 1, 1e-9);
}

TEST(OpsLab, countsOfEveryRound) {
  OpsRow row =
      OpsLab({fake("counted", "ours"), fake("shared", "peer"), fake("", "silent")}, quick()).measure(problem(), {});
  auto points = pointsOf(row);
  for (auto &round : points[0].rounds)
    for (auto &sample : round)
      EXPECT_EQ(sample, (store::Sample{sample.wallNs, 2000000, 6000000, 9000000, 70, 3000000}));
  EXPECT_EQ(row.points[1].counts.size(), row.points[1].rounds.size());
  EXPECT_EQ(points[1].rounds[0][0].cpuNs, 2000000);
  EXPECT_FALSE(points[1].rounds[0][0].cycles || points[1].rounds[0][0].frequencyKhz);
  EXPECT_FALSE(points[2].rounds[0][0].cpuNs);
  auto document = toJson(row);
  EXPECT_EQ(document["points"][1]["counts"][2]["multiplexed"], true);
  EXPECT_EQ(countsFromJson(document["points"][0]["counts"][0]), row.points[0].counts[0]);
}

/// Processor time is always counted, the rest if this machine can count it; otherwise there is a reason.
TEST(OpsLab, ourProviderCounts) {
  if (!findProvider("reference"))
    GTEST_SKIP() << findProvider("reference").reason();
  for (bool cold : {false, true}) {
    OpsRow row =
        OpsLab({{*findProvider("reference"), "auto"}}, quick())
            .measure(problem("ic16ih14oc16kh3ph1"), {1, cold ? store::CacheState::cold : store::CacheState::hot});
    const OpsPoint &point = row.points[0];
    ASSERT_EQ(point.counts.size(), point.rounds.size()) << point.reason;
    for (size_t i = 0; i < point.counts.size(); ++i) {
      double wall = 0;
      for (double seconds : point.rounds[i])
        wall += seconds;
      double cpu = double(point.counts[i].cpuNs.value_or(0)) * 1e-9;
      EXPECT_GT(cpu, 0) << "cold: " << cold;
      if (cold)
        EXPECT_LT(cpu, wall + 1e-3 * double(point.rounds[i].size())) << "flushing was counted";
      if (!point.counts[i].multiplexed)
        EXPECT_EQ(point.counts[i].cycles.has_value(), point.uncounted.find("cycles") == std::string::npos);
    }
    if (!point.uncounted.empty())
      std::printf("[          ] %s\n", point.uncounted.c_str());
  }
}

TEST(OpsLab, roundsAreALeastUntilTimeIsOver) {
  OpsLabOptions options = quick();
  options.minStarts = 3;
  options.maxStarts = 1000; // so that a start takes hardly any time
  options.minRounds = options.maxRounds = 600;
  OpsLab bench({fake("", "ours"), fake("", "peer")}, options);
  EXPECT_EQ(bench.measure(problem(), {}).starts, (std::vector<size_t>(3, 200)));

  options.maxSeconds = 0.02;
  OpsRow hurried = OpsLab({fake("", "ours"), fake("", "peer")}, options).measure(problem(), {});
  ASSERT_EQ(hurried.starts.size(), 3u);
  for (size_t rounds : hurried.starts) {
    EXPECT_GE(rounds, 3u);
    EXPECT_LT(rounds, 200u);
  }
}

/// A provider that divides its times gets no comparison.
TEST(OpsLab, timesThatNoAlgorithmReachesAreMistrusted) {
  OpsLab bench({fake("", "ours"), fake("swift", "peer"), fake("", "third")}, enoughStarts());
  OpsRow row = bench.measure(problem("ic8ih7oc8kh3ph1"), {});
  EXPECT_EQ(row.points[0].status, PointStatus::passed);
  EXPECT_EQ(row.points[1].status, PointStatus::mistrusted);
  EXPECT_NE(row.points[1].reason.find("no algorithm takes 1e-09 s"), std::string::npos) << row.points[1].reason;
  ASSERT_EQ(row.verdicts.size(), 1u);
  EXPECT_EQ(row.verdicts[0].peer, "third");
}

/// A variant that takes 0.2 s a call gets a time, and the other columns get their starts and the verdict.
TEST(OpsLab, aSlowVariantStarvesNobody) {
  OpsLabOptions options = enoughStarts();
  options.maxSeconds = 0.3; // a share of 0.1 s for each column
  OpsLab bench({fake("slow", "ours"), fake("slow", "peer"), fake("slow", "peer", "twin")}, options);
  OpsRow row = bench.measure(problem(), {});
  EXPECT_EQ(row.starts.size(), 3u);
  EXPECT_FALSE(row.points[0].leftOut || row.points[1].leftOut);
  EXPECT_EQ(row.points[1].rounds.size(), row.points[0].rounds.size());
  EXPECT_TRUE(row.points[2].leftOut);
  EXPECT_EQ(row.points[2].rounds.size(), 1u);
  EXPECT_EQ(toJson(row)["points"][2]["left_out"], true);
  ASSERT_EQ(row.verdicts.size(), 1u);
  EXPECT_EQ(row.verdicts[0].verdict, Verdict::same);
  auto points = pointsOf(row);
  EXPECT_EQ(points[2].starts, (std::vector<size_t>{1}));
  // The fastest column of a provider always gets all rounds, however slow it is.
  OpsRow alone = OpsLab({fake("slow", "ours"), fake("slow", "peer", "twin")}, options).measure(problem(), {});
  EXPECT_FALSE(alone.points[1].leftOut);
  EXPECT_EQ(alone.points[1].rounds.size(), alone.points[0].rounds.size());
}

TEST(OpsLab, startsAreNotTakenForRounds) {
  // Each start of these processes is up to 10 % faster or slower, and steady during its life. A 95 % interval may miss
  // the truth once in twenty measurements; an interval over rounds would almost always miss it.
  OpsLabOptions options = quick();
  OpsColumn ours = fake("moody", "ours"), peer = fake("moody", "peer");
  options.minStarts = options.maxStarts = 6;
  int ambiguous = 0;
  for (int attempt = 0; attempt < 3; ++attempt) {
    OpsRow row = OpsLab({ours, peer}, options).measure(problem(), {});
    EXPECT_EQ(row.starts, (std::vector<size_t>(6, 3)));
    ASSERT_EQ(row.verdicts.size(), 1u);
    EXPECT_EQ(row.points[0].rounds.size(), 18u);
    ambiguous += row.verdicts[0].verdict == Verdict::ambiguous;
  }
  EXPECT_GE(ambiguous, 1);
}

TEST(OpsLab, preparesOnceForColdAndHot) {
  auto preparations = [](const OpsRow &row) { return std::lround(row.points[0].prepareSeconds * 1e6); }; // as reported
  const OpsSetting hot{1, store::CacheState::hot}, cold{1, store::CacheState::cold};
  OpsLab bench({fake("flushes")}, quick());
  EXPECT_EQ(preparations(bench.measure(problem(), cold)), 1);
  OpsRow row = bench.measure(problem(), hot);
  EXPECT_EQ(row.points[0].status, PointStatus::passed) << row.points[0].reason;
  EXPECT_TRUE(row.points[0].timed());
  EXPECT_EQ(preparations(row), 1);
  EXPECT_EQ(preparations(bench.measure(problem(), {2})), 2); // another number of threads needs a new preparation
  EXPECT_EQ(preparations(bench.measure(problem("ic3ih5oc4kh3ph1"), {2})), 3);
  EXPECT_EQ(preparations(bench.measure(problem(), hot)), 4);  // the earlier preparation is gone
  EXPECT_EQ(preparations(bench.measure(problem(), cold)), 5); // it might decline this
  OpsLab failing({fake("time-error")}, quick());              // a column that failed during timing is not timed again
  EXPECT_EQ(failing.measure(problem(), hot).points[0].status, PointStatus::failed);
  EXPECT_EQ(preparations(failing.measure(problem(), hot)), 2);
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
    for (int threads : {1, 2}) { // a process that ended is started again for the next row
      OpsRow row = bench.measure(problem(), {threads});
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
  OpsRow row = OpsLab({fake("", "ours"), absent}, quick()).measure(problem(), {});
  EXPECT_EQ(row.points[1].status, PointStatus::crashed);
  EXPECT_TRUE(row.points[0].timed());
  EXPECT_TRUE(row.verdicts.empty());
}

TEST(OpsLab, anImplementationIsTimedOnce) {
  OpsRow row = OpsLab({fake("", "ours"), fake("", "peer"), fake("", "peer", "twin")}, quick()).measure(problem(), {});
  EXPECT_EQ(row.points[2].status, PointStatus::sameAs);
  EXPECT_EQ(row.points[2].reason, "peer:auto");
  EXPECT_FALSE(row.points[2].timed());
}

TEST(OpsLab, outputsThatAreAllZeroAreMistrusted) {
  // A bias and ReLU on a 1x1 image: with this seed the only output is below zero before ReLU.
  for (uint64_t seed = 0; seed < 64; ++seed) {
    OpsLabOptions options = quick();
    options.seed = seed;
    options.checkOnly = true;
    OpsRow row = OpsLab({fake("")}, options).measure(problem("ic1ih1oc2kh1"), {});
    if (row.points[0].status == PointStatus::mistrusted) {
      EXPECT_NE(row.points[0].reason.find("zero"), std::string::npos);
      return;
    }
    EXPECT_EQ(row.points[0].status, PointStatus::passed);
  }
  FAIL() << "no seed of 64 gives two outputs below zero";
}

TEST(OpsLab, cachesAreFlushedOnRequest) {
  if (!findProvider("lathe"))
    GTEST_SKIP() << findProvider("lathe").reason();
  OpsLabOptions options = quick();
  OpsLab bench({{*findProvider("lathe"), "auto"}}, options);
  ListedProblem small{Problem::parse("relu x=4096"), "relu", "relu x=4096", "", {}, 1};
  using store::CacheState;
  OpsRow hot = bench.measure(small, {1, CacheState::hot}), cold = bench.measure(small, {1, CacheState::cold});
  ASSERT_TRUE(hot.points[0].timed() && cold.points[0].timed()) << hot.points[0].reason << cold.points[0].reason;
  EXPECT_EQ(toJson(hot)["cache"], "hot");
  EXPECT_EQ(toJson(cold)["cache"], "cold");
  for (auto cache : {CacheState::cold, CacheState::coldConstants}) {
    OpsRow fakes = OpsLab({fake("")}, quick()).measure(problem(), {1, cache});
    EXPECT_EQ(fakes.points[0].status, PointStatus::unimplemented);
    EXPECT_NE(fakes.points[0].reason.find("cannot empty the caches"), std::string::npos) << fakes.points[0].reason;
  }
}

/// Checks a problem in every layout without timing; returns points by layout.
static std::map<ActivationLayout, OpsPoint> byLayout(const std::string &provider, const std::string &kind,
                                                     const std::string &text, const std::string &variant = "auto") {
  OpsLabOptions options = quick();
  options.checkOnly = true;
  OpsLab bench({{*findProvider(provider), variant}}, options);
  std::map<ActivationLayout, OpsPoint> points;
  for (auto layout :
       {ActivationLayout::any, ActivationLayout::row, ActivationLayout::blocked, ActivationLayout::channelsLast})
    points[layout] =
        bench.measure({parseProblem(kind, text), kind, text, text, {}, 1}, {1, store::CacheState::hot, layout})
            .points[0];
  return points;
}

TEST(OpsLab, layoutsThatAreAskedFor) {
  struct Case {
    const char *provider, *kind, *text;
    std::string row, blocked, channelsLast; // what implementations name; "": declined
  };
  const char *conv = "ic32ih9oc32kh3ph1", *pool = "ic32ih8kh2sh2:max";
  for (auto &[provider, kind, text, row, blocked, channelsLast] :
       {Case{"lathe", "conv2d", conv, "nchw to nchw", "nChw", ""},
        Case{"lathe", "pool", pool, "nchw to nchw", "nChw", ""}, Case{"lathe", "softmax", "8x100", "row-major", "", ""},
        Case{"lathe", "gemm", "m8n8k8", "row-major", "", ""},
        Case{"onednn", "conv2d", conv, "nchw to nchw", "nChw", "nhwc to nhwc"},
        Case{"onednn", "pool", pool, "nchw", "nChw", "nhwc"},
        Case{"onednn", "eltwise", "1x32x8x8:relu", "nchw", "nChw", "nhwc"},
        Case{"onednn", "eltwise", "1x32x8x8:1x32x8x8:add", "nchw", "nChw", "nhwc"},
        Case{"onednn", "gemm", "m8n8k8", " ", "", ""}, Case{"onednn", "eltwise", "32x8:relu", " ", "", ""},
        Case{"openblas", "conv2d", conv, "sgemm", "", ""}, Case{"eigen", "gemm", "m8n8k8", " ", "", ""},
        Case{"xnnpack", "conv2d", conv, "", "", "nhwc"}, Case{"xnnpack", "eltwise", "32x8:relu", "nc", "", ""},
        Case{"reference", "pool", pool, "row-major", "", ""}}) {
    SCOPED_TRACE(fmt::format("{} {} {}", provider, kind, text));
    if (!findProvider(provider)) {
      std::printf("[          ] without %s: %s\n", provider, findProvider(provider).reason().c_str());
      continue;
    }
    auto points = byLayout(provider, kind, text, std::string_view(provider) == "openblas" ? "im2col" : "auto");
    EXPECT_EQ(points[ActivationLayout::any].status, PointStatus::passed) << points[ActivationLayout::any].reason;
    for (auto &[layout, wanted] : {std::pair{ActivationLayout::row, row}, std::pair{ActivationLayout::blocked, blocked},
                                   std::pair{ActivationLayout::channelsLast, channelsLast}}) {
      const OpsPoint &point = points[layout];
      EXPECT_EQ(point.status, wanted.empty() ? PointStatus::unimplemented : PointStatus::passed)
          << name(layout) << ": " << point.reason;
      EXPECT_NE(point.implementation.find(wanted), std::string::npos) << name(layout) << ": " << point.implementation;
      EXPECT_EQ(point.reason.empty(), !wanted.empty()) << name(layout);
    }
  }
  if (findProvider("lathe")) {
    auto points = byLayout("lathe", "conv2d", conv, "plain");
    EXPECT_NE(points[ActivationLayout::blocked].reason.find("variant 'plain'"), std::string::npos);
    EXPECT_EQ(byLayout("lathe", "gemm", "m8n8k8")[ActivationLayout::blocked].status, PointStatus::unimplemented);
  }
  OpsRow fakes = OpsLab({fake("")}, quick()).measure(problem(), {1, store::CacheState::hot, ActivationLayout::row});
  EXPECT_EQ(fakes.points[0].status, PointStatus::unimplemented);
  EXPECT_EQ(fakes.points[0].reason, "it cannot be asked for a layout");
}

TEST(OpsLab, schedulesThatAreAskedFor) {
  auto spec = findProvider("lathe");
  if (!spec)
    GTEST_SKIP() << spec.reason();
  OpsLabOptions options = quick();
  options.minStarts = options.maxStarts = 2;
  std::string given = "direct/1 px=2 oc=1", asked;
  options.recordedSchedules = [&](const std::string &task) -> std::optional<std::string> {
    asked = task;
    return task.find("x9") != task.npos ? std::optional(given) : std::nullopt;
  };
  std::vector<OpsColumn> columns = opsColumns("conv", {"lathe:auto"}, options, {"", given, recordedSchedule});
  ASSERT_EQ(columns.size(), 3u);
  EXPECT_EQ(columns[0].name(), "lathe:auto");
  EXPECT_EQ(columns[2].name(), "lathe:auto:records");
  EXPECT_TRUE(columns[0].platform.contains("cpu"));
  columns.push_back({*spec, "auto", "direct/1 kc=5"});
  columns.push_back({*spec, "direct", given});
  columns.push_back(fake(""));
  columns.back().schedule = given;
  OpsLab bench(columns, options);
  OpsRow row = bench.measure(problem("ic32ih9oc32kh3ph1"), {});
  auto &points = row.points;
  EXPECT_EQ(points[0].status, PointStatus::passed) << points[0].reason;
  EXPECT_EQ(points[0].implementation.find(points[0].scheduleRun), 0u) << points[0].implementation;
  EXPECT_EQ(points[0].task.find("task/2 | conv "), 0u) << points[0].task;
  EXPECT_EQ(points[1].status, PointStatus::passed) << points[1].reason;
  EXPECT_NE(points[1].scheduleRun.find(" px=2"), std::string::npos);
  EXPECT_EQ(points[1].task, points[0].task);
  EXPECT_EQ(points[1].rounds.size(), points[0].rounds.size()); // in turns, in every start
  EXPECT_EQ(points[2].status, PointStatus::sameAs) << points[2].reason;
  EXPECT_EQ(points[2].reason, "lathe:auto:" + given);
  EXPECT_EQ(asked, points[0].task);
  EXPECT_EQ(points[3].status, PointStatus::unimplemented) << points[3].implementation;
  EXPECT_FALSE(points[3].reason.empty());
  EXPECT_EQ(points[4].status, PointStatus::unimplemented);
  EXPECT_NE(points[4].reason.find("'direct' chooses its schedules itself"), std::string::npos) << points[4].reason;
  EXPECT_EQ(points[5].reason, "it takes no schedules");
  // Without a record there is a status, not an error.
  row = bench.measure(problem("ic32ih7oc32kh3ph1"), {});
  EXPECT_EQ(row.points[2].status, PointStatus::unimplemented);
  EXPECT_EQ(row.points[2].reason, "no tuning record of the task " + row.points[0].task);
  EXPECT_EQ(row.points[1].status, PointStatus::passed) << row.points[1].reason;
  // Layout and threads belong to the task; the schedule does not.
  OpsRow rows = bench.measure(problem("ic32ih9oc32kh3ph1"), {1, store::CacheState::hot, ActivationLayout::row});
  EXPECT_NE(rows.points[0].task, points[0].task);
}

TEST(OpsLab, viaIsSplitAsAShellDoes) {
  ProviderSpec spec;
  spec.command.argv = {"/usr/bin/lathe-provider-lathe"};
  EXPECT_EQ(viaCommand(spec, "ssh 'my host' -p 22", "").command.prefix,
            (std::vector<std::string>{"ssh", "my host", "-p", "22"}));
  for (const char *wrong : {"ssh 'my host", "", "  "})
    EXPECT_THROW(viaCommand(spec, wrong, ""), Error) << wrong;
}

TEST(OpsLab, providersBeyondAPipe) {
  auto spec = findProvider("lathe");
  if (!spec)
    GTEST_SKIP() << spec.reason();
  std::vector<std::string> ways = {"sh -c", "env -i"};
  if (std::system("ip netns add lathe-test 2>/dev/null") == 0)
    ways.push_back("ip netns exec lathe-test");
  else
    std::printf("[          ] without a network namespace: not root, or no iproute2\n");
  for (auto &way : ways) {
    OpsColumn here{*spec, "auto"}, there{viaCommand(*spec, way, ""), "auto"};
    EXPECT_TRUE(there.provider.remote);
    there.provider.name = "there";
    OpsRow row = OpsLab({here, there}, quick()).measure(problem(), {2});
    for (auto &point : row.points)
      EXPECT_EQ(point.status, PointStatus::passed) << way << ": " << point.reason;
    EXPECT_TRUE(row.points[1].timed()) << way;
    EXPECT_EQ(row.points[0].relativeL2, row.points[1].relativeL2) << "the operands were not the same";
  }
  if (ways.size() > 2)
    EXPECT_EQ(std::system("ip netns delete lathe-test"), 0);
  OpsColumn python = fake("");
  python.provider.remote = true;
  OpsRow row = OpsLab({python}, quick()).measure(problem(), {});
  EXPECT_EQ(row.points[0].status, PointStatus::unimplemented);
  OpsColumn elsewhere{viaCommand(*spec, "env -i", "/nowhere"), "auto"};
  row = OpsLab({elsewhere}, quick()).measure(problem(), {});
  EXPECT_EQ(row.points[0].status, PointStatus::crashed) << row.points[0].reason;
}

TEST(OpsLab, narrowTypesHaveTheirOwnBounds) {
  EXPECT_EQ(toleranceOf(Problem::parse("relu x=3")).relative, 2e-5);
  EXPECT_GT(toleranceOf(Problem::parse("relu x=3:f16")).relative, 2e-5);
  EXPECT_GT(toleranceOf(Problem::parse("relu x=3:bf16")).relative,
            toleranceOf(Problem::parse("relu x=3:f16")).relative);
  EXPECT_EQ(toleranceOf(Problem::parse("gather x=3:i32 indices=2:i64:0..3")).maximum, 0);
}

TEST(OpsLab, unknownAndMissingProvidersDeclineWithAReason) {
  EXPECT_NE(findProvider("mkl").reason().find("expected lathe, onednn"), std::string::npos);
  EXPECT_THROW(opsColumns("conv", {"mkl"}, {}), Error);
}
