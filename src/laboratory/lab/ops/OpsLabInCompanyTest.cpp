// Points that are measured alone and in turns beside a companion.
#include "lab/ops/OpsLabTesting.h"

#include "lab/StoreRecords.h"

#include <gtest/gtest.h>

using namespace lathe;
using namespace lathe::lab;

/// A setting with a companion, which may run on any CPU.
static OpsSetting besideFake(const std::string &how) {
  OpsSetting setting;
  Problem other = problem("ic3ih5oc4kh3ph1").problem;
  setting.beside = {{{other.str(), "companion:auto", 1, "cache", 3}, other, fake(how, "companion")}};
  return setting;
}

TEST(OpsLabInCompany, takesTurnsWithTheSameColumnAlone) {
  OpsLab bench({fake("company", "ours"), fake("company", "peer")}, enoughStarts());
  OpsRow row = bench.measure(problem(), besideFake("company"));
  ASSERT_EQ(row.points.size(), 4u); // alone first
  for (size_t i = 0; i < 4; ++i) {
    const OpsPoint &point = row.points[i];
    EXPECT_EQ(point.status, PointStatus::passed) << point.reason;
    EXPECT_EQ(point.company.empty(), i < 2);
    EXPECT_EQ(point.rounds.size(), 9u);
    EXPECT_EQ(point.besideRuns, std::vector<int64_t>(i < 2 ? 0 : 9, 4));
  }
  EXPECT_EQ(row.points[3].provider, "peer");
  ASSERT_EQ(row.verdicts.size(), 1u); // of columns alone
  EXPECT_EQ(row.verdicts[0].ours, 0u);
  EXPECT_EQ(row.verdicts[0].theirs, 1u);
  ASSERT_EQ(row.slowDowns.size(), 2u);
  EXPECT_NEAR(row.slowDowns[1].ratio.ratio, 2, 1e-6);
  EXPECT_EQ(row.slowDowns[1].together, 3u);
  EXPECT_EQ(row.slowDowns[1].alone, 1u);
  auto points = pointsOf(row);
  EXPECT_TRUE(points[0].setting.company.empty());
  EXPECT_TRUE(points[0].figures.empty());
  EXPECT_EQ(points[2].setting.company.str(), row.points[2].company.str());
  EXPECT_EQ(points[2].figures.at("companion_runs"), 36);
  EXPECT_GT(points[2].figures.at("companion_rate"), 0);
  auto document = toJson(row);
  EXPECT_EQ(document["slow_downs"][0]["verdict"], "slower");
  EXPECT_EQ(document["points"][2]["company"]["problem"], row.points[2].company.problem);
  EXPECT_FALSE(document["points"][0].contains("company"));
}

TEST(OpsLabInCompany, isMistrustedWithFewRunsOfTheCompanion) {
  OpsRow row = OpsLab({fake("lonely", "ours")}, enoughStarts()).measure(problem(), besideFake("company"));
  EXPECT_EQ(row.points[0].status, PointStatus::passed);
  EXPECT_EQ(row.points[1].status, PointStatus::mistrusted);
  EXPECT_NE(
      row.points[1].reason.find("0 runs of the companion ended within the timed runs of a start, expected at least 3"),
      std::string::npos)
      << row.points[1].reason;
  EXPECT_TRUE(row.slowDowns.empty());
  OpsSetting any = besideFake("company");
  any.beside[0].company.leastRuns = 0;
  row = OpsLab({fake("lonely", "ours")}, quick()).measure(problem(), any);
  EXPECT_EQ(row.points[1].status, PointStatus::passed);
}

TEST(OpsLabInCompany, checksTheCompanionToo) {
  auto reasonWith = [](const std::string &companion, const std::string &ours = "company") {
    OpsRow row = OpsLab({fake(ours, "ours")}, quick()).measure(problem(), besideFake(companion));
    EXPECT_FALSE(row.points[1].timed());
    EXPECT_NE(row.points[1].status, PointStatus::passed);
    return std::string(name(row.points[1].status)) + ": " + row.points[1].reason;
  };
  auto has = [](const std::string &text, const std::string &part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  has(reasonWith("accompany-wrong"), "failed: the companion conv x=");
  has(reasonWith("accompany-wrong"), "(companion:auto): relative L2");
  has(reasonWith("wrong"), "relative L2");
  has(reasonWith("accompany-crash"), "failed: the companion");
  has(reasonWith("prepare-crash"), "failed: the companion");
  has(reasonWith("decline"), "not on Sundays");
  has(reasonWith(""), "it cannot run without end");
  has(reasonWith("company", ""), "unimplemented: it does not count the runs of a companion");
  has(reasonWith("company", "decline"), "unimplemented: not on Sundays");
  has(reasonWith("company", "wrong"), "failed: ");
}

TEST(OpsLabInCompany, isVerifiedWithoutTimes) {
  OpsLabOptions options = quick();
  options.checkOnly = true;
  OpsRow row = OpsLab({fake("company")}, options).measure(problem(), besideFake("company"));
  EXPECT_EQ(row.points[1].status, PointStatus::passed) << row.points[1].reason;
  EXPECT_FALSE(row.points[1].timed());
}
