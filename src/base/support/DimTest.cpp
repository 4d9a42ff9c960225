#include "support/DimForms.h"

#include <gtest/gtest.h>

#include <random>

using namespace lathe;

namespace {

const Dim H = Dim::symbol("H"), W = Dim::symbol("W");

TEST(Dim, StridesOfSeveralLayersBecomeOneDivision) {
  Dim extent = H;
  for (int layer = 0; layer < 5; ++layer)
    extent = floorDiv(extent - 1, 2) + 1;
  EXPECT_EQ(extent.str(), "floordiv(H + 31, 32)");
  EXPECT_EQ(floorDiv(floorDiv(H + 2, 3) + 5, 4).str(), "floordiv(H + 5, 12) + 1");
}

TEST(Dim, MultiplesOfTheDivisorLeaveTheDivision) {
  EXPECT_EQ(floorDiv(H * 6 + W + 7, 3).str(), "H*2 + floordiv(W + 1, 3) + 2");
  EXPECT_EQ(floorDiv(H * 2 - 7, 2).str(), "H + -4");
  EXPECT_EQ(floorDiv(H, 2).str(), "floordiv(H, 2)");
  EXPECT_EQ(floorDiv(H - 1, Dim(-2)).str(), "floordiv(H + -1, -2)");
}

TEST(Dim, SumsDivideTheirMultiples) {
  const Dim anchors = floorDiv(H, 8) * W + floorDiv(H, 16) + 1;
  EXPECT_EQ(floorDiv(anchors * 9, anchors).str(), "9");
  EXPECT_EQ(floorDiv(anchors * H, anchors).str(), "H");
  EXPECT_EQ(floorDiv(anchors + 1, anchors).str(), "floordiv(" + (anchors + 1).str() + ", " + anchors.str() + ")");
}

TEST(Dim, DivisionsHaveLinearBounds) {
  const Dim beyond = ceilDiv(H, 3) * 3 - H; // 0 to 2
  EXPECT_EQ(lowerBound(beyond).str(), "0");
  EXPECT_EQ(lowerBound(H - floorDiv(H, 2) * 2).str(), "0");
  EXPECT_EQ(lowerBound(Dim(1) - beyond).str(), "-1");
  EXPECT_EQ(lowerBound(floorDiv(H, 3) * 2).str(), "floordiv(H, 3)*2"); // no whole coefficient
}

TEST(Dim, BroadcastsInAnyOrder) {
  const Dim N = Dim::symbol("N"), both = broadcastDim(W, H), all = broadcastDim(N, both);
  EXPECT_EQ(both.str(), "broadcast(H, W)");
  EXPECT_EQ(both, broadcastDim(H, W));
  EXPECT_EQ(all, broadcastDim(broadcastDim(H, N), broadcastDim(W, H)));
  EXPECT_EQ(broadcastDim(all, both), all);
  EXPECT_EQ(broadcastDim(both, 1), both);
  EXPECT_EQ(broadcastDim(both, 4).str(), "4"); // the others are 1 or 4
  EXPECT_EQ(broadcastDim(1, 1).str(), "1");
  EXPECT_EQ(Dim::parse((all * 2 + 1).str()), all * 2 + 1);
  auto as = [](int64_t value) { return [value](const std::string &) { return std::optional<Dim>(value); }; };
  EXPECT_EQ(all.substitute(as(1)).str(), "1");
  EXPECT_EQ(all.substitute([&](const std::string &s) { return s == "H" ? std::optional<Dim>(1) : std::nullopt; }),
            broadcastDim(N, W));
  for (auto [h, w, expected] :
       {std::array{3, 3, 3}, {1, 5, 5}, {5, 1, 5}, {1, 1, 1}, {0, 1, 0}, {1, 0, 0}, {0, 0, 0}}) {
    EXPECT_EQ(both.evaluate([&](const std::string &name) { return name == "H" ? h : w; }), expected);
    EXPECT_EQ(varies(H).evaluate([&](const std::string &) { return h; }), h != 1);
  }
}

/// Random nestings of divisions keep their values, whatever their text becomes.
TEST(Dim, DivisionsKeepTheirValues) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  auto below = [&](int limit) { return static_cast<int64_t>(random() % static_cast<unsigned>(limit)); };
  for (int trial = 0; trial < 2000; ++trial) {
    const int64_t h = below(300), w = below(300);
    Dim extent = H * below(5) + W * (below(5) - 2) + (below(40) - 20);
    int64_t value = extent.evaluate([&](const std::string &name) { return name == "H" ? h : w; });
    for (int depth = 0; depth < 4; ++depth) {
      const int64_t divisor = 1 + below(6), plus = below(20) - 10, times = 1 + below(3);
      extent = floorDiv(extent, divisor) * times + plus;
      const int64_t quotient = value / divisor - (value % divisor != 0 && value < 0);
      value = quotient * times + plus;
    }
    ASSERT_EQ(extent.evaluate([&](const std::string &name) { return name == "H" ? h : w; }), value) << extent.str();
    ASSERT_EQ(Dim::parse(extent.str()).str(), extent.str());
  }
}

} // namespace
