#include "lab/StoreRecords.h"

#include <gtest/gtest.h>

using namespace lathe;
using namespace lathe::lab;

TEST(StoreRecords, thisMachine) {
  store::Platform platform = platformHere();
  EXPECT_FALSE(platform.cpu.empty());
  EXPECT_GE(platform.cores, 1);
  EXPECT_GE(platform.hardwareThreads, platform.cores);
  EXPECT_GE(platform.memoryBytes, int64_t(64) << 20);
  EXPECT_EQ(platform.memoryBytes % (64 << 20), 0);
  EXPECT_FALSE(platform.compiler.empty());
  EXPECT_FALSE(platform.libraries["llvm"].empty());
  EXPECT_EQ(platform.key(), platformHere().key()); // the same each time
  platform.governor += "!";
  EXPECT_NE(platform.key(), platformHere().key());
}

static OpsPoint opsPoint(const std::string &variant, PointStatus status) {
  OpsPoint point;
  point.provider = "lathe";
  point.variant = variant;
  point.version = "0.1.0";
  point.status = status;
  return point;
}

TEST(StoreRecords, pointsOfARow) {
  OpsRow row;
  row.listed.problem = Problem::parse("relu x=2x3:f32");
  row.setting = {2, store::CacheState::cold};
  row.otherProcessors = 0.25;
  row.points = {opsPoint("auto", PointStatus::passed), opsPoint("plain", PointStatus::crashed)};
  row.points[0].implementation = "map/1";
  row.points[0].prepareSeconds = 0.5;
  row.points[0].callSeconds = 1e-6;
  row.points[0].relativeL2 = 1e-7;
  row.points[0].rounds = {{1.5e-6, 2e-6}, {1.4999e-6}, {1e-6}};
  row.points[0].counts.resize(3);
  row.points[0].counts[0] = {.cpuNs = 4001, .cycles = 12002, .instructions = {}, .cacheMisses = 3};
  row.starts = {2, 3}; // the second start has one round less: another column needed more time
  row.points[1].reason = "signal 11";
  auto points = pointsOf(row);
  ASSERT_EQ(points.size(), 2u);
  for (auto &point : points) {
    EXPECT_EQ(point.problem.op, "relu");
    EXPECT_EQ(Problem::parse(point.problem.text).str(), row.listed.problem.str());
    EXPECT_EQ(point.setting.threads, 2);
    EXPECT_EQ(point.setting.cache, store::CacheState::cold);
    EXPECT_EQ(point.setting.type, "f32");
    EXPECT_EQ(point.disturbance.otherProcessors, 0.25);
    point.experiment = "some experiment";
    point.measured = "2026-11-22T00:31:04.000000Z";
    EXPECT_NO_THROW(check(point));
  }
  EXPECT_EQ(points[0].rounds[0][1].wallNs, 2000);
  EXPECT_EQ(points[0].rounds[1][0].wallNs, 1500);
  EXPECT_EQ(points[0].rounds[0][1], (store::Sample{2000, 2001, 6001, {}, 2, 2999750})); // shares of the round
  EXPECT_EQ(points[0].rounds[1][0], (store::Sample{1500, {}, {}, {}, {}, {}}));
  EXPECT_EQ(points[0].starts, (std::vector<size_t>{2, 1}));
  EXPECT_TRUE(points[1].starts.empty());
  EXPECT_EQ(points[0].relativeL2, 1e-7);
  EXPECT_EQ(points[0].prepareSeconds, 0.5);
  EXPECT_EQ(points[0].callSeconds, 1e-6);
  EXPECT_EQ(points[1].status, PointStatus::crashed);
  EXPECT_EQ(points[1].reason, "signal 11");
  EXPECT_FALSE(points[1].relativeL2);
  EXPECT_FALSE(points[1].prepareSeconds);
  EXPECT_NE(points[0].key(), points[1].key());
}

namespace {
/// Three sides with times; the peers' agreement is set by each test.
struct ThreeSides : testing::Test {
  ThreeSides() {
    for (const char *name : {"lathe", "onnxruntime", "reference"}) {
      SideResult side;
      side.name = name;
      side.version = "1.0";
      side.rounds = {{1e-3, 2e-3}};
      comparison.sides.push_back(side);
    }
    for (size_t peer : {1, 2})
      comparison.peers.push_back({peer, {output(1e-7, 2e-7, "")}, true, std::nullopt});
  }
  /// An output that agrees if `reason` is empty.
  static Agreement output(double relativeL2, double maxDifference, const char *reason) {
    Agreement output;
    output.output = "prob";
    output.relativeL2 = relativeL2;
    output.maxDifference = maxDifference;
    output.agrees = !*reason;
    output.reason = reason;
    return output;
  }
  void disagree(size_t peer) {
    comparison.peers[peer].agrees = false;
    comparison.peers[peer].outputs[0] = output(0.3, 0.4, "relative L2 0.3");
  }
  std::vector<store::Point> points() {
    auto made = pointsOf(comparison, {"model", "net.onnx", {}}, {});
    for (store::Point &point : made) {
      point.experiment = "some experiment";
      point.measured = "2026-11-22T00:31:04.000000Z";
      EXPECT_NO_THROW(check(point));
    }
    return made;
  }
  Comparison comparison;
};
} // namespace

TEST_F(ThreeSides, thatAgree) {
  for (auto &point : points()) {
    EXPECT_EQ(point.status, PointStatus::passed) << point.provider << ": " << point.reason;
    EXPECT_EQ(point.rounds[0][1].wallNs, 2000000);
    EXPECT_EQ(point.relativeL2, 1e-7);
  }
  comparison.sides[2].name = "onnxruntime";
  EXPECT_NE(points()[1].key(), points()[2].key());
  // A file whose content has changed is another side with the same name.
  comparison.sides[1].content = "0123456789abcdef";
  store::Point before = points()[1];
  comparison.sides[1].content = "fedcba9876543210";
  EXPECT_EQ(points()[1].provider, before.provider);
  EXPECT_NE(points()[1].key(), before.key());
  comparison.sides[2].content = comparison.sides[1].content;
  EXPECT_NE(points()[1].key(), points()[2].key());
}

TEST_F(ThreeSides, thatWereStartedSeveralTimes) {
  EXPECT_TRUE(points()[0].starts.empty());
  comparison.starts = {2, 1};
  for (SideResult &side : comparison.sides)
    side.rounds.assign(3, {1e-3});
  comparison.sides[2].rounds.pop_back(); // it failed in its last turn
  auto made = points();
  EXPECT_EQ(made[0].starts, (std::vector<size_t>{2, 1}));
  EXPECT_EQ(made[2].starts, (std::vector<size_t>{2}));
}

TEST_F(ThreeSides, oneOfWhichDiffers) {
  disagree(0);
  auto made = points();
  EXPECT_EQ(made[0].status, PointStatus::passed); // the reference agrees with us
  EXPECT_EQ(made[1].status, PointStatus::failed);
  EXPECT_EQ(made[1].reason, "output 'prob' differs from lathe: relative L2 0.3");
  EXPECT_TRUE(made[1].rounds.empty());
  EXPECT_EQ(made[1].relativeL2, 0.3);
  EXPECT_EQ(made[2].status, PointStatus::passed);
  disagree(1);
  EXPECT_EQ(points()[0].status, PointStatus::failed);
}

TEST_F(ThreeSides, thatMeanLittle) {
  for (auto &peer : comparison.peers)
    peer.outputs[0].mistrust = "constant";
  for (auto &point : points()) {
    EXPECT_EQ(point.status, PointStatus::mistrusted);
    EXPECT_EQ(point.reason, "output 'prob' is constant");
    EXPECT_EQ(point.sampleCount(), 2u);
  }
}

TEST_F(ThreeSides, thatFail) {
  process::Failure failure;
  failure.kind = process::FailureKind::timedOut;
  comparison.sides[0].failure = failure;
  comparison.sides[1].failure = failure;
  auto made = points();
  EXPECT_EQ(made[0].status, PointStatus::timedOut);
  EXPECT_EQ(made[1].status, PointStatus::timedOut);
  EXPECT_TRUE(made[1].rounds.empty());
  EXPECT_EQ(made[2].status, PointStatus::mistrusted); // it ran, but its output could not be checked
}

TEST(StoreRecords, tuningOfARow) {
  OpsRow row;
  row.listed.problem = Problem::parse("relu x=2x3:f32");
  row.setting.layout = ActivationLayout::blocked;
  row.points = {opsPoint("auto", PointStatus::passed),    opsPoint("auto", PointStatus::failed),
                opsPoint("auto", PointStatus::sameAs),    opsPoint("auto", PointStatus::unimplemented),
                opsPoint("package", PointStatus::passed), opsPoint("auto", PointStatus::passed)};
  for (size_t i : {0, 1, 2, 3, 5}) {
    row.points[i].task = "task/1 | relu";
    row.points[i].scheduleRun = fmt::format("map/1 unroll={}", i);
  }
  row.points[0].time.median = 2e-6; // the last one was not timed
  row.points[0].rounds = {{2e-6}};
  row.points[1].reason = "wrong";
  row.points[1].schedule = "map/1 unroll=1";
  auto records = tuningOf(row);
  ASSERT_EQ(records.size(), 3u);
  EXPECT_EQ(records[0].task, "task/1 | relu");
  EXPECT_EQ(records[0].schedule, "map/1 unroll=0");
  EXPECT_EQ(records[0].seconds, 2e-6);
  EXPECT_EQ(records[1].status, PointStatus::failed);
  EXPECT_EQ(records[1].reason, "wrong");
  EXPECT_FALSE(records[1].seconds);
  EXPECT_EQ(records[2].status, PointStatus::unimplemented);
  for (auto &record : records) {
    record.platform = "p";
    record.measured = "2026-11-22T00:31:04.000000Z";
    EXPECT_NO_THROW(check(record));
  }
  auto points = pointsOf(row);
  EXPECT_EQ(points[0].setting.layout, "blocked");
  EXPECT_EQ(points[0].setting.schedule, "");
  EXPECT_EQ(points[1].setting.schedule, "map/1 unroll=1");
  row.setting.cache = store::CacheState::cold;
  EXPECT_TRUE(tuningOf(row).empty());
}

TEST(StoreRecords, resourcesMakeAnotherPoint) {
  OpsRow row;
  row.listed.problem = Problem::parse("relu x=2x3:f32");
  row.points = {opsPoint("auto", PointStatus::passed)};
  row.points[0].task = "task/1 | relu";
  row.points[0].scheduleRun = "map/1";
  row.points[0].rounds = {{2e-6}};
  row.points[0].time.median = 2e-6;
  store::Point whole = pointsOf(row)[0];
  EXPECT_EQ(resourcesText(whole.setting), "");
  EXPECT_TRUE(whole.held.empty());
  EXPECT_EQ(tuningOf(row).size(), 1u);
  row.setting.resources.request.cpus = "performance";
  row.setting.resources.cpus = {0, 1};
  row.held = {{"cpus", "0-1"}};
  store::Point limited = pointsOf(row)[0];
  EXPECT_EQ(resourcesText(limited.setting), "cpus performance (0-1)");
  EXPECT_EQ(limited.held, row.held);
  EXPECT_NE(limited.key(), whole.key());
  EXPECT_TRUE(tuningOf(row).empty()); // of the whole machine alone
}
