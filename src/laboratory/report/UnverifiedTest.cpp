// Points of other programs are compared with each other and marked, and do not count as evidence.
#include "report/Best.h"
#include "report/Diff.h"
#include "report/Network.h"
#include "report/ReportTesting.h"
#include "report/Speedup.h"

using namespace lathe;
using namespace lathe::report;

namespace {

/// A row of a file of another program.
Row imported(const std::string &problem, const std::string &provider, double seconds) {
  Row row = rowOf(problem, provider, seconds);
  row.kind = store::ExperimentKind::imported;
  row.tookTurns = false;
  row.status = store::PointStatus::notVerified;
  return row;
}

TEST(UnverifiedTest, columnsAreMarked) {
  Row row = imported(convText(8, 8), "benchdnn:jit", 1e-3);
  EXPECT_EQ(columnOf(row), "benchdnn:jit (not verified here)");
  row.setting.schedule = "direct/1 px=4";
  EXPECT_EQ(scheduledColumnOf(row), "benchdnn:jit:direct/1 px=4 (not verified here)");
  EXPECT_EQ(identityJson(row).at("verified_here"), false);
  Row ours = rowOf(convText(8, 8), "lathe:auto", 1e-3);
  EXPECT_EQ(columnOf(ours), "lathe:auto");
  EXPECT_FALSE(identityJson(ours).contains("verified_here"));
  EXPECT_EQ(unverifiedNote({row, ours}), "1 of 2 points not verified here: imported, measured by another program\n");
  EXPECT_EQ(unverifiedNote({ours}), "");
}

TEST(UnverifiedTest, theyAreComparedWithEachOtherOnly) {
  std::vector<Row> rows = {imported(convText(8, 8), "benchdnn:jit", 2e-3),
                           imported(convText(8, 8), "benchdnn:brg", 1e-3), rowOf(convText(8, 8), "lathe:auto", 4e-3)};
  std::vector<Best> found = best(rows);
  ASSERT_EQ(found.size(), 2u); // one cell for each kind of experiment
  EXPECT_EQ(columnOf(*found[0].row), "benchdnn:brg (not verified here)");
  EXPECT_EQ(columnOf(*found[1].row), "lathe:auto");
  Speedups over = speedups(rows, ColumnChoice::parse("benchdnn:jit"));
  ASSERT_EQ(over.rows.size(), 1u);
  EXPECT_EQ(columnOf(*over.rows[0].row), "benchdnn:brg (not verified here)");
}

TEST(UnverifiedTest, theyAreNeitherFailuresNorEvidence) {
  std::vector<Row> rows = {imported(convText(8, 8), "benchdnn:jit", 2e-3)};
  EXPECT_TRUE(failed(rows).empty());
  EXPECT_TRUE(estimates(rows, {{convText(8, 8), 1}}, {}).empty());
  EXPECT_EQ(estimates({rowOf(convText(8, 8), "lathe", 2e-3)}, {{convText(8, 8), 1}}, {}).size(), 2u);
  Row before = rowOf(convText(8, 8), "benchdnn:jit", 2e-3);
  DiffPoint point;
  point.before = &before;
  point.after = rows.data();
  EXPECT_FALSE(point.broke());
}

} // namespace
