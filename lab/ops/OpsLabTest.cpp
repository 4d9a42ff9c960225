#include "lab/ops/OpsLab.h"

#include "lab/StoreRecords.h"
#include "package/Package.h"
#include "process/Worker.h"
#include "runtime/Cpu.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace lathe;
using namespace lathe::lab;

static OpsColumn fake(const std::string &how, const std::string &provider = "fake",
                      const std::string &variant = "auto") {
  OpsColumn column;
  column.provider.name = provider;
  column.provider.command.argv = {"/usr/bin/python3", LATHE_SOURCE_DIR "/lab/ops/FakeProvider.py"};
  if (!how.empty())
    column.provider.command.argv.push_back(how);
  column.variant = variant;
  return column;
}

static OpsLabOptions quick() {
  OpsLabOptions options;
  options.minRounds = options.maxRounds = 3;
  options.minStarts = options.maxStarts = 1;
  options.roundSeconds = 0.005;
  return options;
}

/// As many rounds as a verdict on one start needs.
static OpsLabOptions enoughRounds() {
  OpsLabOptions options = quick();
  options.minRounds = options.maxRounds = 9;
  return options;
}

static ListedProblem problem(const std::string &text = "mb2g2ic4ih6oc6kh3ph1sh2") {
  return {parseProblem("conv2d", text), "conv2d", text, text, {}, 1};
}

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
  OpsRow row = OpsLab({fake("", "ours"), fake("", "peer")}, enoughRounds()).measure(problem(), {2});
  EXPECT_EQ(row.setting.threads, 2);
  ASSERT_EQ(row.verdicts.size(), 1u);
  EXPECT_EQ(row.verdicts[0].peer, "peer");
  EXPECT_NEAR(row.verdicts[0].ratio.ratio, 1, 1e-9); // both claim the same samples
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
}

TEST(OpsLab, fewRoundsGiveNoVerdict) {
  OpsRow row = OpsLab({fake("", "ours"), fake("", "peer")}, quick()).measure(problem(), {});
  ASSERT_EQ(row.verdicts.size(), 1u);
  EXPECT_TRUE(row.verdicts[0].ratio.isRange); // of three rounds
  EXPECT_EQ(row.verdicts[0].verdict, Verdict::ambiguous);
  EXPECT_TRUE(toJson(row)["verdicts"][0]["confidence"].is_null());
}

TEST(OpsLab, whatCallsCostIsNoVictory) {
  OpsLab bench({fake("local", "ours"), fake("remote", "peer"), fake("", "silent")}, enoughRounds());
  OpsRow row = bench.measure(problem(), {});
  ASSERT_EQ(row.verdicts.size(), 2u);
  const OpsVerdict &peer = row.verdicts[0], &silent = row.verdicts[1];
  EXPECT_NEAR(row.points[0].callSeconds.value_or(0), 4e-6, 1e-9); // 1 us and what its samples differ by
  EXPECT_NEAR(row.points[1].callSeconds.value_or(0), 604e-6, 1e-9);
  EXPECT_FALSE(row.points[2].callSeconds); // it has no problem so small
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
  EXPECT_FALSE(summaries[0].geometricMean); // nothing is left to take it of
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

/// Processor time always, the rest where this machine can count it; else it says why.
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
  options.minStarts = 2;
  options.maxStarts = 1000; // so that no start lasts by itself
  options.minRounds = options.maxRounds = 400;
  OpsLab bench({fake("", "ours"), fake("", "peer")}, options);
  EXPECT_EQ(bench.measure(problem(), {}).starts, (std::vector<size_t>(2, 200)));

  options.maxSeconds = 0.02;
  OpsRow hurried = OpsLab({fake("", "ours"), fake("", "peer")}, options).measure(problem(), {});
  ASSERT_EQ(hurried.starts.size(), 2u);
  for (size_t rounds : hurried.starts) {
    EXPECT_GE(rounds, 3u);
    EXPECT_LT(rounds, 200u);
  }
}

TEST(OpsLab, startsAreNotTakenForRounds) {
  // Every start of these processes is as much as 10 % faster or slower than the last, and steady while it lives.
  OpsLabOptions options = quick();
  OpsColumn ours = fake("moody", "ours"), peer = fake("moody", "peer");
  options.minStarts = options.maxStarts = 6;
  OpsRow row = OpsLab({ours, peer}, options).measure(problem(), {});
  EXPECT_EQ(row.starts, (std::vector<size_t>(6, 3)));
  ASSERT_EQ(row.verdicts.size(), 1u);
  EXPECT_EQ(row.points[0].rounds.size(), 18u);
  EXPECT_LT(row.verdicts[0].ratio.interval.low, 1);
  EXPECT_GT(row.verdicts[0].ratio.interval.high, 1);
  EXPECT_EQ(row.verdicts[0].verdict, Verdict::ambiguous);
}

TEST(OpsLab, preparesOnceForColdAndHot) {
  auto preparations = [](const OpsRow &row) { return std::lround(row.points[0].prepareSeconds * 1e6); }; // it says so
  constexpr OpsSetting hot{1, store::CacheState::hot}, cold{1, store::CacheState::cold};
  OpsLab bench({fake("flushes")}, quick());
  EXPECT_EQ(preparations(bench.measure(problem(), cold)), 1);
  OpsRow row = bench.measure(problem(), hot);
  EXPECT_EQ(row.points[0].status, PointStatus::passed) << row.points[0].reason;
  EXPECT_TRUE(row.points[0].timed());
  EXPECT_EQ(preparations(row), 1);
  EXPECT_EQ(preparations(bench.measure(problem(), {2})), 2); // other threads are another matter
  EXPECT_EQ(preparations(bench.measure(problem("ic3ih5oc4kh3ph1"), {2})), 3);
  EXPECT_EQ(preparations(bench.measure(problem(), hot)), 4);  // what it had before is gone
  EXPECT_EQ(preparations(bench.measure(problem(), cold)), 5); // which it might decline
  OpsLab failing({fake("time-error")}, quick());              // what failed while it was timed is not timed again
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
    for (int threads : {1, 2}) { // what ended is started again for the next row
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
  // A bias and ReLU over a 1x1 image: with this seed the only output is below zero.
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

/// Providers of this build, ours first; says which are missing.
static std::vector<std::string> providersHere() {
  std::vector<std::string> words;
  for (auto &name : knownProviders())
    if (findProvider(name).done())
      words.push_back(name);
    else
      std::printf("[          ] without %s: %s\n", name.c_str(), findProvider(name).reason().c_str());
  return words;
}

/// Problems that a provider computed, by its name; 0 where it has the operator and declined all of them.
using Computed = std::map<std::string, int>;

/// Runs every variant of every provider of this build on problems of one operator: each answer is right, or declined
/// with a reason. `lathe` and `reference`, which every build has, decline nothing. Where `peersMayFail`, a peer's wrong
/// answer is accepted as long as it is reported as wrong.
static Computed conformance(const std::vector<Problem> &problems, bool peersMayFail = false) {
  auto words = providersHere();
  for (const char *always : {"lathe", "reference"})
    EXPECT_TRUE(std::find(words.begin(), words.end(), always) != words.end()) << always << " is not built";
  if (words.empty())
    return {};
  OpsLabOptions options;
  options.checkOnly = true;
  const std::string op = problems[0].op;
  if (words[0] == knownProviders()[0])
    words[0] += ":all"; // every variant of ours, too
  auto columns = opsColumns(op, words, options);
  words[0] = columns[0].provider.name;
  Computed computed;
  for (auto &column : columns)
    if (column.lacks.empty())
      computed[column.provider.name] = 0;
  OpsLab bench(columns, options);
  for (auto &problem : problems)
    for (int threads : {1, 2}) {
      OpsRow row = bench.measure({problem, op, problem.str(), problem.str(), {}, 1}, {threads});
      for (auto &point : row.points) {
        bool told = point.status == PointStatus::failed && peersMayFail && point.provider != words[0] &&
                    point.provider != "reference" && point.relativeL2 > 0;
        EXPECT_TRUE(point.status == PointStatus::passed || point.status == PointStatus::sameAs ||
                    (point.status == PointStatus::unimplemented && !point.reason.empty()) || told)
            << problem.str() << " " << point.provider << ":" << point.variant << " " << name(point.status) << ": "
            << point.reason;
        if (auto found = computed.find(point.provider); found != computed.end())
          found->second += point.status == PointStatus::passed || point.status == PointStatus::sameAs || told;
        if (point.provider == "reference") {
          EXPECT_EQ(point.status, PointStatus::passed) << problem.str() << ": " << point.reason;
        }
      }
      EXPECT_EQ(row.points[0].status, PointStatus::passed) << problem.str() << ": " << row.points[0].reason;
    }
  return computed;
}

static Computed conformance(const std::string &kind, const std::vector<std::string> &texts) {
  std::vector<Problem> problems;
  for (auto &text : texts)
    problems.push_back(parseProblem(kind, text));
  return conformance(problems);
}

static void add(Computed &sum, const Computed &more) {
  for (auto &[provider, count] : more)
    sum[provider] += count;
}

/// Fails for a provider that has the operator and declined every problem of it.
static void expectAllCompute(const Computed &computed) {
  for (auto &[provider, count] : computed)
    EXPECT_GT(count, 0) << provider << " declines every problem of an operator that it says it has";
}

TEST(OpsLab, providersAgreeOnConvolutions) {
  Computed computed = conformance("conv2d", {"ic64ih14oc64kh3ph1", "mb2ic19ih9oc33kh1", "ic3ih33oc16kh7sh2ph3",
                                             "g32ic32ih15oc32kh3ph1sh2", "g4ic32ih8oc32kh3ph1", "ic16ih17oc24kh1kw7pw3",
                                             "ic16ih12oc16kh3dh1ph2"});
  for (const std::string &provider : providersHere())
    computed.try_emplace(provider, 0); // all have convolutions
  expectAllCompute(computed);
}

TEST(OpsLab, providersAgreeOnConvolutionsOfOtherRanks) {
  expectAllCompute(conformance("conv", {"ic16id4ih6oc16kd3pd1", "ic19iw33oc17kw3pw1", "mb2g2ic8iw20oc16kw5sw2pw2"}));
}

TEST(OpsLab, providersAgreeOnEveryKind) {
  for (auto &[kind, texts] : std::map<std::string, std::vector<std::string>>{
           {"gemm", {"m17n33k65", "m64n128k256ta1", "m1n100k300tb1", "m20n31k9ta1tb1"}},
           {"matmul", {"3x17x33:3x33x20", "2x3x8x16:2x3x16x24", "5x7x9:9x11"}},
           {"fc", {"mb1ic300oc101", "mb5ic8ih3oc17"}},
           {"pool", {"ic19ih13kh3sh2ph1:max", "mb2ic16ih8kh2sh2:avg"}},
           {"softmax", {"33x100", "4x19x7:axis1"}},
           {"layer_norm", {"17x300", "2x5x64"}},
           {"reduction", {"2x19x7x5:2x19x1x1:sum", "30x17:1x17"}},
           {"resize", {"ic19ih7oh14", "mb2ic16ih6oh9:linear"}},
           {"transpose", {"2x19x5x7:0,2,3,1", "33x65:1,0"}},
           {"reshape", {"2x19x7:2x133"}},
           {"lstm", {"t5mb1slc40dhc33", "t3mb2slc16dhc16dir2"}}}) {
    SCOPED_TRACE(kind);
    Computed computed = conformance(kind, texts);
    if (kind == "gemm" || kind == "matmul")
      computed.erase("xnnpack"); // needs constant weights, which only fc has
    expectAllCompute(computed);
  }
  Computed elementwise;
  for (auto text : {"2x19x7x5:relu", "33x65:gelu", "2x19x7x5:1x19x1x1:add", "40x7:40x7:mul"}) {
    SCOPED_TRACE(text);
    add(elementwise, conformance("eltwise", {text}));
  }
  expectAllCompute(elementwise);
}

/// The points of every variant of our provider for one problem, by variant; only checked.
static std::map<std::string, OpsPoint> oursByVariant(const std::string &kind, const std::string &text) {
  OpsLabOptions options = quick();
  options.checkOnly = true;
  Problem parsed = parseProblem(kind, text);
  std::map<std::string, OpsPoint> points;
  // A process for each variant: one process for all would report equal implementations as same_as.
  for (auto &column : opsColumns(parsed.op, {"lathe:all"}, options))
    points[column.variant] = OpsLab({column}, options).measure({parsed, kind, text, text, {}, 1}, {2}).points[0];
  return points;
}

/// Each algorithm is a variant: it runs that algorithm, or declines with the reason.
TEST(OpsLab, ourAlgorithmsByName) {
  ASSERT_TRUE(findProvider("lathe").done()) << findProvider("lathe").reason();
  struct Case {
    const char *kind, *text;
    std::map<std::string, std::string> implementations; // by variant: what the implementation contains
    std::map<std::string, std::string> reasons;         // by variant: what the reason contains
  };
  const std::string dense = "dense 3x3 convolutions of stride 1";
  for (const Case &wanted :
       {Case{"conv2d",
             "ic64ih14oc64kh3ph1",
             {{"direct", "direct/1 "},
              {"winograd-2", "winograd/2 m=2 "},
              {"winograd-4", "winograd/2 m=4 "},
              {"winograd-6", "winograd/2 m=6 "},
              {"im2col", "gemm/2 "}},
             {{"gemm", "does not compute convolutions"}, {"separable", "a pointwise one behind it"}}},
        Case{"conv2d",
             "mb2g32ic32ih15oc32kh3ph1sh2",
             {{"lanewise", "lanewise/1 "}, {"im2col", "gemm/2 "}},
             {{"winograd-4", dense}, {"gemm", "does not compute convolutions"}}},
        Case{"conv2d",
             "mb2g2ic16ih9iw12oc24kh3sh2dh1",
             {{"direct", "direct/1 "}, {"im2col", "gemm/2 "}},
             {{"winograd-2", dense}}},
        Case{"conv2d", "ic40ih9oc24kh1", {{"direct", "direct/1 "}, {"im2col", "gemm/2 "}}, {{"winograd-6", dense}}},
        Case{"conv", "ic16id4ih6oc16kd3pd1", {{"direct", "direct/1 "}, {"im2col", "gemm/2 "}}, {{"winograd-6", dense}}},
        Case{"matmul",
             "3x17x33:3x33x20",
             {{"gemm", "gemm/2 "}},
             {{"direct", "does not compute matrix products"}, {"winograd-2", "does not compute matrix products"}}},
        Case{"softmax", "33x100", {{"softmax", "softmax/2 "}}, {}}}) {
    SCOPED_TRACE(wanted.text);
    auto points = oursByVariant(wanted.kind, wanted.text);
    for (auto &[variant, point] : points) {
      EXPECT_TRUE(point.status == PointStatus::passed ||
                  (point.status == PointStatus::unimplemented && !point.reason.empty()))
          << variant << ": " << name(point.status) << " " << point.reason;
    }
    for (auto &[variant, implementation] : wanted.implementations) {
      EXPECT_EQ(points[variant].status, PointStatus::passed) << variant << ": " << points[variant].reason;
      EXPECT_NE(points[variant].implementation.find(implementation), std::string::npos)
          << variant << ": " << points[variant].implementation;
    }
    for (auto &[variant, reason] : wanted.reasons) {
      EXPECT_EQ(points[variant].status, PointStatus::unimplemented) << variant;
      EXPECT_NE(points[variant].reason.find(reason), std::string::npos) << variant << ": " << points[variant].reason;
    }
  }
}

/// Sums of 8-bit products are exact, or an answer is wrong: there is no rounding.
TEST(OpsLab, providersAgreeOnProductsOfBytes) {
  using package::CpuFeature;
  // Without, libraries add pairs of products in 16 bits, which saturates.
  bool exact = (runtime::cpuFeatures() &
                (package::featureBit(CpuFeature::avx512vnni) | package::featureBit(CpuFeature::avxvnni))) != 0;
  const std::map<std::string, std::vector<std::string>> texts = {
      {"conv2d", {"ic19ih9oc33kh3ph1", "mb2g2ic8ih7oc6kh3sh2", "ic64ih7oc40kh1", "g32ic32ih15oc32kh3ph1"}},
      {"conv", {"ic16id4ih6oc16kd3pd1", "ic19iw33oc17kw3pw1"}},
      {"gemm", {"m17n33k65", "m1n100k300"}},
      {"matmul", {"3x17x33:3x33x20", "5x7x9:9x11"}},
      {"fc", {"mb5ic300oc101"}}};
  std::map<std::string, Computed> computed; // by kind
  for (const char *types : {"u8:s8:s32", "s8:s8:s32", "u8:u8:s32"})
    for (auto &[kind, texts] : texts) {
      SCOPED_TRACE(std::string(types) + " " + kind);
      SyntaxOptions syntax;
      setTypes(syntax, types);
      setEpilogue(syntax, "none");
      std::vector<Problem> whole, narrow;
      for (auto &text : texts) {
        whole.push_back(parseProblem(kind, text, syntax));
        Problem &weights = narrow.emplace_back(whole.back()); // of 7 bits: no pair of products needs more than 16
        weights.operands[1].low = syntax.weights == ElementType::i8 ? -64 : 0;
        weights.operands[1].high = 64;
      }
      add(computed[kind], conformance(whole, !exact));
      if (syntax.type == ElementType::u8)
        add(computed[kind], conformance(narrow));
    }
  for (const char *kind : {"conv2d", "matmul"})
    for (const char *provider : {"onednn", "onnxruntime"})
      if (findProvider(provider)) {
        EXPECT_GT(computed[kind][provider], 0) << provider << " declines every " << kind << " of bytes";
      }
  conformance(
      {Problem::parse("conv_integer x=1x8x9x9:u8:0..256 w=16x8x3x3:i8:-64..64:const x_zero_point=scalar:u8:3..4 "
                      "w_zero_point=16:i8:-9..9:const strides=1,1 dilations=1,1 pads=1,1,1,1 +relu")});
  conformance({Problem::parse("matmul_integer a=7x40:u8:0..256 b=40x9:i8:-64..64:const a_zero_point=7:u8:0..256 "
                              "b_zero_point=9:i8:-9..9 +add")});
}

/// Where libraries mean something else than the operators do: each computes it as the operator says, or declines.
TEST(OpsLab, providersKeepToTheDefinitions) {
  Computed computed;
  for (auto &[kind, texts] : std::map<std::string, std::vector<std::string>>{
           {"gemm",
            {"gemm a=17x9 b=9x12 c=17x1 alpha=0.5 beta=2", "gemm a=17x9 b=9x12:const c=12:const +gelu",
             "gemm a=17x9 b=9x12:const c=17x12 alpha=0.5 +relu", "gemm a=17x9 b=9x12:const c=17x12 +gelu +sub",
             "gemm a=17x9 b=9x12:const c=12:const +add +relu"}},
           {"conv2d",
            {"conv x=2x32x9x9 w=33x32x1x1:const b=33:const strides=1,1 dilations=1,1 pads=0,0,0,0 +add +relu",
             "conv x=1x32x9x9 w=32x32x3x3:const strides=1,1 dilations=1,1 pads=1,1,1,1 +add",
             "conv x=1x3x9x9 w=32x3x3x3:const strides=2,2 dilations=1,1 pads=1,1,1,1 +relu +mul",
             "conv x=1x32x9x9 w=32x1x3x3:const group=32 strides=1,1 dilations=1,1 pads=1,1,1,1 +sub +sigmoid"}},
           {"matmul", {"2x1x7x9:1x3x9x11", "matmul a=3x4x9 b=9x5:const"}},
           {"pool", {"ic19ih13kh3sh2ph1:avg", "ic19ih13kh3sh2ph1:avg_p", "ic16ih15kh3dh1ph1", "ic8id6ih6kd2sd2:avg"}},
           {"average_pool",
            {"x=1x16x14x14 kernel=3,3 strides=2,2 pads=0,0,0,0 dilations=1,1 ceil_mode=true",
             "x=1x16x14x14 kernel=3,3 strides=2,2 pads=0,0,0,0 dilations=1,1 ceil_mode=true count_include_pad=true"}},
           {"softmax", {"2x19x7x5:axis1", "2x3x19x7:axis2"}},
           {"layer_norm", {"layer_norm x=2x5x64 scale=5x64:const axis=1"}},
           {"lrn", {"x=2x19x7x5 size=5", "x=2x16x7x5 size=4"}},
           {"reduce_mean", {"x=2x19x7x5 axes=2,3 keepdims=false", "x=2x19x7x5"}},
           {"reduction", {"4x9:4x1:l2", "2x19x7x5:1x19x7x5:max"}},
           {"resize",
            {"ic16ih14oh7", "ic16ih14oh5:linear",
             "resize x=1x8x5x5 mode=linear coordinate_mode=align_corners sizes=1,8,9,9",
             "resize x=1x8x5x5 mode=linear coordinate_mode=asymmetric sizes=1,8,10,10"}},
           {"lstm",
            {"lstm x=4x2x8 w=1x64x8:const:-0.2..0.2 r=1x64x16:const:-0.2..0.2 direction=reverse",
             "lstm x=4x2x8 w=1x64x8:const:-0.2..0.2 r=1x64x16:const:-0.2..0.2 initial_h=1x2x16 initial_c=1x2x16"}},
           {"clip", {"x=33x65:-4..4 min=-1 max=2"}},
           {"leaky_relu", {"x=33x65:-4..4 alpha=0.3 +sigmoid"}},
           {"sub", {"a=1x7 b=40x7", "a=2x19x7x5 b=19x1x1"}}}) {
    SCOPED_TRACE(kind);
    add(computed, conformance(kind, texts));
  }
  expectAllCompute(computed); // some of all kinds
}

TEST(OpsLab, variadicOperandsAndIndices) {
  expectAllCompute(conformance("concat", {"inputs=1x8x4x4 inputs=1x16x4x4 inputs=1x3x4x4 axis=1"}));
  expectAllCompute(conformance("gather", {"x=100x30 indices=2x7:i64:0..100"}));
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

TEST(OpsLab, constantsAloneAreFlushedOnRequest) {
  auto words = providersHere();
  if (words.empty())
    GTEST_SKIP() << "no provider is built";
  Problem weights = parseProblem("fc", "ic2048oc2048"), none = Problem::parse("relu x=1x64");
  for (auto &problem : {weights, none}) {
    OpsLabOptions options = quick();
    OpsLab bench(opsColumns(problem.op, words, options), options);
    ListedProblem listed{problem, problem.op, problem.str(), "", {}, 1};
    OpsRow hot = bench.measure(listed, {1}), cold = bench.measure(listed, {1, store::CacheState::coldConstants});
    EXPECT_EQ(toJson(cold)["cache"], "cold-constants");
    for (size_t i = 0; i < cold.points.size(); ++i) {
      auto &point = cold.points[i];
      SCOPED_TRACE(point.provider + ":" + point.variant + " " + point.reason);
      if (hot.points[i].timed())
        EXPECT_TRUE(point.timed() || (point.status == PointStatus::unimplemented && !point.reason.empty()));
    }
    EXPECT_TRUE(cold.points[0].timed());
  }
}

/// A problem by every layout in turn, only checked; points by layout.
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
  options.bestSchedule = [&](const std::string &task) -> std::optional<std::string> {
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
  EXPECT_NE(points[1].scheduleRun.find(" oc=1"), std::string::npos) << points[1].scheduleRun;
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
  // Nothing is known of another one: a status, no error.
  row = bench.measure(problem("ic32ih7oc32kh3ph1"), {});
  EXPECT_EQ(row.points[2].status, PointStatus::unimplemented);
  EXPECT_EQ(row.points[2].reason, "no tuning record of the task " + row.points[0].task);
  EXPECT_EQ(row.points[1].status, PointStatus::passed) << row.points[1].reason;
  // Layout and threads are part of the task; the schedule is not.
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

TEST(OpsLab, oneDnnsOtherImplementations) {
  if (!findProvider("onednn"))
    GTEST_SKIP() << findProvider("onednn").reason();
  OpsLabOptions options = quick();
  options.checkOnly = true;
  std::vector<OpsColumn> columns;
  for (const char *variant : {"auto", "gemm", "impl-2", "impl-8"})
    columns.push_back({*findProvider("onednn"), variant});
  OpsLab bench(columns, options);
  const char *text = "ic32ih9oc32kh3ph1";
  auto points = bench.measure({parseProblem("conv2d", text), "conv2d", text, text, {}, 1}, {1}).points;
  EXPECT_EQ(points[0].status, PointStatus::passed) << points[0].reason;
  EXPECT_EQ(points[1].status, PointStatus::passed) << points[1].reason;
  EXPECT_NE(points[1].implementation.find("gemm"), std::string::npos) << points[1].implementation;
  EXPECT_EQ(points[2].status, PointStatus::passed) << points[2].reason;
  EXPECT_NE(points[2].implementation, points[0].implementation);
  // However many there are: the last number is answered by an implementation or with their count.
  EXPECT_TRUE(points[3].status == PointStatus::passed || points[3].status == PointStatus::sameAs ||
              points[3].reason.find("implementations of it") != std::string::npos)
      << points[3].reason;
}
