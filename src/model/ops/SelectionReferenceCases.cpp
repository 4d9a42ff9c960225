// The parts of operators whose extents depend on data, against hand-computed values.
#include "ops/ReferenceTesting.h"

namespace lathe {
namespace {

TEST(SelectionReference, BindExtentsKeepsTheNumbers) {
  BindExtentsAttrs a;
  a.symbols = "n m";
  expectTensor(evaluate("bind_extents", a, {i64({2}, {3, 0})}), {2}, {3, 0});
  EXPECT_THROW(evaluate("bind_extents", a, {i64({2}, {3, -1})}), Error);
  EXPECT_THROW(evaluate("bind_extents", a, {i64({3}, {1, 2, 3})}), Error);
  a.most = "2;5";
  EXPECT_THROW(evaluate("bind_extents", a, {i64({2}, {3, 0})}), Error);
}

TEST(SelectionReference, CountsAndPositionsOfChunks) {
  Tensor x = f32({2, 3}, {0, 1, 2, 0, 0, 5});
  CountNonZeroAttrs count;
  count.chunk = 2;
  expectTensor(evaluate("count_non_zero", count, {x}), {3}, {1, 1, 1});
  expectTensor(evaluate("count_non_zero", CountNonZeroAttrs(), {x}), {1}, {3});
  expectTensor(evaluate("count_non_zero", count, {bools({0}, {})}), {1}, {0});
  NonZeroPositionsAttrs positions;
  positions.chunk = 2;
  expectTensor(evaluate("non_zero_positions", positions, {x, i64({3}, {1, 1, 1}), i64({1}, {3})}), {2, 3},
               {0, 0, 1, 1, 2, 2});
  EXPECT_THROW(evaluate("non_zero_positions", positions, {x, i64({3}, {1, 1, 1}), i64({1}, {2})}), Error);
  EXPECT_THROW(evaluate("non_zero_positions", positions, {x, i64({2}, {1, 2}), i64({1}, {3})}), Error);
}

TEST(SelectionReference, Iota) {
  expectTensor(evaluate("iota", IotaAttrs(), {i64({1}, {4})}), {4}, {0, 1, 2, 3});
  expectTensor(evaluate("iota", IotaAttrs(), {i64({1}, {0})}), {0}, {});
  EXPECT_THROW(evaluate("iota", IotaAttrs(), {i64({1}, {-1})}), Error);
}

TEST(SelectionReference, BoxesOfEveryBatchAndClass) {
  Tensor boxes = f32({1, 3, 4}, {0, 0, 1, 1, 0, 0, 1, 0.9F, 5, 5, 6, 6}), scores = f32({1, 2, 3}, {1, 3, 2, 3, 1, 2});
  auto found =
      evaluateAll("select_boxes", SelectBoxesAttrs(), {boxes, scores, i64({1}, {9}), f32({1}, {0.5F}), Tensor()});
  expectTensor(found[0], {1, 2, 3}, {1, 2, 0, 0, 2, 0});
  expectTensor(found[1], {1, 2}, {2, 2});
  expectTensor(evaluate("selected_boxes", SelectedBoxesAttrs(), {found[0], found[1], i64({1}, {4})}), {4, 3},
               {0, 0, 1, 0, 0, 2, 0, 1, 0, 0, 1, 2});
  EXPECT_THROW(evaluate("selected_boxes", SelectedBoxesAttrs(), {found[0], found[1], i64({1}, {3})}), Error);
}

TEST(SelectionReference, DistinctElements) {
  DistinctAttrs a;
  auto found = evaluateAll("distinct", a, {i32({5}, {4, 2, 4, 4, 1})});
  const std::vector<double> wanted[] = {{1, 2, 4, 0, 0}, {4, 1, 0, 0, 0}, {2, 1, 2, 2, 0}, {1, 1, 3, 0, 0}};
  for (size_t i = 0; i < 4; ++i)
    expectTensor(found[i], {5}, wanted[i]);
  expectTensor(found[4], {1}, {3});
  a.sorted = false;
  found = evaluateAll("distinct", a, {i32({5}, {4, 2, 4, 4, 1})});
  expectTensor(found[0], {5}, {4, 2, 1, 0, 0});
  expectTensor(found[2], {5}, {0, 1, 0, 0, 2});
  expectTensor(evaluateAll("distinct", a, {f32({0}, {})})[4], {1}, {0});
}

} // namespace
} // namespace lathe
