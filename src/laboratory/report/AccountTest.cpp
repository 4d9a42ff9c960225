#include "report/Account.h"
#include "report/ReportTesting.h"
#include "store/StoreTesting.h"

using namespace lathe;
using namespace lathe::report;
using store::CacheState;

namespace {

Row timed(const std::string &problem, double seconds, CacheState cache, const std::string &provider = "lathe:auto") {
  Row row = report::rowOf(problem, provider, seconds);
  row.setting.cache = cache;
  return row;
}

const std::string conv = convText(4, 8), pool = "reduce_mean x=1x8x8x8 axes=2,3"; // 4 * 4 * 8 * 9 bytes of weights

TEST(Account, theStateFollowsFromSizes) {
  EXPECT_EQ(networkState(33e6, 32e6), CacheState::coldConstants);
  EXPECT_EQ(networkState(32e6, 32e6), CacheState::hot);
  EXPECT_EQ(networkState(33e6, 0), CacheState::hot); // the size of the cache is unknown
  EXPECT_EQ(operatorState(conv, CacheState::coldConstants), CacheState::coldConstants);
  EXPECT_EQ(operatorState(pool, CacheState::coldConstants), CacheState::hot); // it has no constants
  EXPECT_DOUBLE_EQ(constantBytes({{conv, 2, {}}, {pool, 5, {}}}), 2 * 4 * 4 * 8 * 9);
  EXPECT_DOUBLE_EQ(lastLevelBytes(store::somePlatform()), 1 << 20);
}

TEST(Account, anEstimateTakesEachOperatorInItsState) {
  std::vector<Row> rows = {
      timed(conv, 1e-3, CacheState::hot),  timed(conv, 2e-3, CacheState::coldConstants),
      timed(conv, 9e-3, CacheState::cold), timed(pool, 3e-3, CacheState::hot),
      timed(pool, 9e-3, CacheState::cold), timed(conv, 1.5e-3, CacheState::coldConstants, "onednn")};
  auto chosen = rowsAsInNetwork(rows, [](auto &) { return CacheState::coldConstants; });
  auto found = estimates(chosen, {{conv, 2, {}}, {pool, 1, {}}}, {});
  ASSERT_EQ(found.size(), 3u);
  EXPECT_NEAR(found[0].seconds, 2 * 1.5e-3 + 3e-3, 1e-12); // the fastest
  EXPECT_EQ(found[0].context, "ops, 1 thread, caches as in the network");
  EXPECT_NEAR(found[1].seconds, 2 * 2e-3 + 3e-3, 1e-12); // ours
  EXPECT_TRUE(found[1].missing.empty());
}

TEST(Account, everythingIsAccountedFor) {
  std::vector<Row> rows = {timed(conv, 1e-3, CacheState::hot), timed(conv, 2e-3, CacheState::coldConstants),
                           timed(pool, 3e-3, CacheState::hot), timed(conv, 1e-6, CacheState::coldConstants, "onednn")};
  std::vector<Part> parts = {{pool, 1, {"mean"}}, {conv, 2, {"a", "b"}}, {convText(3, 5), 1, {"absent"}}};
  Profile profile;
  profile.kernels = {{"conv_0", "kernel", {"a", "a_relu"}, 2.5e-3},
                     {"conv_1", "kernel", {"b"}, 1.5e-3},
                     {"move_2", "kernel", {"x"}, 0.25e-3},
                     {"mean_3", "kernel", {"mean"}, 2e-3},
                     {"move_4", "kernel", {}, 0.5e-3}};
  profile.overhead = 0.125e-3;
  profile.seconds = profile.overhead + 2.5e-3 + 1.5e-3 + 0.25e-3 + 2e-3 + 0.5e-3;
  AccountSources sources{[&](auto &, int threads) { return threads == 1 ? std::optional(profile) : std::nullopt; },
                         [](auto &, int) { return std::optional(8e-3); }, [](auto &) { return 1000.0; }};
  auto found = accounts(rows, parts, "lathe", sources);
  ASSERT_EQ(found.size(), 1u);
  const Account &account = found[0];
  EXPECT_EQ(account.context, "ops, 1 thread");
  EXPECT_EQ(account.state, CacheState::coldConstants);
  ASSERT_EQ(account.lines.size(), 4u); // the longest problem first, lines without a problem last
  ASSERT_EQ(account.lines[0].operators.size(), 1u);
  EXPECT_EQ(account.lines[0].operators[0].problem, conv);
  EXPECT_EQ(account.lines[0].states(), "cold-constants");
  EXPECT_EQ(account.lines[0].alone.size(), 2u);
  EXPECT_EQ(account.lines[0].kernels, 2u);
  EXPECT_NEAR(account.lines[0].estimated, 4e-3, 1e-12);
  EXPECT_NEAR(account.lines[0].inNetwork, 4e-3, 1e-12);
  EXPECT_NEAR(account.lines[1].difference(), 1e-3, 1e-12);
  EXPECT_EQ(account.lines[2].states(), "none"); // not measured, and not in the profile
  EXPECT_EQ(account.lines[3].what, "move");
  EXPECT_EQ(account.lines[3].count, 2);
  double lines = 0;
  for (auto &line : account.lines)
    lines += line.difference();
  EXPECT_NEAR(account.estimated() - account.measured, lines - account.overhead + account.profiled - account.measured,
              1e-12);
  rows.push_back(timed(conv, 1e-3, CacheState::hot));
  rows.back().setting.threads = 2; // without a profile
  EXPECT_EQ(accounts(rows, parts, "lathe", sources).size(), 1u);
  rows.push_back(timed(conv, 1e-3, CacheState::hot));
  rows.back().setting.extra["resources"] = "cpus 0"; // of a part of the machine
  EXPECT_EQ(accounts(rows, parts, "lathe", sources).size(), 1u);
}

/// Depthwise and pointwise convolutions: two pairs are one kernel each, and a third pair is two kernels.
TEST(Account, aKernelOfTwoProblemsIsALineOfBoth) {
  std::vector<Row> rows = {timed(conv, 1e-3, CacheState::coldConstants), timed(conv, 0.5e-3, CacheState::hot),
                           timed(pool, 3e-3, CacheState::hot)};
  std::vector<Part> parts = {{conv, 3, {"d1", "d2", "d3"}}, {pool, 3, {"p1", "p2", "p3"}}, {convText(3, 5), 1, {"u"}}};
  Profile profile;
  profile.kernels = {{"d1_p1", "kernel", {"d1", "r1", "p1"}, 5e-3},
                     {"d2_p2", "kernel", {"d2", "r2", "p2"}, 4e-3},
                     {"d3", "kernel", {"d3"}, 1.5e-3},
                     {"p3", "kernel", {"p3"}, 2.5e-3},
                     {"p3_1", "kernel", {"p3"}, 0.25e-3}, // of the same operator
                     {"u_d1", "kernel", {"u", "d1"}, 1e-3}};
  profile.overhead = 0.5e-3;
  profile.seconds = 14.75e-3;
  AccountSources sources{[&](auto &, int) { return std::optional(profile); },
                         [](auto &, int) { return std::optional(15e-3); }, [](auto &) { return 1000.0; }};
  auto found = accounts(rows, parts, "lathe", sources);
  ASSERT_EQ(found.size(), 1u);
  auto &lines = found[0].lines;
  ASSERT_EQ(lines.size(), 4u);
  ASSERT_EQ(lines[0].operators.size(), 2u);
  EXPECT_EQ(lines[0].operators[0].problem, conv);
  EXPECT_EQ(lines[0].operators[1].problem, pool);
  EXPECT_EQ(lines[0].count, 2);
  EXPECT_EQ(lines[0].kernels, 2u);
  EXPECT_EQ(lines[0].states(), "cold-constants + hot");
  EXPECT_NEAR(lines[0].estimated, 2 * 1e-3 + 2 * 3e-3, 1e-12);
  EXPECT_NEAR(lines[0].inNetwork, 9e-3, 1e-12);
  ASSERT_EQ(lines[0].alone.size(), 1u); // both were measured hot only
  EXPECT_NEAR(lines[0].alone.at(CacheState::hot), 3.5e-3, 1e-12);
  EXPECT_EQ(lines[1].operators[0].problem, pool);
  EXPECT_EQ(lines[1].count, 1);
  EXPECT_EQ(lines[1].kernels, 2u);
  EXPECT_NEAR(lines[1].difference(), 3e-3 - 2.75e-3, 1e-12);
  EXPECT_EQ(lines[2].operators[0].problem, conv);
  EXPECT_EQ(lines[2].count, 1);
  EXPECT_EQ(lines[3].states(), "cold-constants + none"); // half of it is unknown
  EXPECT_NEAR(lines[3].estimated, 0, 1e-12);             // d1 was counted in an earlier line
  double inNetwork = 0;
  int64_t operators = 0;
  for (auto &line : lines) {
    inNetwork += line.inNetwork;
    for (auto &one : line.operators)
      operators += one.count;
  }
  EXPECT_EQ(operators, 7);
  EXPECT_NEAR(inNetwork + found[0].overhead, found[0].profiled, 1e-12);
  EXPECT_NEAR(found[0].estimated(), 3 * 1e-3 + 3 * 3e-3, 1e-12);
  auto document = toJson(found[0]);
  EXPECT_EQ(document["lines"][0]["problems"][1]["problem"], pool);
  EXPECT_EQ(document["lines"][1]["problem"], pool);
}

class Profiles : public store::StoreFolder {};

TEST_F(Profiles, theFastestQuarterOfTheLastOne) {
  store::Store store(file("a.db"));
  auto add = [&](int scale, const nlohmann::json &extra) {
    std::string experiment =
        store.addExperiment(store::someExperiment(store::ExperimentKind::profile), store::somePlatform());
    auto point = [&](const std::string &op, const std::string &text, std::vector<int64_t> times) {
      store::Point point;
      point.experiment = experiment;
      point.problem = {op, text, {}};
      point.provider = "lathe";
      point.setting.extra = extra;
      point.status = store::PointStatus::passed;
      auto &round = point.rounds.emplace_back();
      for (int64_t time : times)
        round.emplace_back().wallNs = time * scale;
      return point;
    };
    store.addPoint(point("model", "net, zeros", {1000, 100, 120, 110, 130}));
    store::Point kernel = point("kernel", "net, zeros #0 conv_0", {1, 50, 70, 40, 9});
    kernel.problem.detail = {{"index", 0}, {"name", "conv_0"}, {"kind", "kernel"}, {"nodes", {"a"}}};
    store.addPoint(kernel);
  };
  add(1, {});
  add(2, {});
  add(3, {{"until", "a"}});
  EXPECT_FALSE(lastProfile(store, "net", store::somePlatform().key(), 2));
  EXPECT_FALSE(lastProfile(store, "other", store::somePlatform().key(), 1));
  auto profile = lastProfile(store, "net", store::somePlatform().key(), 1);
  ASSERT_TRUE(profile);
  EXPECT_NEAR(profile->seconds, 2 * 105e-9, 1e-15); // runs of 100 and 110
  ASSERT_EQ(profile->kernels.size(), 1u);
  EXPECT_EQ(profile->kernels[0].nodes, (std::vector<std::string>{"a"}));
  EXPECT_NEAR(profile->kernels[0].seconds, 2 * 45e-9, 1e-15);
  EXPECT_NEAR(profile->overhead, 2 * 60e-9, 1e-15);
}

} // namespace
