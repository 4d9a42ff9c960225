#include "runtime/plan/Planner.h"
#include "support/Error.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

using namespace lathe;
using namespace lathe::runtime;

namespace {

void check(const std::vector<ArenaRequest> &requests, const ArenaPlan &plan) {
  auto size = [](uint64_t bytes) { return (bytes + 63) / 64 * 64; };
  ASSERT_EQ(plan.offsets.size(), requests.size());
  for (size_t i = 0; i < requests.size(); ++i) {
    const ArenaRequest &a = requests[i];
    if (a.bytes == 0 || a.first > a.last)
      continue;
    EXPECT_EQ(plan.offsets[i] % 64, 0u);
    EXPECT_LE(plan.offsets[i] + a.bytes, plan.bytes);
    for (size_t j = 0; j < i; ++j) {
      const ArenaRequest &b = requests[j];
      if (b.bytes == 0 || b.first > b.last || a.first > b.last || b.first > a.last)
        continue;
      EXPECT_TRUE(plan.offsets[i] + size(a.bytes) <= plan.offsets[j] ||
                  plan.offsets[j] + size(b.bytes) <= plan.offsets[i])
          << "requests " << j << " and " << i;
    }
  }
  EXPECT_LE(plan.liveBytes, plan.bytes);
  uint64_t most = 0; // counted afresh
  for (uint32_t when = 0; when < 300; ++when) {
    uint64_t now = 0;
    for (const ArenaRequest &r : requests)
      if (r.first <= when && when <= r.last)
        now += size(r.bytes);
    most = std::max(most, now);
  }
  EXPECT_EQ(plan.liveBytes, most);
}

TEST(PlannerTest, liveRangesNeverShareBytes) {
  unsigned seed = std::random_device()();
  if (const char *given = std::getenv("LATHE_TEST_SEED"))
    seed = static_cast<unsigned>(std::stoul(given));
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  double worst = 1;
  for (int round = 0; round < 400; ++round) {
    std::vector<ArenaRequest> requests(random() % 120);
    for (ArenaRequest &r : requests) {
      r.bytes = random() % 5 == 0 ? random() % 3 : uint64_t(1) << random() % 20;
      r.bytes += random() % (r.bytes + 1);
      r.first = random() % 200;
      r.last = random() % 20 == 0 ? r.first - 1 : r.first + random() % (random() % 10 == 0 ? 60 : 4);
      if (r.first == 0 && r.last == UINT32_MAX) // never alive
        r.first = 1, r.last = 0;
    }
    ArenaPlan plan = planArena(requests);
    check(requests, plan);
    if (plan.liveBytes)
      worst = std::max(worst, double(plan.bytes) / double(plan.liveBytes));
  }
  EXPECT_LT(worst, 1.5);
}

TEST(PlannerTest, chainsNeedTwoBuffers) {
  std::vector<ArenaRequest> requests;
  for (uint32_t i = 0; i < 100; ++i)
    requests.push_back({i % 2 ? 4096u : 1024u, i, i + 1});
  ArenaPlan plan = planArena(requests);
  check(requests, plan);
  EXPECT_EQ(plan.bytes, 5120u);
}

TEST(PlannerTest, residualBlocks) {
  // x -> a -> b -> x + b, again and again: three buffers of one size.
  std::vector<ArenaRequest> requests;
  for (uint32_t i = 0; i < 30; i += 3) {
    requests.push_back({1000, i, i + 3});
    requests.push_back({1000, i + 1, i + 2});
    requests.push_back({1000, i + 2, i + 3});
  }
  ArenaPlan plan = planArena(requests);
  check(requests, plan);
  EXPECT_EQ(plan.bytes, plan.liveBytes);
}

TEST(PlannerTest, absurdSizesAreRefused) {
  std::vector<ArenaRequest> requests(3, ArenaRequest{uint64_t(1) << 61, 0, 1});
  EXPECT_THROW(planArena(requests), Error);
  EXPECT_EQ(planArena({}).bytes, 0u);
}

} // namespace
