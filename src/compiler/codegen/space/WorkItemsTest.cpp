#include "codegen/space/WorkItems.h"

#include "codegen/space/LoopFacts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

namespace lathe {
namespace {

/// The work of every item, one after the other.
std::vector<double> itemsOf(std::span<const WorkAxis> axes) {
  std::vector<double> items = {1};
  for (const WorkAxis &axis : axes) {
    std::vector<double> finer;
    for (double item : items)
      for (int64_t piece = 0; piece < axis.pieces; ++piece)
        finer.push_back(item * (piece + 1 < axis.pieces ? axis.whole : axis.last));
    items = finer;
  }
  return items;
}

TEST(WorkItems, piecesOfAnAxis) {
  WorkAxis axis = WorkAxis::cut(28, 19);
  EXPECT_EQ(axis.pieces, 2);
  EXPECT_EQ(axis.whole, 19);
  EXPECT_EQ(axis.last, 9);
  EXPECT_EQ(WorkAxis::cut(5, 9).last, 5);
  EXPECT_EQ(WorkAxis::cut(0, 9).pieces, 1);
  EXPECT_EQ(WorkAxis::cut(0, 9).last, 0);
}

TEST(WorkItems, busiestShareOfUnevenItems) {
  const WorkAxis rows = WorkAxis::cut(28, 19), tiles = {2};
  EXPECT_DOUBLE_EQ(busiestShare(std::vector{rows}, 1), 1);
  EXPECT_DOUBLE_EQ(busiestShare(std::vector{rows}, 2), 19.0 * 2 / 28);
  // 19, 19, 9 and 9 rows: slots of 1, 1 and 2 items.
  EXPECT_DOUBLE_EQ(busiestShare(std::vector{rows, tiles}, 3), 19.0 * 3 / 56);
}

TEST(WorkItems, threadsGetEvenShares) {
  auto share = [](const LoopShape &shape, int64_t grain, int64_t threads) {
    Units units = cutUnits(shape.extents, std::max<int64_t>(1, grain / shape.divisor), shape.granule, shape.limit);
    int64_t outer = 1;
    for (size_t i = 0; i < units.axis; ++i)
      outer *= shape.extents[i].constant();
    return busiestShare(std::vector{WorkAxis{outer}, WorkAxis::cut(shape.extents[units.axis].constant(), units.chunk)},
                        threads);
  };
  LoopShape blocks{{1, 44, 7, 7, 16}, 5, 16, 1}; // 10 blocks an item: 20 for one thread, 24 for the other
  EXPECT_DOUBLE_EQ(share(blocks, 8192, 2), 24.0 / 22);
  EXPECT_DOUBLE_EQ(share(blocks, evenGrain(blocks, 8192, 2), 2), 1);
  EXPECT_EQ(evenGrain(blocks, 8192, 1), 8192);
  EXPECT_EQ(evenGrain(blocks, 1 << 20, 2), 1 << 20); // one item stays one
  EXPECT_EQ(evenGrain({{Dim::symbol("n")}, 1, 16, 1}, 8192, 2), 8192);
  std::mt19937_64 random(3);
  auto upTo = [&](int64_t most) { return int64_t(random() % uint64_t(most)) + 1; };
  for (int trial = 0; trial < 500; ++trial) {
    LoopShape shape{{upTo(3), upTo(70), upTo(30), upTo(30)}, size_t(upTo(4)), 16, upTo(60)};
    int64_t grain = upTo(20000), threads = upTo(6);
    ASSERT_LE(share(shape, evenGrain(shape, grain, threads), threads), share(shape, grain, threads) + 1e-9)
        << trial << ", grain " << grain << ", " << threads << " threads";
  }
}

TEST(WorkItems, agreesWithCountingEveryItem) {
  std::mt19937_64 random(7);
  auto upTo = [&](int64_t most) { return int64_t(random() % uint64_t(most)) + 1; };
  for (int trial = 0; trial < 500; ++trial) {
    std::vector<WorkAxis> axes;
    for (int64_t i = upTo(4); i > 0; --i)
      axes.push_back(WorkAxis::cut(upTo(40), upTo(12)));
    std::vector<double> items = itemsOf(axes);
    auto count = int64_t(items.size()), threads = upTo(70), end = upTo(count);
    ASSERT_DOUBLE_EQ(workBefore(axes, end), std::accumulate(items.begin(), items.begin() + end, 0.0));
    double busiest = 0, all = std::accumulate(items.begin(), items.end(), 0.0);
    for (int64_t slot = 0; slot < threads; ++slot)
      busiest = std::max(busiest, std::accumulate(items.begin() + count * slot / threads,
                                                  items.begin() + count * (slot + 1) / threads, 0.0));
    ASSERT_DOUBLE_EQ(busiestShare(axes, threads), busiest * double(threads) / all);
  }
}

} // namespace
} // namespace lathe
