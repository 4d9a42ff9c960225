#include "report/Diff.h"
#include "report/ReportTesting.h"

using namespace lathe;
using namespace lathe::report;

namespace {

const std::string a = convText(4, 8), b = convText(4, 16), c = convText(4, 32), d = convText(4, 64);

Row after(const std::string &problem, double seconds) { return report::rowOf(problem, "lathe", seconds, 1, "after"); }

TEST(Diff, judgesEveryPointOnBothSides) {
  std::vector<Row> before = {report::rowOf(a, "lathe", 1e-3), report::rowOf(b, "lathe", 1e-3),
                             report::rowOf(c, "lathe", 1e-3), report::rowOf(d, "lathe", 1e-3)};
  std::vector<Row> now = {after(d, 0), after(c, 1.001e-3), after(b, 2e-3), after(a, 0.5e-3),
                          after(convText(3, 3), 1e-3)};
  Diff found = diff(before, now);
  ASSERT_EQ(found.points.size(), 5u);
  EXPECT_EQ(found.points[0].verdict, lab::Verdict::faster);
  EXPECT_DOUBLE_EQ(found.points[0].speed->ratio, 2);
  EXPECT_EQ(found.points[1].verdict, lab::Verdict::slower);
  EXPECT_EQ(found.points[2].verdict, lab::Verdict::same);
  EXPECT_FALSE(found.points[3].speed);
  EXPECT_TRUE(found.points[3].broke());
  EXPECT_TRUE(found.points[3].statusChanged());
  EXPECT_FALSE(found.points[4].before);
  EXPECT_EQ(found.faster, 1u);
  EXPECT_EQ(found.slower, 1u);
  EXPECT_EQ(found.same, 1u);
  EXPECT_EQ(found.onlyAfter, 1u);
  EXPECT_EQ(found.onlyBefore, 0u);
  EXPECT_NEAR(found.geometricMean->ratio, std::cbrt(2 * 0.5 / 1.001), 1e-12);
  EXPECT_FALSE(diff({}, {}).geometricMean);
}

TEST(Diff, pointsWithAnotherSettingDoNotMatch) {
  std::vector<Row> before = {report::rowOf(a, "lathe", 1e-3)}, now = {after(a, 1e-3)};
  EXPECT_TRUE(diff(before, now).points[0].speed);
  now[0].setting.threads = 2;
  Diff found = diff(before, now);
  EXPECT_EQ(found.onlyBefore, 1u);
  EXPECT_EQ(found.onlyAfter, 1u);
  now[0].setting.threads = 1;
  now[0].setting.extra["instances"] = 2; // a run beside another one is not a single run
  EXPECT_FALSE(diff(before, now).points[0].speed);
  now[0].setting.extra.clear();
  now[0].platform = "another machine"; // comparing machines is allowed
  EXPECT_TRUE(diff(before, now).points[0].speed);
}

TEST(Diff, ofSamplesThatOverlapIsAmbiguous) {
  std::vector<Row> before = {report::rowOf(a, "lathe", 1e-3)}, now = {after(a, 1e-3)};
  for (size_t round = 0; round < before[0].rounds.size(); ++round) {
    before[0].rounds[round] = {1e-3 * double(1 + round / 2)};
    now[0].rounds[round] = {1.1e-3 * double(1 + round / 2)};
  }
  Diff found = diff(before, now);
  EXPECT_EQ(found.ambiguous, 1u);
  EXPECT_NEAR(found.points[0].speed->ratio, 1 / 1.1, 1e-12);
}

/// With so few starts no point is ever faster or slower, so a rule that needs this verdict is refused.
TEST(Diff, saysWhereAVerdictIsImpossible) {
  std::vector<Row> before = {report::rowOf(a, "lathe", 1e-3), report::rowOf(b, "lathe", 1e-3)};
  std::vector<Row> now = {after(a, 2e-3), after(b, 2e-3)};
  FailRule slower = FailRule::parse("slower:3%"), missing = FailRule::parse("missing");
  EXPECT_EQ(diff(before, now).tooFewStarts, 0u);
  for (auto starts : {std::vector<size_t>(), {6, 6}, {4, 4, 4}, {3, 3, 3, 3}}) {
    now[0].starts = starts;
    Diff found = diff(before, now);
    EXPECT_EQ(found.tooFewStarts, 1u);
    EXPECT_EQ(found.points[0].verdict, lab::Verdict::ambiguous);
    EXPECT_EQ(found.points[1].verdict, lab::Verdict::slower);
    EXPECT_NO_THROW(slower.requireDecidable(found)); // because of the other point
    now[1].starts = starts;
    found = diff(before, now);
    EXPECT_THROW(slower.requireDecidable(found), Error);
    EXPECT_NO_THROW(missing.requireDecidable(found));
    now[1].starts = before[1].starts;
  }
  EXPECT_NO_THROW(slower.requireDecidable(diff({}, now))); // no times on one side: other rules report this
}

TEST(Diff, rulesForFailing) {
  std::vector<Row> before = {report::rowOf(a, "lathe", 1e-3), report::rowOf(b, "lathe", 1e-3),
                             report::rowOf(c, "lathe", 1e-3)};
  std::vector<Row> now = {after(a, 1.04e-3), after(b, 0)};
  Diff found = diff(before, now);
  auto fails = [&](const char *rule) {
    std::string which;
    for (size_t i = 0; i < found.points.size(); ++i)
      if (FailRule::parse(rule).holds(found.points[i]))
        which += char('a' + i);
    return which;
  };
  EXPECT_EQ(fails("slower"), "a");
  EXPECT_EQ(fails("slower:3%"), "a");
  EXPECT_EQ(fails("slower:5%"), "");
  EXPECT_EQ(fails("failed"), "b");
  EXPECT_EQ(fails("missing"), "c");
  for (const char *wrong : {"", "fast", "slower:", "slower:3", "slower:-3%", "slower:x%", "failed:3%"})
    EXPECT_THROW(FailRule::parse(wrong), Error) << wrong;
}

} // namespace
