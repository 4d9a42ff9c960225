// Compares padding that depends on extents with the definition of SAME.
#include "ops/WindowPads.h"
#include "support/Error.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace lathe {
namespace {

TEST(WindowPads, FollowExtentsAsSameDoes) {
  for (int64_t window = 1; window <= 9; ++window)
    for (int64_t stride = 1; stride <= 5; ++stride)
      for (SamePadding rule : {sameUpper, sameLower}) {
        const std::vector<int64_t> open = samePads({Dim::symbol("H")}, {window}, {stride}, rule);
        int64_t most = 0;
        for (int64_t in = 1; in <= 40; ++in) {
          int64_t out = (in + stride - 1) / stride, total = std::max<int64_t>((out - 1) * stride + window - in, 0);
          int64_t begin = rule == sameUpper ? total / 2 : total - total / 2;
          SCOPED_TRACE(fmt::format("window {} stride {} rule {} extent {}", window, stride, int(rule), in));
          EXPECT_EQ(samePads({in}, {window}, {stride}, rule), (std::vector<int64_t>{begin, total - begin}));
          int64_t shift = windowShift(open, 0, 1, window, stride, in).constant();
          EXPECT_EQ(open[0] - shift, begin);
          EXPECT_EQ((in + open[0] + open[1] - window) / stride + 1, out);
          EXPECT_LE(shift, mostShift(open, 0, 1, window, stride));
          // No window reaches beyond the greatest padding.
          EXPECT_LE((out - 1) * stride + shift - open[0] + window, in + open[1]);
          most = std::max(most, shift);
        }
        EXPECT_EQ(most, mostShift(open, 0, 1, window, stride));
        EXPECT_EQ(hasFollowingPads(open, 1), most > 0);
      }
}

TEST(WindowPads, SettleAxisByAxis) {
  const Dim H = Dim::symbol("H");
  ConvAttrs conv;
  conv.strides = {2, 2};
  conv.dilations = {1, 1};
  conv.pads = samePads({H, H}, {3, 3}, {2, 2}, sameUpper);
  EXPECT_EQ(conv.pads, (std::vector<int64_t>{1, 1, 1, 1, 1, 1}));
  const Dims w = {8, 3, 3, 3};
  EXPECT_FALSE(settlePads(conv, {1, 3, H, H}, w));
  EXPECT_TRUE(settlePads(conv, {1, 3, H, 8}, w));
  EXPECT_EQ(conv.pads, (std::vector<int64_t>{1, 0, 1, 1, 1, 0}));
  EXPECT_TRUE(settlePads(conv, {1, 3, 7, 8}, w));
  EXPECT_EQ(conv.pads, (std::vector<int64_t>{1, 0, 1, 1}));
  EXPECT_FALSE(settlePads(conv, {1, 3, 7, 8}, w));
}

TEST(WindowPads, AreChecked) {
  EXPECT_THROW(checkPads("c", {1, 1, 1}, 2), Error);
  EXPECT_THROW(checkFollowingPads("c", {1, 1, 2}, 0, 1, 3), Error);
  EXPECT_THROW(checkFollowingPads("c", {0, 2, 1}, 0, 1, 3), Error);
  EXPECT_THROW(checkFollowingPads("c", {1, 1, 1}, 0, 1, Dim::symbol("K")), Error);
  checkFollowingPads("c", {1, 1, 1}, 0, 1, 3);
  checkFollowingPads("c", {5, 5, 0}, 0, 1, Dim::symbol("K"));
}

} // namespace
} // namespace lathe
