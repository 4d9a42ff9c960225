#include "runtime/plan/Planner.h"
#include "runtime/plan/PlanAnalysis.h"
#include "support/Error.h"
#include "support/SeedTesting.h"

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
  uint64_t seed = testSeed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(static_cast<unsigned>(seed));
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

// ---- Instructions in streams ----

/// A plan of instructions in random streams, and values that they use.
struct StreamPlan {
  Plan plan;
  std::vector<std::vector<uint32_t>> uses; // by value: instructions, rising
  std::vector<std::vector<bool>> before;   // [a][b]: a is done before b begins, by the paths of the order

  explicit StreamPlan(std::mt19937 &random) {
    size_t count = 2 + random() % 12;
    for (uint32_t i = 0; i < 3 + random() % 3; ++i)
      plan.places.push_back({uint32_t(random() % 6), uint32_t(1 + random() % 3)});
    plan.blocks.resize(1);
    for (size_t i = 0; i < count; ++i) {
      Instruction instruction;
      instruction.place = random() % 8 == 0 ? -1 : int32_t(random() % plan.places.size());
      for (uint32_t before = 0; before < i; ++before)
        if (instruction.place >= 0 && random() % 4 == 0)
          instruction.waits.push_back(before);
      plan.blocks[0].instructions.push_back(std::move(instruction));
    }
    for (uint32_t value = 0; value < 2 + random() % 8; ++value) {
      uses.emplace_back();
      for (uint32_t i = 0; i < count; ++i)
        if (random() % 3 == 0)
          uses.back().push_back(i);
      plan.values.emplace_back();
      plan.values.back().root = value;
    }
    for (Instruction &instruction : plan.blocks[0].instructions) { // what uses the values
      CallReference call;
      for (uint32_t value = 0; value < uses.size(); ++value)
        if (size_t i = size_t(&instruction - plan.blocks[0].instructions.data());
            std::count(uses[value].begin(), uses[value].end(), i))
          call.outputs.push_back(value);
      instruction.operation = std::move(call);
    }
    plan.extents = {Dim(0)};
    findOrder();
    analyzePlan(plan);
  }

  /// The order by its definition: one instruction after the other, then all paths.
  void findOrder() {
    const std::vector<Instruction> &list = plan.blocks[0].instructions;
    before.assign(list.size(), std::vector<bool>(list.size()));
    size_t phase = 0; // first instruction of the last phase
    auto meet = [&](const Instruction &a, const Instruction &b) {
      if (a.place < 0 || b.place < 0)
        return a.place != b.place;
      const PlaceSlots &x = plan.places[size_t(a.place)], &y = plan.places[size_t(b.place)];
      return !(x == y) && x.first < y.first + y.slots && y.first < x.first + x.slots;
    };
    for (size_t i = 0; i < list.size(); ++i) {
      bool fresh = std::any_of(list.begin() + long(phase), list.begin() + long(i),
                               [&](const Instruction &other) { return meet(other, list[i]); });
      phase = fresh ? i : phase;
      for (size_t other = 0; other < i; ++other)
        before[other][i] = other < phase || list[other].place == list[i].place ||
                           (list[i].place >= 0 && list[other].place >= 0 &&
                            plan.places[size_t(list[i].place)] == plan.places[size_t(list[other].place)]) ||
                           std::count(list[i].waits.begin(), list[i].waits.end(), other);
    }
    for (size_t middle = 0; middle < list.size(); ++middle)
      for (size_t a = 0; a < middle; ++a)
        for (size_t b = middle + 1; b < list.size(); ++b)
          if (before[a][middle] && before[middle][b])
            before[a][b] = true;
  }
  bool isBefore(size_t a, size_t b) const {
    return std::all_of(uses[a].begin(), uses[a].end(), [&](uint32_t first) {
      return std::all_of(uses[b].begin(), uses[b].end(), [&](uint32_t second) { return bool(before[first][second]); });
    });
  }
};

TEST(PlannerTest, valuesInStreamsShareBytesExactlyWhereTheOrderAllowsIt) {
  uint64_t seed = testSeed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(static_cast<unsigned>(seed));
  uint64_t shared = 0, apart = 0, inOneStream = 0, wrong = 0;
  for (int round = 0; round < 100000; ++round) {
    StreamPlan made(random);
    const bool streams = !made.plan.phases.empty();
    inOneStream += !streams;
    std::vector<ArenaRequest> requests;
    for (uint32_t value = 0; value < made.uses.size(); ++value) {
      const LiveRange &live = made.plan.live[value];
      requests.push_back({100, live.first, live.last, streams ? &made.plan.streamLives[value] : nullptr});
    }
    ArenaPlan arena = planArena(requests);
    for (size_t a = 0; a < made.uses.size(); ++a)
      for (size_t b = 0; b < a; ++b) {
        if (made.uses[a].empty() || made.uses[b].empty())
          continue;
        bool mayShare = made.isBefore(a, b) || made.isBefore(b, a);
        (mayShare ? shared : apart) += 1;
        if (streams)
          ASSERT_EQ(made.plan.streamLives[a].isBefore(made.plan.streamLives[b]), made.isBefore(a, b))
              << "round " << round << ", values " << a << " and " << b;
        if (streams) { // a planner that takes any two instructions of different streams for ordered
          StreamLife careless = made.plan.streamLives[b];
          careless.begins.assign(careless.begins.size(), UINT32_MAX);
          wrong += made.plan.streamLives[a].isBefore(careless) != made.isBefore(a, b);
        }
        ASSERT_TRUE(mayShare || arena.offsets[a] != arena.offsets[b])
            << "round " << round << ", values " << a << " and " << b;
      }
    ASSERT_LE(arena.liveBytes, arena.bytes) << "round " << round;
  }
  EXPECT_GT(shared, 10000u);
  EXPECT_GT(apart, 10000u);
  EXPECT_GT(wrong, 10000u);
  EXPECT_LT(inOneStream, 20000u);
}

TEST(PlannerTest, absurdSizesAreRefused) {
  std::vector<ArenaRequest> requests(3, ArenaRequest{uint64_t(1) << 61, 0, 1});
  EXPECT_THROW(planArena(requests), Error);
  EXPECT_EQ(planArena({}).bytes, 0u);
}

} // namespace
