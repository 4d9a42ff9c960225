// Rows in company: no analysis compares or mixes them with rows alone, and their slow-downs are over the row alone of
// the same experiment.
#include "report/company/SlowDowns.h"

#include "report/Account.h"
#include "report/Best.h"
#include "report/Correlation.h"
#include "report/Diff.h"
#include "report/Network.h"
#include "report/PageColumns.h"
#include "report/PageData.h"
#include "report/ReportTesting.h"
#include "report/ScheduleGains.h"
#include "report/Speedup.h"
#include "report/Trend.h"
#include "report/TurningPoint.h"
#include "store/StoreTesting.h"

#include <gmock/gmock.h>

using namespace lathe;
using namespace lathe::report;

namespace {

const std::string small = convText(8, 8), large = convText(8, 16);

Row beside(Row row, const std::string &problem = "relu x=64") {
  row.setting.company = store::someCompany();
  row.setting.company.problem = problem;
  return row;
}

/// Company that makes the work faster, so that a mix would choose it.
std::vector<Row> mixed() {
  return {report::rowOf(small, "lathe:auto", 4e-3), report::rowOf(small, "onednn:auto", 5e-3),
          beside(report::rowOf(small, "lathe:auto", 1e-3)), beside(report::rowOf(small, "onednn:auto", 2e-3)),
          report::rowOf(large, "lathe:auto", 8e-3)};
}

} // namespace

TEST(Company, hasCellsOfItsOwn) {
  std::vector<Row> rows = mixed();
  EXPECT_EQ(byCell(rows).size(), 3u);
  EXPECT_EQ(byCell(rows, true).size(), 3u);
  EXPECT_EQ(latest(rows).size(), rows.size());
  Row later = beside(report::rowOf(small, "lathe:auto", 9e-3));
  later.measured = "2027-01-01T00:00:00.000000Z";
  rows.push_back(later);
  auto kept = latest(rows);
  ASSERT_EQ(kept.size(), 5u);
  EXPECT_DOUBLE_EQ(kept[0].median, 4e-3);
  EXPECT_DOUBLE_EQ(kept[2].median, 9e-3);
  EXPECT_NE(contextText(kept[0]), contextText(kept[2]));
  EXPECT_EQ(byCell({rows[2], beside(rows[0], "relu x=65")}).size(), 2u);
}

TEST(Company, isComparedWithItsOwnKindOnly) {
  std::vector<Row> rows = mixed();
  auto fastestRows = best(rows);
  ASSERT_EQ(fastestRows.size(), 3u);
  EXPECT_EQ(fastestRows[0].row, &rows[0]);
  EXPECT_EQ(fastestRows[0].second, &rows[1]);
  EXPECT_EQ(fastestRows[1].row, &rows[2]);
  Speedups over = speedups(rows, ColumnChoice::parse("onednn"));
  ASSERT_EQ(over.rows.size(), 2u);
  for (const Speedup &one : over.rows)
    EXPECT_EQ(one.row->inCompany(), one.baseline->inCompany());
  EXPECT_EQ(over.summaries.size(), 2u); // one mean for each kind
  std::vector<Row> scheduled = {rows[0], rows[2]};
  scheduled[1].setting.schedule = "direct/1 px=4";
  EXPECT_TRUE(scheduleGains(scheduled).rows.empty());
}

TEST(Company, doesNotMatchRowsAloneInADiff) {
  std::vector<Row> rows = mixed();
  Diff found = diff({rows[0]}, {rows[2]});
  EXPECT_EQ(found.onlyBefore, 1u);
  EXPECT_EQ(found.onlyAfter, 1u);
  EXPECT_TRUE(diff({rows[2]}, {rows[2]}).points[0].speed);
  EXPECT_EQ(diff({rows[2]}, {beside(rows[2], "relu x=65")}).onlyBefore, 1u);
}

TEST(Company, isInNoSumOfANetwork) {
  std::vector<Row> rows = mixed();
  std::vector<Part> parts = {{small, 2}, {large, 1}};
  for (const Estimate &estimate : estimates(rows, parts, {}))
    if (estimate.provider == "lathe")
      EXPECT_NEAR(estimate.seconds, 2 * 4e-3 + 8e-3, 1e-12);
  EXPECT_EQ(estimates(rows, parts, {}).size(), 3u);
  auto tables = convTables(rows, parts);
  ASSERT_EQ(tables.size(), 1u);
  EXPECT_EQ(tables[0].lines.size(), 2u);
  for (const ConvLine &line : tables[0].lines)
    EXPECT_FALSE(line.row->inCompany());
  AccountSources sources{[](auto &, int) { return Profile(); }, [](auto &, int) { return 1.0; },
                         [](auto &) { return 1e9; }};
  auto found = accounts(rows, parts, "lathe", sources);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NEAR(found[0].estimated(), 2 * 4e-3 + 8e-3, 1e-12);
}

TEST(Company, hasCorrelationsAndCurvesOfItsOwn) {
  std::vector<Row> rows;
  for (int channels : {8, 16, 32, 64})
    for (bool alone : {true, false}) {
      Row row = report::rowOf(convText(8, channels), "lathe", 1e-3 * channels);
      rows.push_back(alone ? row : beside(row));
    }
  for (const Correlation &correlation : correlations(rows))
    EXPECT_EQ(correlation.points, 4u) << correlation.context;
  for (const Curve &curve : curves(rows))
    EXPECT_EQ(curve.x.size(), 4u) << curve.context;
}

class CompanyInStores : public store::StoreFolder {};

TEST_F(CompanyInStores, trendsAndProfilesLeaveItOut) {
  store::Store store(file("a.db"));
  auto add = [&](store::ExperimentKind kind, bool alone, int64_t ns) {
    store::Point point = store::somePoint(store.addExperiment(store::someExperiment(kind), store::somePlatform()), 2);
    point.problem = {"model", "net, zeros", {}};
    point.setting = {};
    if (!alone)
      point.setting.company = store::someCompany();
    point.starts.clear();
    store::Sample sample;
    sample.wallNs = ns;
    point.rounds = {{sample, sample}};
    store.addPoint(point);
  };
  for (bool alone : {true, false}) { // company comes last
    add(store::ExperimentKind::profile, alone, alone ? 1000 : 100);
    add(store::ExperimentKind::bench, alone, alone ? 1000 : 100);
  }
  auto profile = lastProfile(store, "net", store::somePlatform().key(), 1);
  ASSERT_TRUE(profile);
  EXPECT_NEAR(profile->seconds, 1e-6, 1e-12);
  auto trends = trendsOf(store, {.points = {.kind = store::ExperimentKind::bench}});
  ASSERT_EQ(trends.size(), 2u);
  for (const TrendSeries &series : trends)
    EXPECT_EQ(series.observations.size(), 1u);
  EXPECT_NE(trends[0].setting.company.empty(), trends[1].setting.company.empty());
}

TEST_F(CompanyInStores, pagesHaveCellsOfItsOwn) {
  PageData data({.title = "t"});
  store::Experiment experiment = store::someExperiment();
  experiment.uuid = "e";
  experiment.platform = store::somePlatform().key();
  data.addPlatform(store::somePlatform(), nullptr);
  data.addExperiment(experiment);
  store::Point alone = store::somePoint("e", 1), together = alone;
  together.setting.company = store::someCompany();
  for (store::Point *point : {&alone, &together}) {
    point->measured = "2026-01-01T00:00:00.000000Z";
    data.addPoint(*point);
  }
  nlohmann::json document = data.document();
  ASSERT_EQ(document["settings"].size(), 2u);
  EXPECT_FALSE(document["settings"][0].contains("company"));
  EXPECT_EQ(document["settings"][1]["company"]["problem"], "relu x=64");
  EXPECT_NE(document["settings"][0]["text"], document["settings"][1]["text"]);
  const nlohmann::json &partners = document["points"]["pairs"]["partners"];
  EXPECT_EQ(partners, packed(std::vector<uint32_t>{1, 0})); // the slow-down is judged
  together.setting.threads = 7;
  together.measured = "2026-01-02T00:00:00.000000Z";
  data.addPoint(together); // has no point alone
  EXPECT_EQ(data.document()["points"]["pairs"]["partners"], packed(std::vector<uint32_t>{1, 0, 0}));
}

TEST(Company, slowDownsAreOverTheRowAloneOfTheSameExperiment) {
  auto made = [&](double seconds, const std::string &experiment, bool alone) {
    Row row = report::rowOf(small, "lathe:auto", seconds, 1, experiment);
    row.measured = experiment == "old" ? "2026-01-01T00:00:00.000000Z" : "2026-02-01T00:00:00.000000Z";
    return alone ? row : beside(row);
  };
  std::vector<Row> rows = {made(2e-3, "old", true), made(3e-3, "old", false),
                           beside(made(6e-3, "old", true), "relu x=65"), made(9e-3, "later, alone", true),
                           beside(report::rowOf(large, "lathe:auto", 1e-3, 1, "old"))};
  rows = withCompany(rows);
  EXPECT_EQ(rows.size(), 4u); // the later row alone belongs to no company
  auto found = slowDowns(rows);
  ASSERT_EQ(found.size(), 2u); // of `large` nothing alone is known
  EXPECT_NEAR(found[0].judged.ratio.ratio, 1.5, 1e-12);
  EXPECT_EQ(found[0].judged.verdict, lab::Verdict::slower);
  EXPECT_NEAR(found[1].judged.ratio.ratio, 3, 1e-12);
  EXPECT_EQ(toJson(found[0])["verdict"], "slower");
  EXPECT_NEAR(toJson(found[0])["alone_ms"].get<double>(), 2, 1e-9);
  auto matrices = matricesOf(found);
  ASSERT_EQ(matrices.size(), 1u);
  EXPECT_EQ(matrices[0].column, "lathe:auto");
  EXPECT_THAT(matrices[0].context, testing::Not(testing::HasSubstr("beside")));
  ASSERT_EQ(matrices[0].companies.size(), 2u);
  ASSERT_EQ(matrices[0].lines.size(), 1u);
  EXPECT_EQ(matrices[0].lines[0][1], &found[1]);
}

TEST(Company, mistrustedRowsHaveNoSlowDown) {
  std::vector<Row> rows = {report::rowOf(small, "lathe", 1e-3), beside(report::rowOf(small, "lathe", 2e-3))};
  EXPECT_EQ(slowDowns(rows).size(), 1u);
  rows[1].status = store::PointStatus::mistrusted;
  EXPECT_TRUE(slowDowns(rows).empty());
}
