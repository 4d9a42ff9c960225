#include "report/PlatformNames.h"
#include "report/ReportTesting.h"

#include "lab/StoreRecords.h"
#include "report/Best.h"
#include "report/Counted.h"
#include "report/Network.h"
#include "report/RooflineShares.h"
#include "report/ScheduleGains.h"
#include "report/Speedup.h"
#include "store/Archive.h"
#include "store/StoreTesting.h"

using namespace lathe;
using namespace lathe::report;

namespace {

const std::string small = convText(4, 8), large = convText(8, 16);

TEST(Rows, knowWhatTheirProblemAsksFor) {
  Row row = report::rowOf(small, "lathe:auto", 1e-3);
  EXPECT_DOUBLE_EQ(row.flops, 2.0 * 8 * 4 * 22 * 22);
  EXPECT_DOUBLE_EQ(row.bytes, 4.0 * (4 * 64 + 8 * 4 * 9 + 8 * 64));
  EXPECT_DOUBLE_EQ(row.median, 1e-3);
  EXPECT_TRUE(row.counts());
  EXPECT_FALSE(report::rowOf(small, "lathe", 0).counts());
  Row unknown = report::rowOf("conv of another time", "lathe", 1e-3);
  EXPECT_FALSE(unknown.shape);
  EXPECT_TRUE(unknown.counts());
}

TEST(Rows, theLastMeasurementOfAKeyStays) {
  Row old = report::rowOf(small, "lathe", 1e-3), other = report::rowOf(small, "lathe", 5e-3, 2);
  Row recent = report::rowOf(small, "lathe", 2e-3);
  recent.measured = "2026-01-02T00:00:00.000000Z";
  for (auto rows : {std::vector{old, other, recent}, std::vector{recent, other, old}}) {
    rows = latest(rows);
    ASSERT_EQ(rows.size(), 2u);
    EXPECT_DOUBLE_EQ(rows[0].median, 2e-3);
    EXPECT_EQ(rows[1].setting.threads, 2);
  }
}

TEST(Rows, differentCircumstancesAreDifferentCells) {
  Row row = report::rowOf(small, "lathe", 1e-3);
  auto differs = [&](auto change) {
    Row other = row;
    change(other);
    return byCell({row, other}).size() == 2;
  };
  EXPECT_TRUE(differs([](Row &r) { r.platform = "q"; }));
  EXPECT_TRUE(differs([](Row &r) { r.kind = store::ExperimentKind::tune; }));
  EXPECT_TRUE(differs([](Row &r) { r.setting.threads = 2; }));
  EXPECT_TRUE(differs([](Row &r) { r.setting.cache = store::CacheState::cold; }));
  EXPECT_TRUE(differs([](Row &r) { r.setting.extra["instances"] = 2; }));
  EXPECT_TRUE(differs([](Row &r) { r.problem = large; }));
  EXPECT_FALSE(differs([](Row &r) { r.setting.schedule = "direct/1 px=4"; }));
  EXPECT_FALSE(differs([](Row &r) { r.provider = "onednn"; }));
  EXPECT_FALSE(differs([](Row &r) { r.experiment = "another"; }));
}

TEST(Roofline, ofKnownCeilings) {
  lab::MachineCeilings machine;
  machine.cpu = "Some CPU";
  machine.cores = 4, machine.hardwareThreads = 8;
  machine.arithmetic = {{ElementType::f32, "fma", {100}}};
  machine.levels = {{"memory", 0, 1, {{10, 10, 10}}}};
  std::vector<Row> rows = {report::rowOf(small, "lathe", 1e-6), report::rowOf(large, "lathe", 0)};
  auto shares = rooflineShares(rows, [&](auto &platform) { return platform == "p" ? &machine : nullptr; });
  ASSERT_EQ(shares.size(), 1u);
  double flops = 2.0 * 8 * 4 * 22 * 22, bytes = 4.0 * (4 * 64 + 8 * 4 * 9 + 8 * 64);
  EXPECT_NEAR(shares[0].gflops, flops * 1e-3, 1e-9);
  EXPECT_NEAR(shares[0].gbytesPerSecond, bytes * 1e-3, 1e-9);
  EXPECT_DOUBLE_EQ(shares[0].intensity, flops / bytes);
  ASSERT_TRUE(shares[0].limit);
  EXPECT_EQ(shares[0].limit->bound, "memory"); // 31.0 kFLOP at 100 GFLOPS against 4.2 kB at 10 GB/s
  EXPECT_NEAR(shares[0].limit->share, bytes / 10e9 / 1e-6, 1e-9);
  EXPECT_FALSE(rooflineShares(rows, [](auto &) { return nullptr; })[0].limit);

  store::Platform platform = store::somePlatform();
  EXPECT_TRUE(isMachine(platform, machine));
  platform.hardwareThreads = 4;
  EXPECT_FALSE(isMachine(platform, machine));
}

TEST(Counted, whatARunCost) {
  store::Point point;
  point.experiment = "e";
  point.problem = {"conv", convText(16, 16), {}};
  point.provider = "lathe";
  point.status = store::PointStatus::passed;
  // Two threads at 3 GHz; in the second round other programs used the counters.
  point.rounds = {{{1000, 2000, 6000, 12000, 5, 3000000}}, {{1000, 1000, {}, {}, {}, {}}}};
  std::vector<Row> rows = {rowOf(point, ofKind(store::ExperimentKind::ops)), rowOf(convText(16, 16), "other", 1e-3)};
  auto costs = counted(rows);
  ASSERT_EQ(costs.size(), 1u); // the other point has no counts
  EXPECT_NEAR(costs[0].row->processors.value_or(0), 1.5, 1e-12);
  EXPECT_NEAR(costs[0].instructionsPerCycle.value_or(0), 2, 1e-12);
  EXPECT_NEAR(costs[0].row->gigahertz.value_or(0), 3, 1e-12);
  EXPECT_NEAR(costs[0].flopsPerCycle.value_or(0), rows[0].flops / 6000, 1e-9);
  EXPECT_EQ(costs[0].row->cacheMisses, 5);
  point.rounds = {{{1000, 900, {}, {}, {}, {}}}};
  rows = {rowOf(point, ofKind(store::ExperimentKind::ops))};
  EXPECT_FALSE(rows[0].gigahertz || counted(rows).at(0).instructionsPerCycle);
}

TEST(Speedup, overABaselineWithTheGeometricMean) {
  std::vector<Row> rows = {
      report::rowOf(small, "lathe:auto", 1e-3),  report::rowOf(small, "lathe:plain", 2e-3),
      report::rowOf(small, "onednn:auto", 4e-3), report::rowOf(small, "onednn:winograd", 8e-3),
      report::rowOf(large, "lathe:auto", 1e-3),  report::rowOf(large, "onednn:auto", 16e-3),
      report::rowOf(large, "lathe:plain", 0),    report::rowOf(convText(3, 3), "lathe:auto", 1e-3),
  };
  Speedups found = speedups(rows, ColumnChoice::parse("onednn"));
  ASSERT_EQ(found.rows.size(), 4u); // includes winograd; excludes the cell without baseline
  EXPECT_DOUBLE_EQ(found.rows[0].ratio.ratio, 4);
  EXPECT_EQ(found.rows[2].row->variant, "winograd");
  EXPECT_DOUBLE_EQ(found.rows[2].ratio.ratio, 0.5);
  std::map<std::string, SpeedupSummary> summaries;
  for (auto &summary : found.summaries)
    summaries[summary.column] = summary;
  EXPECT_EQ(summaries.size(), 4u); // two columns of ours, our best, winograd
  EXPECT_NEAR(summaries.at("lathe:auto").geometricMean.ratio, 8, 1e-12);
  EXPECT_NEAR(summaries.at("lathe:auto").geometricMean.interval.low, 4, 1e-12);
  EXPECT_NEAR(summaries.at("lathe:auto").geometricMean.interval.high, 16, 1e-12);
  EXPECT_EQ(summaries.at("lathe:plain").problems, 1u);
  EXPECT_NEAR(summaries.at("lathe").geometricMean.ratio, 8, 1e-12);
  // A specific variant as the baseline.
  EXPECT_DOUBLE_EQ(speedups(rows, ColumnChoice::parse("onednn:winograd")).rows[0].ratio.ratio, 8);
  EXPECT_TRUE(speedups(rows, ColumnChoice::parse("eigen")).rows.empty());
  // A variant that equals another one was timed under the other's name.
  rows[1].status = store::PointStatus::sameAs;
  rows[1].reason = "lathe:auto";
  rows[1].median = 0;
  Speedups same = speedups(rows, ColumnChoice::parse("lathe:plain"));
  EXPECT_EQ(same.rows.at(0).baseline, &rows[0]);
  EXPECT_NE(same.rows.at(0).row, &rows[0]);
}

TEST(Speedup, whatCallsCostIsInNoMean) {
  std::vector<Row> rows = {report::rowOf(small, "lathe:auto", 1e-6), report::rowOf(small, "onnxruntime", 14e-6),
                           report::rowOf(large, "lathe:auto", 100e-6), report::rowOf(large, "onnxruntime", 200e-6)};
  for (Row &row : rows)
    row.callSeconds = row.provider == "lathe" ? 1e-7 : 13e-6;
  Speedups found = speedups(rows, ColumnChoice::parse("onnxruntime"));
  ASSERT_EQ(found.rows.size(), 2u);
  EXPECT_TRUE(found.rows[0].withinOverhead);
  EXPECT_FALSE(found.rows[1].withinOverhead);
  ASSERT_EQ(found.summaries.size(), 1u);
  EXPECT_EQ(found.summaries[0].problems, 1u);
  EXPECT_DOUBLE_EQ(found.summaries[0].geometricMean.ratio, 2);
  EXPECT_EQ(judgeTimes(rows[1], rows[0]).verdict, lab::Verdict::ambiguous);
  EXPECT_EQ(judgeTimes(rows[3], rows[2]).verdict, lab::Verdict::faster);
}

TEST(Speedup, theBaselineIsWrittenProviderVariantSchedule) {
  ColumnChoice choice = ColumnChoice::parse("lathe:auto:direct/1 px=4");
  EXPECT_EQ(choice.str(), "lathe:auto:direct/1 px=4");
  Row row = report::rowOf(small, "lathe:auto", 1);
  EXPECT_FALSE(choice.matches(row));
  row.setting.schedule = "direct/1 px=4";
  EXPECT_TRUE(choice.matches(row));
  EXPECT_TRUE(ColumnChoice::parse("lathe").matches(row));
  EXPECT_FALSE(ColumnChoice::parse("lathe:plain").matches(row));
  EXPECT_THROW(ColumnChoice::parse(":auto"), Error);
  EXPECT_THROW(ColumnChoice::parse("lathe@"), Error);
  EXPECT_EQ(ColumnChoice::parse("lathe:auto@EPYC").str(), "lathe:auto@EPYC");
  EXPECT_FALSE(ColumnChoice::parse("lathe@EPYC").matches(row)); // the platform has no name
}

TEST(Best, andHowOften) {
  std::vector<Row> rows = {report::rowOf(small, "lathe:auto", 1e-3),    report::rowOf(small, "onednn:auto", 2e-3),
                           report::rowOf(large, "lathe:auto", 2e-3),    report::rowOf(large, "onednn:auto", 1.999e-3),
                           report::rowOf(small, "lathe:auto", 3e-3, 2), report::rowOf(large, "eigen", 0, 2)};
  rows[0].implementation = "winograd/1 m=4 blocked";
  auto found = best(rows);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].row->provider, "lathe");
  EXPECT_EQ(found[0].second->provider, "onednn");
  EXPECT_DOUBLE_EQ(found[0].ratio.ratio, 2);
  EXPECT_EQ(found[0].verdict, lab::Verdict::faster);
  EXPECT_EQ(found[1].row->provider, "onednn");
  EXPECT_EQ(found[1].verdict, lab::Verdict::same);
  EXPECT_FALSE(found[2].second);
  EXPECT_EQ(toJson(found[0])["ambiguous_because"], "");
  rows[1].starts.clear(); // one start
  EXPECT_EQ(toJson(best(rows)[0])["verdict"], "ambiguous");
  EXPECT_EQ(toJson(best(rows)[0])["ambiguous_because"], "too few starts");
  auto counts = countBest(found);
  EXPECT_EQ(counts[0].what, "lathe:auto");
  EXPECT_EQ(counts[0].best, 2u);
  EXPECT_EQ(counts[0].clearly, 2u);
  EXPECT_EQ(counts[1].what, "lathe:auto winograd/1");
  EXPECT_EQ(counts[2].what, "onednn:auto");
  EXPECT_EQ(counts[2].clearly, 0u);
}

TEST(Failed, hasWhatIsBrokenButNotWhatIsDeclined) {
  std::vector<Row> rows = {report::rowOf(small, "a", 1e-3), report::rowOf(small, "b", 0), report::rowOf(small, "c", 0),
                           report::rowOf(small, "d", 0), report::rowOf(small, "e", 0)};
  rows[2].status = store::PointStatus::unimplemented;
  rows[3].status = store::PointStatus::sameAs;
  rows[4].status = store::PointStatus::timedOut;
  auto found = failed(rows);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0]->provider, "b");
  EXPECT_EQ(found[1]->provider, "e");
  EXPECT_EQ(failedJson(*found[1])["status"], "timed_out");
  EXPECT_EQ(failedJson(*found[0])["reason"], "wrong");
}

TEST(Network, theEstimateIsTheSumOfCountTimesBest) {
  std::string odd = convText(3, 5);
  std::vector<Row> rows = {report::rowOf(small, "lathe:auto", 1e-3), report::rowOf(small, "lathe:plain", 5e-3),
                           report::rowOf(small, "onednn", 2e-3),     report::rowOf(large, "lathe:auto", 4e-3),
                           report::rowOf(large, "onednn", 3e-3),     report::rowOf(odd, "onednn", 0)};
  std::vector<Part> parts = {{small, 3}, {large, 2}};
  auto found = estimates(
      rows, parts, [](const Estimate &e) { return e.setting.threads == 1 ? std::optional(10e-3) : std::nullopt; });
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].provider, "");
  EXPECT_NEAR(found[0].seconds, 3 * 1e-3 + 2 * 3e-3, 1e-12);
  EXPECT_NEAR(*found[0].difference, -0.1, 1e-9);
  EXPECT_EQ(found[1].provider, "lathe");
  EXPECT_NEAR(found[1].seconds, 3 * 1e-3 + 2 * 4e-3, 1e-12);
  EXPECT_NEAR(*found[1].difference, 0.1, 1e-9);
  EXPECT_NEAR(found[2].seconds, 3 * 2e-3 + 2 * 3e-3, 1e-12);
  EXPECT_EQ(found[2].counted, 5);
  parts.push_back({odd, 4});
  found = estimates(rows, parts, {});
  ASSERT_EQ(found[2].missing.size(), 1u);
  EXPECT_EQ(found[2].missing[0].problem, odd);
  EXPECT_EQ(found[2].missing[0].count, 4);
  EXPECT_FALSE(found[2].difference);
}

TEST(Network, theTableOfConvolutions) {
  std::vector<Row> rows = {report::rowOf(small, "lathe", 1e-3), report::rowOf(large, "lathe", 2e-3),
                           report::rowOf(large, "onednn", 1.5e-3), report::rowOf("relu x=8x8", "lathe", 1)};
  auto tables = convTables(rows, {{small, 9}, {large, 2}, {convText(3, 5), 1}, {"relu x=8x8", 1}});
  ASSERT_EQ(tables.size(), 1u);
  auto &lines = tables[0].lines;
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0].problem, small);
  EXPECT_EQ(lines[0].input, "1x4x8x8");
  EXPECT_EQ(lines[0].kernel, "8x4x3x3");
  EXPECT_EQ(lines[0].stride, "1x1");
  EXPECT_NEAR(lines[0].total, 9e-3, 1e-12);
  EXPECT_NEAR(lines[0].share, 0.75, 1e-12);
  EXPECT_EQ(lines[1].row->provider, "onednn");
  EXPECT_NEAR(lines[1].share, 0.25, 1e-12);
  EXPECT_FALSE(lines[2].row);
  EXPECT_EQ(convTables(rows, {})[0].lines.size(), 2u);
}

TEST(PlatformNames, areShortAndDifferent) {
  auto named = [](std::vector<store::Platform> list) {
    std::map<std::string, store::Platform> platforms;
    for (size_t i = 0; i < list.size(); ++i)
      platforms[fmt::format("key-{}", i)] = list[i];
    std::vector<std::string> names;
    for (auto &[key, name] : platformNames(platforms))
      names.push_back(name);
    return names;
  };
  auto of = [](const char *cpu, int threads = 2, const char *governor = "") {
    store::Platform platform;
    platform.cpu = cpu;
    platform.hardwareThreads = threads;
    platform.governor = governor;
    return platform;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(named({of("AMD EPYC 9755 128-Core Processor"), of("Intel(R) Xeon(R) CPU E5-2680 v4 @ 2.40GHz"),
                   of("unknown (benchdnn)"), of("Cortex-A76")}),
            (Names{"EPYC 9755", "Xeon E5-2680 v4", "unknown (benchdnn)", "Cortex-A76"}));
  EXPECT_EQ(named({of("AMD X 1"), of("AMD X 1", 4)}), (Names{"X 1, 2 threads", "X 1, 4 threads"}));
  EXPECT_EQ(named({of("X", 2, "powersave"), of("X", 2, "performance")}), (Names{"X, powersave", "X, performance"}));
  EXPECT_EQ(named({of("X"), of("X")}), (Names{"X (key-0)", "X (key-1)"}));
  EXPECT_EQ(named({of("CPU")}), Names{"CPU"});
}

class FromStore : public store::StoreFolder {};

TEST_F(FromStore, rowsAreWhatWasKept) {
  store::Store store(file("a.db"));
  for (const char *cpu : {"One CPU", "Other CPU"}) {
    std::string experiment = store.addExperiment(store::someExperiment(), store::somePlatform(cpu));
    store::Point point = store::somePoint(experiment, 1, 6);
    point.problem = {"conv", small, {}};
    for (int number = 0; auto &round : point.rounds)
      for (auto &sample : round)
        sample.wallNs = 1000 * (cpu[1] == 'n' ? 1 : 2) + number++ % 2;
    store.addPoint(point);
  }
  auto rows = rowsOf(store, {});
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_NEAR(rows[0].median, 1000.5e-9, 1e-15);
  EXPECT_NEAR(rows[1].median, 2000.5e-9, 1e-15);
  EXPECT_EQ(rows[0].rounds.size(), 6u);
  EXPECT_TRUE(rows[0].shape);
  EXPECT_EQ(rows[0].implementation, "direct/1 px=14 oc=2");
  EXPECT_EQ(rows[0].platformName, "One");
  EXPECT_EQ(rows[1].platformName, "Other");
  // With a baseline on one platform, rows of all platforms are compared with it, and never in turns.
  Speedups across = speedups(rows, ColumnChoice::parse(rows[0].provider + "@oTHer"));
  ASSERT_EQ(across.rows.size(), 1u);
  EXPECT_EQ(across.rows[0].row, &rows[0]);
  EXPECT_EQ(across.rows[0].baseline, &rows[1]);
  EXPECT_NEAR(across.rows[0].ratio.ratio, 2000.5 / 1000.5, 1e-9);
  EXPECT_TRUE(speedups(rows, ColumnChoice::parse(rows[0].provider + "@third")).rows.empty());
  EXPECT_EQ(speedups(rows, ColumnChoice::parse(rows[0].provider + "@" + rows[1].platform.substr(0, 8))).rows.size(),
            1u);
  EXPECT_EQ(byCell(rows).size(), 2u); // cells of different machines are not compared
  EXPECT_EQ(best(rows).size(), 2u);
  EXPECT_EQ(rowsOf(store, {.experiments = {rows[1].experiment}}).size(), 1u);
  EXPECT_EQ(rowsOf(store, {.experiments = {rows[1].experiment}})[0].platformName, "");
}

TEST_F(FromStore, anArchiveAndResultsHoldTheSameRows) {
  store::Store store(file("a.db"));
  std::string experiment = store.addExperiment(store::someExperiment(), store::somePlatform());
  store::Point point = store::somePoint(experiment, 1, 2, 2);
  lab::Problem problem = lab::Problem::parse(small);
  point.problem = {"conv", small, toJson(problem)};
  point.setting = {};
  lab::setResources(point, "cpus 0", {{"cpus", "0"}});
  point.rounds[0][0].wallNs = 1001, point.rounds[0][1].wallNs = 1003;
  point.rounds[1][0].wallNs = 1005, point.rounds[1][1].wallNs = 1007;
  store.addPoint(point);
  store::exportArchive(store, {}, file("a.jsonl"));
  nlohmann::json result = {
      {"provider", "lathe"}, {"variant", "auto"}, {"status", "passed"}, {"rounds_ns", {{1001, 1003}, {1005, 1007}}}};
  result["counts"] = nlohmann::json::array({{{"cpu_ns", 8016}, {"cycles", 16032}}, {{"cpu_ns", 8016}}});
  nlohmann::json results = {{"problem", toJson(problem)}, {"threads", 1}, {"points", nlohmann::json::array({result})}};
  results.update({{"resources", "cpus 0"}, {"held", {{"cpus", "0"}}}});
  auto kept = rowsOf(store, {}), archived = rowsOfArchive(file("a.jsonl"));
  auto written = rowsOfResults({{"rows", nlohmann::json::array({results})}}, "results.json");
  ASSERT_EQ(archived.size(), 1u);
  ASSERT_EQ(written.size(), 1u);
  EXPECT_EQ(archived[0].rounds, kept[0].rounds);
  EXPECT_EQ(written[0].rounds, kept[0].rounds);
  EXPECT_NEAR(written[0].cpuSeconds.value_or(0), 4008e-9, 1e-15);
  EXPECT_NEAR(written[0].cycles.value_or(0), 8016, 1e-9);
  EXPECT_EQ(cellOf(archived[0]), cellOf(kept[0]));
  written[0].platform = kept[0].platform; // results do not state the platform
  EXPECT_EQ(keyOf(written[0]), keyOf(kept[0]));
  EXPECT_THROW(rowsOfResults({{"other", 1}}, "other.json"), Error);
}

TEST(ScheduleGains, overTheDefaultOfEachColumn) {
  auto withSchedule = [](Row row, const char *schedule) {
    row.setting.schedule = schedule;
    return row;
  };
  Row found = withSchedule(report::rowOf(small, "lathe:auto", 1e-3), "records");
  found.implementation = "direct/1 px=4 nchw to nchw";
  Row same = withSchedule(report::rowOf(large, "lathe:auto", 0), "records");
  same.status = store::PointStatus::sameAs;
  std::vector<Row> rows = {report::rowOf(small, "lathe:auto", 2e-3),
                           found,
                           withSchedule(report::rowOf(small, "lathe:auto", 3e-3), "direct/1 px=2"),
                           report::rowOf(small, "onednn:auto", 5e-4), // it has only its own schedule
                           report::rowOf(large, "lathe:auto", 4e-3),
                           same,
                           withSchedule(report::rowOf(large, "lathe:plain", 1e-3), "direct/1 px=2")}; // no default
  ScheduleGains gains = scheduleGains(rows);
  ASSERT_EQ(gains.rows.size(), 2u);
  EXPECT_EQ(gains.rows[0].best, &rows[1]);
  EXPECT_EQ(gains.rows[0].standard, &rows[0]);
  EXPECT_DOUBLE_EQ(gains.rows[0].ratio.ratio, 2);
  EXPECT_EQ(gains.rows[0].verdict, lab::Verdict::faster);
  EXPECT_EQ(gains.rows[0].schedules, 3u);
  EXPECT_EQ(scheduleOf(*gains.rows[0].best), found.implementation);
  EXPECT_EQ(scheduledColumnOf(*gains.rows[0].best), "lathe:auto:records");
  EXPECT_TRUE(gains.rows[1].isDefault());
  EXPECT_EQ(gains.rows[1].ratio.ratio, 1);
  ASSERT_EQ(gains.summaries.size(), 1u);
  EXPECT_EQ(gains.summaries[0].problems, 2u);
  EXPECT_EQ(gains.summaries[0].better, 1u);
  EXPECT_NEAR(gains.summaries[0].geometricMean.ratio, std::sqrt(2.0), 1e-12);
}

} // namespace
