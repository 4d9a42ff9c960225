#include "codegen/space/WorkItems.h"

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
