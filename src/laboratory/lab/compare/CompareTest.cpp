#include "lab/compare/Compare.h"

#include "lab/StoreRecords.h"
#include "lab/compare/Ports.h"
#include "runtime/NpyTensor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace lathe;
using namespace lathe::lab;
using process::FailureKind;
namespace fs = std::filesystem;

class CompareTest : public testing::Test {
protected:
  void SetUp() override {
    directory = fs::temp_directory_path() / ("lathe-compare-test-" + std::to_string(getpid()));
    fs::create_directories(directory);
    options.roundSeconds = 0.01;
    options.minStarts = options.maxStarts = 3;
    options.minRounds = options.maxRounds = 9; // three in each start
  }
  void TearDown() override { fs::remove_all(directory); }

  /// A side whose network multiplies by model["factor"] and reports the time model["ms"].
  CompareSide fake(const std::string &name, const nlohmann::json &model) {
    CompareSide side;
    side.runner = {name, {}, {"fake"}};
    side.runner.command.argv = {"/usr/bin/python3", LATHE_SOURCE_DIR "/src/laboratory/lab/compare/FakeRunner.py"};
    side.model = (directory / (name + ".json")).string();
    std::ofstream(side.model) << (model.is_null() ? nlohmann::json::object() : model); // {} is null
    return side;
  }
  Comparison compareFakes(const nlohmann::json &ours, const nlohmann::json &theirs) {
    return compare({fake("ours", ours), fake("theirs", theirs)}, options);
  }

  fs::path directory;
  CompareOptions options;
};

TEST_F(CompareTest, ratioAndVerdict) {
  auto comparison = compareFakes({{"factor", 2}, {"ms", 2}}, {{"factor", 2}, {"ms", 3}});
  ASSERT_EQ(comparison.peers.size(), 1u);
  auto &peer = comparison.peers[0];
  EXPECT_TRUE(comparison.agrees()) << describe(comparison);
  ASSERT_TRUE(peer.judged.has_value()) << describe(comparison);
  EXPECT_NEAR(peer.judged->ratio.ratio, 1.5, 0.01);
  EXPECT_EQ(peer.judged->verdict, Verdict::faster);
  EXPECT_EQ(comparison.starts, (std::vector<size_t>{3, 3, 3}));
  EXPECT_EQ(comparison.sides[0].rounds.size(), 9u);
  auto document = toJson(comparison);
  EXPECT_EQ(document["peers"][0]["verdict"], "faster");
  EXPECT_EQ(document["sides"][1]["rounds_ns"][0][0], 3000000);
  EXPECT_GT(document["sides"][0]["peak_rss_bytes"], 0);
  EXPECT_GE(document.value("other_processors", 0.0), 0);
  comparison.otherProcessors = 0;
  EXPECT_EQ(describe(comparison).find("do not trust"), std::string::npos);
  comparison.otherProcessors = 1.5;
  EXPECT_NE(describe(comparison).find("1.5 processors busy"), std::string::npos);
  comparison.sides[0].time.median = 0.42e-6;
  comparison.sides[0].time.min = 12.3456e-6;
  comparison.sides[1].time.median = 0.1234567;
  for (const char *text : {" 0.000420 ", " 0.0123 ", " 123.457 "})
    EXPECT_NE(describe(comparison).find(text), std::string::npos) << text << describe(comparison);
}

TEST_F(CompareTest, verdictsOfSlowerAndSame) {
  EXPECT_EQ(compareFakes({{"ms", 5}}, {{"ms", 3}}).peers[0].judged->verdict, Verdict::slower);
  EXPECT_EQ(compareFakes({{"ms", 3}}, {{"ms", 3}}).peers[0].judged->verdict, Verdict::same);
}

TEST_F(CompareTest, everyStartIsANewProcess) {
  std::vector<size_t> told;
  options.afterStart = [&](const Comparison &soFar) {
    told.push_back(soFar.starts.size());
    ASSERT_TRUE(soFar.peers[0].judged.has_value());
    EXPECT_EQ(soFar.peers[0].judged->tooFewStarts, soFar.starts.size() < 3);
  };
  // Processes differ in speed: the second one takes 1.2 times as long, the third one 0.9 times.
  nlohmann::json moody = {{"ms", 3}, {"moods", {1, 1.2, 0.9}}, {"counter", (directory / "starts").string()}};
  auto comparison = compareFakes({{"ms", 3}}, moody);
  EXPECT_EQ(told, (std::vector<size_t>{1, 2, 3}));
  ASSERT_TRUE(comparison.peers[0].judged.has_value()) << describe(comparison);
  EXPECT_NEAR(comparison.peers[0].judged->ratio.ratio, std::cbrt(1.2 * 0.9), 1e-3);
  EXPECT_EQ(comparison.peers[0].judged->verdict, Verdict::ambiguous);
}

TEST_F(CompareTest, anAnswerThatChangesInALaterStart) {
  nlohmann::json fickle = {{"factors", {2, 2, 3}}, {"counter", (directory / "starts").string()}};
  auto comparison = compareFakes({{"factor", 2}}, fickle);
  EXPECT_FALSE(comparison.agrees());
  EXPECT_FALSE(comparison.peers[0].judged.has_value());
  EXPECT_NE(comparison.peers[0].outputs[0].reason.find("relative L2"), std::string::npos);
}

TEST_F(CompareTest, aSideMayKeepTheVariablesItself) {
  nlohmann::json ours = {{"factor", 2}, {"variables", {"h.past"}}}, theirs = {{"factor", 2}};
  options.checkOnly = true;
  options.inputs["h.past"] = Tensor::of<float>({1, 4}, {0, 0, 0, 0});
  EXPECT_THROW(compareFakes(ours, theirs), Error) << "another network";
  options.variables = {"h.past"};
  auto comparison = compareFakes(ours, theirs);
  EXPECT_TRUE(comparison.agrees()) << describe(comparison);
  EXPECT_EQ(comparison.sides[1].notes,
            std::vector<std::string>{"keeps the variables h.past itself; they begin with zero"});
  EXPECT_TRUE(compareFakes(ours, ours).agrees());
}

TEST_F(CompareTest, tooLittleTimeGivesNoVerdict) {
  options.minStarts = 6;
  options.maxSeconds = 1e-6;
  auto comparison = compareFakes({{"ms", 2}}, {{"ms", 3}});
  EXPECT_EQ(comparison.starts, (std::vector<size_t>{1}));
  ASSERT_TRUE(comparison.peers[0].judged.has_value());
  EXPECT_TRUE(comparison.peers[0].judged->ratio.isRange);
  EXPECT_TRUE(comparison.peers[0].judged->tooFewStarts);
  EXPECT_EQ(comparison.peers[0].judged->verdict, Verdict::ambiguous);
  EXPECT_EQ(describe(comparison).find("95 %"), std::string::npos) << describe(comparison);
  EXPECT_NE(describe(comparison).find("too few for an interval"), std::string::npos);
  EXPECT_NE(describe(comparison).find("1 start says too little for a verdict on theirs: give more time"),
            std::string::npos)
      << describe(comparison);
  EXPECT_TRUE(toJson(comparison)["peers"][0]["confidence"].is_null());
  options.maxSeconds = 30;
  options.roundsInAll = 2;
  EXPECT_NE(describe(compareFakes({{"ms", 2}}, {{"ms", 3}}))
                .find("2 starts say too little for a verdict on theirs: allow more rounds"),
            std::string::npos);
}

/// A runner that reports times shorter than possible: no ratio, a warning, and no success.
TEST_F(CompareTest, timesThatNoAlgorithmReachesAreNotBelieved) {
  options.operations = 1e9;
  EXPECT_TRUE(compareFakes({{"ms", 2}}, {{"ms", 3}}).agrees());
  auto comparison = compareFakes({{"ms", 2}}, {{"ms", 0.003}});
  EXPECT_FALSE(comparison.agrees());
  EXPECT_TRUE(comparison.peers[0].agrees); // the outputs are right
  EXPECT_FALSE(comparison.peers[0].judged.has_value());
  EXPECT_TRUE(comparison.sides[0].unreachable.empty());
  std::string text = describe(comparison);
  EXPECT_NE(text.find("no ratio to theirs: its times are not believed"), std::string::npos) << text;
  EXPECT_NE(text.find("warning: the times of theirs are not believed: no algorithm takes"), std::string::npos) << text;
  auto points = pointsOf(comparison, {"model", "m", {}}, {});
  EXPECT_EQ(points[0].status, store::PointStatus::passed);
  EXPECT_EQ(points[1].status, store::PointStatus::mistrusted);
  EXPECT_NE(points[1].reason.find("no algorithm"), std::string::npos);
}

TEST_F(CompareTest, roundsInAllAreSpreadOverTheStarts) {
  options.minStarts = options.maxStarts = 4;
  options.roundsInAll = 6;
  EXPECT_EQ(compareFakes({}, {}).starts, (std::vector<size_t>{2, 2, 1, 1}));
  options.roundsInAll = 2;
  EXPECT_EQ(compareFakes({}, {}).starts, (std::vector<size_t>{1, 1}));
}

/// Six starts of two sides; `ours` and `theirs` give the time and the frequency of each round.
static Comparison sixStarts(const std::function<double(int start, int run)> &ours, double oursGhz, double theirsGhz) {
  Comparison comparison;
  comparison.sides.resize(2);
  comparison.sides[0].name = "ours";
  comparison.sides[1].name = "theirs";
  comparison.peers.resize(1);
  comparison.peers[0].peer = 1;
  comparison.starts.assign(6, 1);
  for (int start = 0; start < 6; ++start)
    for (int side = 0; side < 2; ++side) {
      auto &round = comparison.sides[size_t(side)].rounds.emplace_back();
      for (int run = 0; run < 20; ++run)
        round.push_back(side == 0 ? ours(start, run) : 1e-3 * (1 + 1e-4 * (run % 3)));
      Counts &counts = comparison.sides[size_t(side)].counts.emplace_back();
      counts.cpuNs = 1000000000;
      counts.cycles = int64_t(1e9 * (side == 0 ? oursGhz : theirsGhz));
    }
  return comparison;
}

TEST(CompareWarnings, outliersDriftAndFrequency) {
  auto warnings = [](const Comparison &comparison) {
    return fmt::format("{}", fmt::join(warningsOf(comparison), "; "));
  };
  auto steady = [](int, int run) { return 1e-3 * (1 + 1e-4 * (run % 3)); };
  EXPECT_EQ(warnings(sixStarts(steady, 3, 3.01)), "");
  Comparison careful = sixStarts(steady, 3, 3.01);
  careful.sides[1].settings = {{"caution", "its times say nothing"}};
  EXPECT_EQ(warnings(careful), "its times say nothing");
  EXPECT_NE(describe(careful).find("no ratio to theirs: its times say nothing of a native build"), std::string::npos);
  EXPECT_EQ(describe(careful).find("the speed of"), std::string::npos);
  auto jumpy = [&](int start, int run) { return run < 2 ? 3e-3 : steady(start, run); };
  EXPECT_EQ(warnings(sixStarts(jumpy, 3, 3)), "10 % of the times of ours are outliers");
  auto drifting = [&](int start, int run) { return steady(start, run) * (1 + 0.02 * start); };
  EXPECT_EQ(warnings(sixStarts(drifting, 3, 3)), "times of ours rose by 9.5 % from the first start to the last");
  EXPECT_EQ(warnings(sixStarts(steady, 3, 2.5)),
            "ours ran at 3.00 GHz, theirs at 2.50: that difference is in the ratio");
  Comparison varying = sixStarts(steady, 3, 3);
  for (size_t start = 3; start < 6; ++start)
    varying.sides[1].counts[start].cycles = 2700000000;
  EXPECT_NE(warnings(varying).find("the frequency under theirs varied from 2.70 to 3.00 GHz"), std::string::npos);
  for (auto &counts : varying.sides[1].counts)
    counts.cycles.reset();
  varying.sides[1].uncounted = "no counters here";
  EXPECT_EQ(warnings(varying), "");
  EXPECT_NE(describe(varying).find("frequency not known of theirs: no counters here"), std::string::npos);
}

TEST_F(CompareTest, noTimingWithoutAnAnswer) {
  auto comparison = compareFakes({{"factor", 2}}, {{"factor", 2.01}});
  EXPECT_FALSE(comparison.agrees());
  EXPECT_FALSE(comparison.peers[0].outputs[0].agrees);
  EXPECT_NE(comparison.peers[0].outputs[0].reason.find("relative L2"), std::string::npos);
  EXPECT_FALSE(comparison.peers[0].judged.has_value());
  EXPECT_TRUE(comparison.sides[0].rounds.empty());
  EXPECT_FALSE(toJson(comparison)["peers"][0].contains("ratio"));
}

TEST_F(CompareTest, checkOnlyTimesNothing) {
  options.checkOnly = true;
  auto comparison = compareFakes({{"factor", 2}}, {{"factor", 2}});
  EXPECT_TRUE(comparison.agrees()) << describe(comparison);
  EXPECT_FALSE(comparison.peers[0].judged.has_value());
  EXPECT_TRUE(comparison.sides[0].rounds.empty());
  EXPECT_EQ(describe(comparison).find("no ratio"), std::string::npos);
  EXPECT_FALSE(compareFakes({{"factor", 2}}, {{"factor", 3}}).agrees());
}

TEST_F(CompareTest, otherOutputsDisagree) {
  auto comparison = compareFakes({{"output", "y"}}, {{"output", "z"}, {"flat", true}});
  EXPECT_FALSE(comparison.agrees());
  EXPECT_EQ(comparison.peers[0].outputs[0].reason, "4 is not an output of ours, which has y f32 1x4");
}

TEST_F(CompareTest, portsWithOtherNamesAreMatchedByShape) {
  options.checkOnly = true;
  auto comparison = compareFakes({{"input", "data"}, {"output", "y"}}, {{"input", "x"}, {"output", "z"}});
  EXPECT_TRUE(comparison.agrees()) << describe(comparison);
  EXPECT_EQ(comparison.sides[1].notes, std::vector<std::string>{"input 'x' takes 'data'"});
  EXPECT_NE(describe(comparison).find("theirs: input 'x' takes 'data'\n"), std::string::npos) << describe(comparison);
  EXPECT_NE(describe(comparison).find("output 'z' of theirs is compared with 'y'\n"), std::string::npos);
  EXPECT_EQ(toJson(comparison)["peers"][0]["outputs"][0]["ours"], "y");
  EXPECT_THROW(compareFakes({{"dims", {1, 4}}}, {{"dims", {1, 5}}}), Error);
}

TEST_F(CompareTest, layoutsAreAdaptedOnRequest) {
  nlohmann::json first = {{"dims", {1, 3, 4, 5}}}, last = {{"input", "pixels"}, {"dims", {"N", "H", "W", 3}}};
  auto messageOf = [&](auto &&ours, auto &&theirs) -> std::string {
    try {
      compareFakes(ours, theirs);
      return "";
    } catch (const Error &error) {
      return error.what();
    }
  };
  options.checkOnly = true;
  std::string said = messageOf(first, last);
  for (const char *part : {"'pixels'", "NxHxWx3", "'x'", "1x3x4x5", "--adapt-layouts"})
    EXPECT_NE(said.find(part), std::string::npos) << said;
  options.adaptLayouts = true;
  auto comparison = compareFakes(first, last);
  EXPECT_TRUE(comparison.agrees()) << describe(comparison);
  EXPECT_TRUE(comparison.peers[0].outputs[0].transposed);
  EXPECT_EQ(comparison.peers[0].outputs[0].relativeL2, 0);
  EXPECT_EQ(comparison.sides[1].notes,
            std::vector<std::string>{"input 'pixels' takes 'x', transposed from 1x3x4x5 to 1x4x5x3"});
  EXPECT_NE(describe(comparison).find("is compared with 'y', transposed"), std::string::npos) << describe(comparison);
  last["factor"] = 2;
  EXPECT_FALSE(compareFakes(first, last).agrees());
}

TEST(Ports, fitsAndPairs) {
  auto port = [](const char *name, std::vector<std::string> dims) { return RunnerPort{name, "f32", std::move(dims)}; };
  RunnerPort picture = port("a", {"2", "3", "8", "9"});
  EXPECT_TRUE(fitOf(picture, port("b", {"N", "3", "8", "W"})).permutation.empty());
  EXPECT_EQ(fitOf(picture, port("b", {"N", "H", "W", "3"})).permutation, (std::vector<size_t>{0, 2, 3, 1}));
  EXPECT_EQ(fitOf(port("b", {"2", "8", "9", "3"}), picture).permutation, (std::vector<size_t>{0, 3, 1, 2}));
  EXPECT_FALSE(fitOf(picture, port("b", {"2", "9", "8", "3"})).fits);
  EXPECT_FALSE(fitOf(picture, port("b", {"2", "3"})).fits);
  EXPECT_TRUE(fitOf(picture, RunnerPort{"b", "f32", {}, false}).fits);
  RunnerPort row = port("row", {"1", "7"}), mask = port("mask", {"1", "5"});
  using Pairs = std::vector<std::optional<size_t>>;
  EXPECT_EQ(pairPorts({row, mask}, {port("p", {"1", "5"}), port("q", {"1", "7"})}), (Pairs{1, 0}));
  EXPECT_EQ(pairPorts({row, mask}, {port("mask", {"1", "7"}), port("q", {"1", "7"})}), (Pairs{1, 0}))
      << "names come first";
  EXPECT_EQ(pairPorts({row}, {RunnerPort{"row", "i32", {"1", "7"}}}), (Pairs{std::nullopt}));
}

TEST(Ports, transposes) {
  Tensor tensor = Tensor::of<float>({1, 2, 1, 3}, {0, 1, 2, 3, 4, 5});
  Tensor last = transposed(tensor, {0, 2, 3, 1});
  EXPECT_EQ(last.dims(), (std::vector<int64_t>{1, 1, 3, 2}));
  EXPECT_EQ(std::vector<float>(last.as<float>(), last.as<float>() + 6), (std::vector<float>{0, 3, 1, 4, 2, 5}));
  Tensor back = transposed(last, {0, 3, 1, 2});
  EXPECT_EQ(back.dims(), tensor.dims());
  EXPECT_EQ(std::vector<float>(back.as<float>(), back.as<float>() + 6), (std::vector<float>{0, 1, 2, 3, 4, 5}));
}

TEST_F(CompareTest, constantOutputsAreMistrusted) {
  auto comparison = compareFakes({{"factor", 0}, {"offset", 3}}, {{"factor", 0}, {"offset", 3}});
  EXPECT_TRUE(comparison.agrees());
  EXPECT_EQ(comparison.peers[0].outputs[0].mistrust, "constant");
}

TEST_F(CompareTest, failuresOfASideAreResults) {
  for (auto [how, kind] :
       {std::pair{"crash", FailureKind::crashed}, {"garbage", FailureKind::garbage}, {"error", FailureKind::threw}})
    for (const char *at : {"load", "inputs", "run", "time"}) {
      auto comparison = compareFakes({{"factor", 1}}, {{"factor", 1}, {"misbehave", {{at, how}}}});
      ASSERT_TRUE(comparison.sides[1].failure.has_value()) << at << " " << how;
      EXPECT_EQ(comparison.sides[1].failure->kind, kind) << at << " " << how;
      EXPECT_FALSE(comparison.agrees());
      EXPECT_FALSE(comparison.peers[0].judged.has_value());
      EXPECT_NE(describe(comparison).find("theirs"), std::string::npos);
    }
  CompareSide absent = fake("ours", {});
  absent.runner.command.argv = {"/no/such/runner"};
  EXPECT_EQ(compare({absent, fake("theirs", {})}, options).sides[0].failure->kind, FailureKind::couldNotStart);
}

TEST_F(CompareTest, aFailingPeerDoesNotKeepTheOthers) {
  auto comparison = compare(
      {fake("ours", {}), fake("broken", {{"misbehave", {{"run", "crash"}}}}), fake("theirs", {{"ms", 4}})}, options);
  EXPECT_FALSE(comparison.peers[0].judged.has_value());
  ASSERT_TRUE(comparison.peers[1].judged.has_value());
  EXPECT_NEAR(comparison.peers[1].judged->ratio.ratio, 4, 0.05);
}

TEST_F(CompareTest, givenInputs) {
  options.inputs["x"] = Tensor::of<float>({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_TRUE(compareFakes({}, {}).agrees());
  options.inputs["other"] = options.inputs["x"];
  EXPECT_THROW(compareFakes({}, {}), Error);
  EXPECT_THROW(compare({fake("ours", {})}, options), Error);
}

TEST(Agreement, tolerancesAndShapes) {
  Tolerance options = CompareOptions().tolerance;
  auto of = [](std::initializer_list<float> values) { return Tensor::of<float>({int64_t(values.size())}, values); };
  EXPECT_TRUE(agreementOf("y", of({1, 2}), of({1, 2}), options).agrees);
  EXPECT_TRUE(agreementOf("y", of({1, 2.0001f}), of({1, 2}), options).agrees);
  auto differs = agreementOf("y", of({1, 2.1f}), of({1, 2}), options);
  EXPECT_FALSE(differs.agrees);
  EXPECT_NEAR(differs.relativeL2, 0.1 / std::sqrt(5), 1e-6);
  EXPECT_NEAR(differs.maxDifference, 0.05, 1e-6);
  EXPECT_TRUE(agreementOf("y", of({1, NAN, 2}), of({1, NAN, 2}), options).agrees);
  EXPECT_EQ(agreementOf("y", of({1, NAN, 2}), of({1, NAN, 2}), options).mistrust, "");
  EXPECT_FALSE(agreementOf("y", of({1, NAN}), of({NAN, 1}), options).agrees);
  EXPECT_FALSE(agreementOf("y", of({1, INFINITY}), of({1, -INFINITY}), options).agrees);
  EXPECT_EQ(agreementOf("y", of({NAN, NAN}), of({NAN, NAN}), options).mistrust, "not finite in any element");
  EXPECT_FALSE(agreementOf("y", of({1}), of({0}), options).agrees);
  EXPECT_EQ(agreementOf("y", of({0, 0}), of({0, 0}), options).mistrust, "all zero");
  EXPECT_EQ(agreementOf("y", of({0, 1, 1e-9f}), of({0, 1, 0}), options).mistrust, "only zeros and ones");
  EXPECT_EQ(agreementOf("y", of({0, 1, 0.5f}), of({0, 1, 0.5f}), options).mistrust, "");
  EXPECT_FALSE(agreementOf("y", of({1, 2}), of({1, 2, 3}), options).agrees);
  EXPECT_FALSE(agreementOf("y", Tensor::of<int64_t>({1}, {5}), Tensor::of<int64_t>({1}, {6}), options).agrees);
  EXPECT_FALSE(agreementOf("y", Tensor::of<int64_t>({1}, {5}), of({5}), options).agrees);
}

// Compares ONNX Runtime with itself: all steps of a comparison, without a compiler.
TEST_F(CompareTest, onnxRuntimeIsAsFastAsItself) {
  auto spec = findRunner("onnxruntime");
  if (!spec)
    GTEST_SKIP() << spec.reason();
  std::string path = LATHE_TEST_DATA "/models/onnx/light_squeezenet.onnx";
  if (!fs::exists(path))
    GTEST_SKIP() << "no test data: " << path << " is absent";
  CompareSide side{*spec, path, {}};
  options.maxSeconds = 2;
  auto comparison = compare({side, side}, options);
  EXPECT_TRUE(comparison.agrees()) << describe(comparison);
  ASSERT_TRUE(comparison.peers[0].judged.has_value());
  EXPECT_GT(comparison.peers[0].judged->ratio.ratio, 0); // does not test the time, only that both sides ran
  ASSERT_TRUE(comparison.sides[0].overheadSeconds.has_value());
  EXPECT_GT(*comparison.sides[0].overheadSeconds, 0);
  std::cout << describe(comparison);
}
