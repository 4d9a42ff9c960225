#include "jobs/corun/Search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace lathe::jobs {
namespace {

CorunMove on(int slot, int instances = 1) { return {{slot}, instances}; }

/// Two models on one slot, which get processor time by their number of instances; each instance costs a little.
lab::Payoffs sharedSlot(const CorunSearch &search, const lab::Combination &at) {
  double a = search.moves[0][at[0]].instances, b = search.moves[1][at[1]].instances;
  return std::vector<double>{a / (a + b) / (1 + 0.05 * (a + b)), b / (a + b) / (1 + 0.05 * (a + b))};
}

SearchRequest request(const CorunSearch *&state) {
  SearchRequest request;
  request.moves = {{on(0), on(0, 2), on(0, 4)}, {on(0), on(0, 2), on(0, 4)}};
  request.equal = request.whole = {on(0), on(0)};
  request.welfare = [](const std::vector<double> &payoffs) { return (payoffs[0] + payoffs[1]) / 2; };
  request.most = 100;
  request.payoffs = [&state](const lab::Combination &at) { return sharedSlot(*state, at); };
  return request;
}

TEST(Search, selfishModelsTakeMoreInstancesThanIsGoodForAll) {
  const CorunSearch *state = nullptr;
  size_t calls = 0;
  CorunSearch found = search(request(state), [&](const CorunSearch &soFar) {
    state = &soFar;
    ++calls;
  });
  EXPECT_EQ(calls, 10u); // before each of nine measurements, and at the end
  EXPECT_EQ(found.combinations, 9u);
  EXPECT_TRUE(found.allEquilibria);
  ASSERT_EQ(found.equilibria.size(), 1u);
  EXPECT_EQ(found.equilibria[0].combination, (lab::Combination{2, 2}));
  EXPECT_TRUE(found.equilibria[0].strict);
  ASSERT_TRUE(found.optimum);
  EXPECT_EQ(found.optimum->combination, found.equal);
  EXPECT_TRUE(found.optimum->exhaustive);
  EXPECT_NEAR(*found.priceOfAnarchy(), 1.4 / 1.1, 1e-12);
  EXPECT_EQ(found.movesAt({2, 0})[0], on(0, 4));
  EXPECT_EQ(found.equilibrium(true), found.equilibrium(false));
}

TEST(Search, staysWithinTheBound) {
  for (size_t most = 1; most < 9; ++most) {
    const CorunSearch *state = nullptr;
    SearchRequest asked = request(state);
    asked.most = most;
    CorunSearch found = search(asked, [&](const CorunSearch &soFar) { state = &soFar; });
    EXPECT_LE(found.payoffs.size(), most);
    EXPECT_FALSE(found.allEquilibria);
    ASSERT_TRUE(found.optimum);
    EXPECT_FALSE(found.optimum->exhaustive);
    EXPECT_TRUE(found.welfareAt(found.equal).has_value()); // is measured first
  }
}

TEST(Search, addsTheCombinationsToBeginWith) {
  const CorunSearch *state = nullptr;
  SearchRequest asked = request(state);
  asked.equal = {on(0, 3), on(0)};
  asked.nash = false;
  CorunSearch found = search(asked, [&](const CorunSearch &soFar) { state = &soFar; });
  EXPECT_EQ(found.moves[0].size(), 4u);
  EXPECT_EQ(found.equal, (lab::Combination{3, 0}));
  EXPECT_TRUE(found.walks.empty());
  EXPECT_TRUE(found.equilibria.empty());
  EXPECT_FALSE(found.priceOfAnarchy().has_value());
}

} // namespace
} // namespace lathe::jobs
