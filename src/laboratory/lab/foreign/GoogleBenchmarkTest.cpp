// Documents in the form of Google Benchmark 1.7.1.
#include "lab/foreign/ForeignTesting.h"

using namespace lathe;
using namespace lathe::lab;
using nlohmann::json;
using store::PointStatus;
using testing::HasSubstr;

namespace {

class GoogleBenchmarkTest : public ForeignFolder {
protected:
  static json repetition(const std::string &name, double time, const std::string &unit = "ns") {
    return {{"name", name},       {"run_name", name},  {"run_type", "iteration"}, {"repetitions", 2}, {"threads", 1},
            {"iterations", 1000}, {"real_time", time}, {"cpu_time", time / 2},    {"time_unit", unit}};
  }
  static json aggregate(const std::string &name, const std::string &what, double time) {
    json entry = repetition(name, time);
    entry["name"] = name + "_" + what;
    entry["run_type"] = "aggregate";
    entry["aggregate_name"] = what;
    return entry;
  }
  /// With the context first, as the program writes it; this library sorts JSON.
  static std::string document(const std::vector<json> &benchmarks, bool contextFirst = true) {
    std::string context = R"("context": {"date": "2026-11-22T01:31:04+01:00", "host_name": "anvil",
      "executable": "./gb", "num_cpus": 8, "mhz_per_cpu": 2400, "cpu_scaling_enabled": false,
      "caches": [{"type": "Data", "level": 1, "size": 32768, "num_sharing": 2},
      {"type": "Instruction", "level": 1, "size": 32768, "num_sharing": 2},
      {"type": "Unified", "level": 2, "size": 1048576, "num_sharing": 2}],
      "load_avg": [0.5], "library_version": "v1.7.1", "library_build_type": "release"})";
    std::string list = "\"benchmarks\": " + json(benchmarks).dump();
    return "{\n" + (contextFirst ? context + ",\n" + list : list + ",\n" + context) + "\n}\n";
  }
};

TEST_F(GoogleBenchmarkTest, repetitionsAreSamples) {
  json counted = repetition("BM_Sum/64", 2.5, "us");
  counted["CYCLES"] = 9000.0;
  counted["items_per_second"] = 4e6;
  store::ImportCounts counts =
      import(write("g.json", document({repetition("BM_Sum/64", 1.5, "us"), counted, aggregate("BM_Sum/64", "mean", 2.0),
                                       aggregate("BM_Sum", "BigO", 1.0)})));
  EXPECT_EQ(counts.points.added, 1u);
  EXPECT_EQ(counts.notes.size(), 2u);
  EXPECT_THAT(counts.notes[0], HasSubstr("1 aggregate left out"));
  EXPECT_THAT(counts.notes[1], HasSubstr("1 row of BigO or RMS left out"));
  auto points = store.points();
  ASSERT_EQ(points.size(), 1u);
  EXPECT_EQ(points[0].problem.op, "benchmark");
  EXPECT_EQ(points[0].problem.text, "BM_Sum/64");
  EXPECT_EQ(points[0].status, PointStatus::notVerified);
  EXPECT_EQ(points[0].measured, "2026-11-22T00:31:04.000000Z");
  ASSERT_EQ(points[0].rounds.size(), 2u);
  EXPECT_EQ(points[0].rounds[0][0].wallNs, 1500);
  EXPECT_EQ(points[0].rounds[0][0].cpuNs, 750);
  EXPECT_EQ(points[0].rounds[1][0].cycles, 9000);
  EXPECT_EQ(points[0].figures.at("items_per_second"), 4e6);
  store::Platform platform = store.platform(store.experiments()[0].experiment.platform);
  EXPECT_EQ(platform.cpu, "unknown, host anvil, 2400 MHz");
  EXPECT_EQ(platform.hardwareThreads, 8);
  ASSERT_EQ(platform.caches.size(), 2u);
  EXPECT_EQ(platform.caches[1].bytes, 1048576);
  EXPECT_EQ(platform.libraries.at("google-benchmark"), "v1.7.1");
  EXPECT_EQ(import(file("g.json")).points.added, 0u);
}

TEST_F(GoogleBenchmarkTest, countersOfSomeRepetitions) {
  json some = repetition("a", 2000), others = some;
  some["hits"] = 2;
  others["hits"] = 4;
  import(write("g.json", document({repetition("a", 2000), some, others})));
  EXPECT_EQ(store.points().at(0).figures.at("hits"), 3); // the mean over repetitions that have it
}

/// The figure for a time below 1 us is the mean of all repetitions, including slower ones.
TEST_F(GoogleBenchmarkTest, exactTimesOfAllRepetitions) {
  import(write("g.json", document({repetition("a", 671.25), repetition("a", 2108.75), repetition("b", 1390)})));
  std::map<std::string, store::Point> points;
  store.points({}, true, [&](const store::Point &point) { points[point.problem.text] = point; });
  EXPECT_EQ(points.at("a").figures.at("real_time_ns"), 1390);
  EXPECT_EQ(points.at("a").sampleCount(), 2u);
  EXPECT_TRUE(points.at("b").figures.empty());
}

/// Our export writes the points of several experiments into one list.
TEST_F(GoogleBenchmarkTest, runsOfAnExportAreExperiments) {
  auto of = [](const std::string &experiment, double time) {
    json entry = repetition("a", time);
    entry["experiment"] = experiment;
    return entry;
  };
  store::ImportCounts counts = import(write("g.json", document({of("one", 2000), of("one", 2100), of("two", 5000)})));
  EXPECT_EQ(counts.experiments.added, 2u);
  EXPECT_EQ(counts.points.added, 2u);
  std::map<std::string, size_t> samples;
  store.points({}, true, [&](const store::Point &point) { samples[point.experiment] = point.sampleCount(); });
  ASSERT_EQ(samples.size(), 2u);
  EXPECT_EQ(samples.begin()->second + samples.rbegin()->second, 3u);
  EXPECT_EQ(import(file("g.json")).points.added, 0u);
}

TEST_F(GoogleBenchmarkTest, contextBehindTheBenchmarks) {
  import(write("g.json", document({repetition("a", 0.25)}, false)));
  auto points = store.points();
  ASSERT_EQ(points.size(), 1u);
  EXPECT_EQ(points[0].measured, "2026-11-22T00:31:04.000000Z");
  EXPECT_EQ(points[0].rounds[0][0].wallNs, 0); // whole nanoseconds
  EXPECT_EQ(points[0].figures.at("real_time_ns"), 0.25);
}

TEST_F(GoogleBenchmarkTest, meansAloneAreSamples) {
  store::ImportCounts counts =
      import(write("g.json", document({aggregate("a", "mean", 2000), aggregate("a", "stddev", 7)})));
  EXPECT_EQ(counts.samples, 1u);
  EXPECT_EQ(store.points().at(0).setting.extra.at("time"), "mean of 2 repetitions");
  EXPECT_THAT(counts.notes.at(0), HasSubstr("1 aggregate left out"));
}

TEST_F(GoogleBenchmarkTest, failuresHaveNoTime) {
  json failed = repetition("bad", 1), skipped = repetition("skipped", 1);
  failed["error_occurred"] = true;
  failed["error_message"] = "no such machine";
  skipped["skipped"] = true;
  skipped["skip_message"] = "not here";
  import(write("g.json", document({failed, skipped, repetition("bad", 1)})));
  std::map<std::string, store::Point> points;
  store.points({}, true, [&](const store::Point &point) { points[point.problem.text] = point; });
  EXPECT_EQ(points.at("bad").status, PointStatus::failed);
  EXPECT_EQ(points.at("bad").reason, "no such machine");
  EXPECT_EQ(points.at("bad").sampleCount(), 0u);
  EXPECT_EQ(points.at("skipped").status, PointStatus::unimplemented);
  EXPECT_EQ(points.at("skipped").reason, "not here");
}

TEST_F(GoogleBenchmarkTest, damageIsOneLine) {
  auto changed = [&](auto change) {
    json entry = repetition("a", 1);
    change(entry);
    return refused(document({entry}));
  };
  EXPECT_THAT(changed([](json &e) { e["real_time"] = -1; }), HasSubstr("'real_time' is -1"));
  EXPECT_THAT(changed([](json &e) { e["real_time"] = "x"; }), HasSubstr("'real_time' is string"));
  EXPECT_THAT(changed([](json &e) { e.erase("real_time"); }), HasSubstr("'real_time' is missing"));
  EXPECT_THAT(changed([](json &e) { e["time_unit"] = "weeks"; }), HasSubstr("'time_unit' is 'weeks'"));
  EXPECT_THAT(changed([](json &e) { e["threads"] = 0; }), HasSubstr("'threads' is 0, expected 1 to"));
  EXPECT_THAT(changed([](json &e) { e["run_name"] = ""; }), HasSubstr("the name of a benchmark is empty"));
  EXPECT_THAT(changed([](json &e) { e["CYCLES"] = -5; }), HasSubstr("'CYCLES' is -5"));
  EXPECT_THAT(changed([](json &e) { e = 3; }), HasSubstr("an element is number, expected an object"));
  EXPECT_THAT(refused("{\"context\": 3, \"benchmarks\": []}"), HasSubstr("'context' is number"));
  EXPECT_THAT(refused("{\"context\": {\"num_cpus\": -1}, \"benchmarks\": []}"), HasSubstr("'num_cpus' is -1"));
  EXPECT_THAT(refused("{\"context\": {}, \"benchmarks\": []}"), HasSubstr("has no measurement"));
  EXPECT_THAT(refused("{\"context\": {}, \"benchmarks\": [{\"a\": NaN}]}"), HasSubstr("is not valid JSON"));
}

TEST_F(GoogleBenchmarkTest, otherFormsAreNamed) {
  const char *csv = "name,iterations,real_time,cpu_time,time_unit,bytes_per_second\n\"BM_a/8\",100,2,2,ns,\n";
  const char *console = "2026-01-01T00:00:00+00:00\nRunning ./bench\n"
                        "-----------------------------------------------------\n"
                        "Benchmark           Time             CPU   Iterations\n"
                        "-----------------------------------------------------\n"
                        "BM_a/8           2.00 ns         2.00 ns          100\n";
  for (const char *text : {csv, console})
    EXPECT_THAT(refused(text), HasSubstr("is output of Google Benchmark as text or CSV, expected JSON"));
}

TEST_F(GoogleBenchmarkTest, filesThatAreWritten) {
  std::string text = document({repetition("a", 1000), repetition("b", 1000)});
  store::ImportCounts counts = import(write("g.json", text.substr(0, text.size() - 30)));
  EXPECT_EQ(counts.points.added, 1u);
  EXPECT_THAT(counts.notes.at(0), HasSubstr("the file ends in the middle of the list"));
  counts = import(write("g.json", text));
  EXPECT_EQ(counts.experiments.added, 0u);
  EXPECT_EQ(counts.points.added, 1u);
}

} // namespace
