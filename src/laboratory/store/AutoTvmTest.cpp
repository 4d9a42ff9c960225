#include "store/AutoTvm.h"
#include "store/StoreTesting.h"

#include <gmock/gmock.h>

#include <fstream>

using namespace lathe;
using namespace lathe::store;
using nlohmann::json;
using testing::HasSubstr;

namespace {

class AutoTvmTest : public StoreFolder {
protected:
  /// A line in AutoTVM's format.
  static json line() {
    return json::parse(R"({"input": ["llvm -keys=cpu -mcpu=skylake-avx512", "conv2d_NCHWc.x86", [["TENSOR",
      [1, 3, 224, 224], "float32"], ["TENSOR", [64, 3, 7, 7], "float32"], [2, 2], [3, 3, 3, 3], [1, 1], "NCHW", "NCHW",
      "float32"], {}], "config": {"index": 172, "code_hash": null, "entity": [["tile_ic", "sp", [-1, 3]],
      ["tile_oc", "sp", [-1, 16]], ["tile_ow", "ot", "reg_n"], ["unroll_kw", "ot", false]]},
      "result": [[0.0045, 0.0035, 0.0046], 0, 0.5309, 1676344759.520081], "version": 0.2, "tvm_version": "0.10.0"})");
  }
  std::string write(const std::string &name, const std::vector<std::string> &lines) {
    std::ofstream stream(file(name));
    for (const std::string &text : lines)
      stream << text << "\n";
    return file(name);
  }
  std::string refused(const std::string &text) {
    Store store(file("into.db"));
    std::string path = write("bad.log", {line().dump(), "", text});
    std::string said = errorOf([&] { importInto(store, {path}, Imported::tuning); });
    EXPECT_THAT(said, HasSubstr("bad.log:3: "));
    EXPECT_EQ(said.find('\n'), said.npos) << said;
    EXPECT_EQ(store.counts(), Store::Counts());
    return said;
  }
};

} // namespace

TEST_F(AutoTvmTest, linesBecomeRecords) {
  json slow = line(), wrong = line(), late = line();
  slow["config"]["index"] = 47;
  slow["result"] = {{1000000000.0}, 7, 10.5, 1676344760.0};
  wrong["config"]["index"] = 48;
  wrong["result"] = {{"Traceback: no such thing"}, 1, 0.25, 1676344761.0};
  wrong["tvm_version"] = "0.8.dev0";
  late["result"] = {{0.002}, 0, 0.5, 1676344770.0};
  for (const std::vector<json> &order :
       {std::vector{line(), slow, wrong, late}, std::vector{late, slow, line(), wrong}}) {
    std::vector<std::string> lines = {"# a comment", ""};
    for (const json &one : order)
      lines.push_back(one.dump());
    Store store(file(order[0]["result"].dump() + ".db"));
    ImportCounts counts = importInto(store, {write("resnet50.log", lines)});
    EXPECT_EQ(counts.platforms.added, 2u);
    auto records = store.tuning({.part = "autotvm/0.2"});
    ASSERT_EQ(records.size(), 3u);
    const TuningRecord &best = records[0];
    EXPECT_EQ(best.task, "autotvm/0.2 | conv2d_NCHWc.x86 | float32 1x3x224x224; float32 64x3x7x7; [2,2]; [3,3,3,3]; "
                         "[1,1]; \"NCHW\"; \"NCHW\"; \"float32\" | llvm -keys=cpu -mcpu=skylake-avx512");
    EXPECT_EQ(best.schedule, "autotvm/0.2 index=172 tile_ic=-1,3 tile_oc=-1,16 tile_ow=reg_n unroll_kw=false");
    EXPECT_EQ(best.samples,
              (std::vector<int64_t>{4500000, 3500000, 4600000, 2000000})); // of both lines, sorted by date
    EXPECT_DOUBLE_EQ(best.seconds.value_or(0), 0.0031);
    EXPECT_EQ(best.measured, "2023-02-14T03:19:30.000000Z");
    EXPECT_EQ(best.runSeconds, 0.5);
    EXPECT_EQ(records[1].status, PointStatus::timedOut);
    EXPECT_EQ(records[1].reason, "run timeout");
    EXPECT_FALSE(records[1].seconds);
    EXPECT_EQ(records[2].status, PointStatus::unimplemented);
    EXPECT_EQ(store.platform(best.platform).libraries.at("tvm"), "0.10.0");
    EXPECT_EQ(best.status, PointStatus::notVerified);
    EXPECT_TRUE(store.chosenSchedules(best.platform).empty()); // not used for compilations
    EXPECT_EQ(importInto(store, {file("resnet50.log")}).tuning.added, 0u);
  }
}

TEST_F(AutoTvmTest, timesAreMeans) {
  Store store(file("lathe.db"));
  importInto(store, {write("x.log", {line().dump()})});
  auto records = store.tuning();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].samples, (std::vector<int64_t>{4500000, 3500000, 4600000}));
  EXPECT_DOUBLE_EQ(records[0].seconds.value_or(0), 0.0042);
  EXPECT_EQ(records[0].measured, "2023-02-14T03:19:19.520081Z");
}

TEST_F(AutoTvmTest, otherLinesAreOneError) {
  EXPECT_THAT(refused("nonsense"), HasSubstr("is not a line of a log of AutoTVM"));
  EXPECT_THAT(refused(line().dump().substr(0, 200)), HasSubstr("is not a line of a log of AutoTVM"));
  auto changed = [&](auto change) {
    json document = line();
    change(document);
    return refused(document.dump());
  };
  EXPECT_THAT(changed([](json &l) { l["version"] = 0.1; }), HasSubstr("is of version 0.1 of the log, expected 0.2"));
  EXPECT_THAT(changed([](json &l) { l.erase("config"); }), HasSubstr("'config' is missing"));
  EXPECT_THAT(changed([](json &l) { l["config"].erase("entity"); }), HasSubstr("'entity' is missing"));
  EXPECT_THAT(changed([](json &l) { l["config"]["entity"][0] = 3; }), HasSubstr("knob 3 is not [name, kind, value]"));
  EXPECT_THAT(changed([](json &l) { l["input"].erase(3); }), HasSubstr("'input' has 3 entries, expected 4"));
  EXPECT_THAT(changed([](json &l) { l["input"][0] = nullptr; }), HasSubstr("the target is null, expected a text"));
  EXPECT_THAT(changed([](json &l) { l["input"][2] = "x"; }), HasSubstr("arguments of the task are string"));
  EXPECT_THAT(changed([](json &l) { l["result"] = 7; }), HasSubstr("'result' is number, expected a list"));
  EXPECT_THAT(changed([](json &l) { l["result"][1] = 9; }), HasSubstr("the error number is 9, expected 0 to 8"));
  EXPECT_THAT(changed([](json &l) { l["result"][0] = json::array(); }), HasSubstr("has no times"));
  EXPECT_THAT(changed([](json &l) { l["result"][0][1] = -1; }), HasSubstr("a time is -1 s"));
  EXPECT_THAT(changed([](json &l) { l["result"][0][1] = "x"; }), HasSubstr("a time is \"x\", expected a number"));
  EXPECT_THAT(changed([](json &l) { l["result"][3] = 1e300; }), HasSubstr("expected seconds since 1970"));
  EXPECT_THAT(changed([](json &l) { l["result"][2] = -1; }), HasSubstr("run_seconds is -1"));
  // Other files are not recognised as logs.
  Store store(file("lathe.db"));
  EXPECT_THAT(errorOf([&] { importInto(store, {write("other.log", {"{\"input\": 1}", line().dump()})}); }),
              HasSubstr("other.log: is not an archive of measurements"));
}

TEST_F(AutoTvmTest, linesArePoints) {
  json failed = line();
  failed["config"]["index"] = 173;
  failed["result"][0] = json::array({1e9});
  failed["result"][1] = 4;
  Store store(file("lathe.db"));
  ImportCounts counts = importInto(store, {write("x.log", {line().dump(), failed.dump()})});
  EXPECT_EQ(counts.experiments.added, 1u);
  EXPECT_EQ(counts.points.added, 2u);
  EXPECT_EQ(counts.samples, 3u);
  auto experiments = store.experiments();
  ASSERT_EQ(experiments.size(), 1u);
  EXPECT_EQ(experiments[0].experiment.kind, ExperimentKind::imported);
  EXPECT_EQ(experiments[0].passed, 0u); // they were not verified here
  auto points = store.points();
  ASSERT_EQ(points.size(), 2u);
  EXPECT_EQ(points[0].problem.op, "conv2d_NCHWc.x86");
  EXPECT_THAT(points[0].problem.text, testing::StartsWith("float32 1x3x224x224; float32 64x3x7x7; "));
  EXPECT_EQ(points[0].provider, "autotvm");
  EXPECT_EQ(points[0].status, PointStatus::notVerified);
  EXPECT_EQ(points[0].rounds[0][1].wallNs, 3500000);
  EXPECT_EQ(points[0].setting.extra.at("threads"), "not stated");
  EXPECT_EQ(points[1].status, PointStatus::crashed);
  EXPECT_EQ(points[1].reason, "runtime error on the device");
  EXPECT_EQ(points[1].sampleCount(), 0u);
}

TEST_F(AutoTvmTest, logsGrow) {
  Store store(file("lathe.db"));
  json second = line();
  second["config"]["index"] = 173;
  std::string path = write("x.log", {line().dump()});
  std::ofstream(path, std::ios::app) << second.dump().substr(0, 250);
  ImportCounts counts = importInto(store, {path});
  EXPECT_EQ(counts.points.added, 1u);
  ASSERT_EQ(counts.notes.size(), 1u);
  EXPECT_THAT(counts.notes[0], HasSubstr("x.log:2: the file ends in the middle of this line"));
  counts = importInto(store, {write("x.log", {line().dump(), second.dump()})});
  EXPECT_EQ(counts.experiments.added + counts.experiments.replaced, 0u);
  EXPECT_EQ(counts.points.added, 1u);
  EXPECT_EQ(counts.points.known, 1u);
  EXPECT_TRUE(counts.notes.empty());
}

TEST_F(AutoTvmTest, recordsAloneHaveNoPoints) {
  Store store(file("lathe.db"));
  ImportCounts counts = importInto(store, {write("x.log", {line().dump()})}, Imported::tuning);
  EXPECT_EQ(counts.tuning.added, 1u);
  EXPECT_EQ(counts.experiments.added + counts.points.added, 0u);
}
