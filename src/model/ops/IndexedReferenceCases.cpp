// Operators that pick, place, order or sample elements, against hand-computed values.
#include "ops/ReferenceTesting.h"

#include <cmath>

namespace lathe {
namespace {

const double nan = std::nan("");

TEST(IndexedReference, GatherElements) { // the examples of ONNX's GatherElements
  GatherElementsAttrs a;
  a.axis = 1;
  expectTensor(evaluate("gather_elements", a, {f32({2, 2}, {1, 2, 3, 4}), i64({2, 2}, {0, 0, 1, 0})}), {2, 2},
               {1, 1, 4, 3});
  a.axis = 0;
  expectTensor(evaluate("gather_elements", a, {counting({3, 3}, 1), i32({2, 3}, {1, 2, 0, 2, 0, -3})}), {2, 3},
               {4, 8, 3, 7, 2, 3});
  EXPECT_THROW(evaluate("gather_elements", a, {counting({3, 3}), i64({1, 3}, {0, 3, 0})}), Error);
}

TEST(IndexedReference, GatherNd) {
  GatherNdAttrs a;
  expectTensor(evaluate("gather_nd", a, {counting({2, 2}), i64({2, 2}, {0, 0, 1, 1})}), {2}, {0, 3});
  expectTensor(evaluate("gather_nd", a, {counting({2, 2}), i64({2, 1}, {1, -2})}), {2, 2}, {2, 3, 0, 1});
  a.batch_dims = 1;
  expectTensor(evaluate("gather_nd", a, {counting({2, 2, 2}), i64({2, 1}, {1, 0})}), {2, 2}, {2, 3, 4, 5});
  EXPECT_THROW(evaluate("gather_nd", a, {counting({2, 2, 2}), i64({2, 1}, {1, 2})}), Error);
}

TEST(IndexedReference, ScatterElements) {
  ScatterElementsAttrs a;
  a.axis = 1;
  std::vector<Tensor> operands = {f32({1, 5}, {1, 2, 3, 4, 5}), i64({1, 2}, {1, -2}), f32({1, 2}, {1.5, 2.5})};
  expectTensor(evaluate("scatter_elements", a, operands), {1, 5}, {1, 1.5, 3, 2.5, 5});
  operands[1] = i64({1, 2}, {1, 1});
  expectTensor(evaluate("scatter_elements", a, operands), {1, 5}, {1, 2.5, 3, 4, 5});
  for (auto [reduction, expected] : {std::pair{"add", 6.0}, {"mul", 7.5}, {"max", 2.5}, {"min", 1.5}}) {
    a.reduction = reduction;
    expectTensor(evaluate("scatter_elements", a, operands), {1, 5}, {1, expected, 3, 4, 5});
  }
}

TEST(IndexedReference, ScatterNd) {
  ScatterNdAttrs a;
  expectTensor(evaluate("scatter_nd", a, {counting({8}, 1), i64({4, 1}, {4, 3, 1, 7}), f32({4}, {9, 10, 11, 12})}), {8},
               {1, 11, 3, 10, 9, 6, 7, 12});
  a.reduction = "add";
  expectTensor(evaluate("scatter_nd", a, {counting({2, 2}), i64({3, 1}, {1, 1, 0}), f32({3, 2}, {1, 1, 10, 20, 5, 5})}),
               {2, 2}, {5, 6, 13, 24});
}

TEST(IndexedReference, ExtentsThatDependOnData) {
  expectTensor(evaluate("non_zero", NonZeroAttrs(), {f32({2, 2}, {1, 0, 1, 1})}), {2, 3}, {0, 1, 1, 0, 0, 1});
  CompressAttrs c;
  c.axis = 0;
  expectTensor(evaluate("compress", c, {counting({3, 2}, 1), bools({2}, {false, true})}), {1, 2}, {3, 4});
  c.axis = INT64_MAX;
  expectTensor(evaluate("compress", c, {counting({3, 2}, 1), bools({5}, {false, true, false, false, true})}), {2},
               {2, 5});
  UniqueAttrs u;
  u.sorted = false;
  auto found = evaluateAll("unique", u, {f32({6}, {2, 1, 1, 3, 4, 3})});
  expectTensor(found[0], {4}, {2, 1, 3, 4});
  expectTensor(found[1], {4}, {0, 1, 3, 4});
  expectTensor(found[2], {6}, {0, 1, 1, 2, 3, 2});
  expectTensor(found[3], {4}, {1, 2, 2, 1});
  u.sorted = true;
  u.axis = 0;
  found = evaluateAll("unique", u, {f32({3, 2}, {1, 0, 0, 5, 1, 0})});
  expectTensor(found[0], {2, 2}, {0, 5, 1, 0});
  expectTensor(found[2], {3}, {1, 0, 1});
}

TEST(IndexedReference, NonMaxSuppression) { // the second box overlaps the first, the third does not
  Tensor boxes = f32({1, 3, 4}, {0, 0, 1, 1, 0, 0.1f, 1, 1.1f, 0, 10, 1, 11}),
         scores = f32({1, 1, 3}, {0.9f, 0.75f, 0.6f});
  NonMaxSuppressionAttrs a;
  expectTensor(evaluate("non_max_suppression", a, {boxes, scores, i64({1}, {3}), f32({1}, {0.5}), f32({1}, {0})}),
               {2, 3}, {0, 0, 0, 0, 0, 2});
  expectTensor(evaluate("non_max_suppression", a, {boxes, scores, i64({1}, {1}), f32({1}, {0.5}), Tensor()}), {1, 3},
               {0, 0, 0});
}

TEST(IndexedReference, ReverseSequence) {
  ReverseSequenceAttrs a;
  a.batch_axis = 0;
  a.time_axis = 1;
  expectTensor(evaluate("reverse_sequence", a, {counting({2, 3}), i64({2}, {2, 3})}), {2, 3}, {1, 0, 2, 5, 4, 3});
}

TEST(IndexedReference, RunningSums) {
  CumSumAttrs a;
  a.axis = 1;
  expectTensor(evaluate("cum_sum", a, {counting({2, 3}, 1)}), {2, 3}, {1, 3, 6, 4, 9, 15});
  a.exclusive = true;
  expectTensor(evaluate("cum_sum", a, {counting({2, 3}, 1)}), {2, 3}, {0, 1, 3, 0, 4, 9});
  a.reverse = true;
  expectTensor(evaluate("cum_sum", a, {counting({2, 3}, 1)}), {2, 3}, {5, 3, 0, 11, 6, 0});
  expectTensor(evaluate("cum_prod", CumProdAttrs(), {i64({3}, {2, 3, 4})}), {3}, {2, 6, 24});
}

TEST(IndexedReference, TopK) {
  TopKAttrs a;
  a.k = 3;
  auto most = evaluateAll("top_k", a, {f32({5}, {1, 7, 7, 2, 3})});
  expectTensor(most[0], {3}, {7, 7, 3});
  expectTensor(most[1], {3}, {1, 2, 4});
  most = evaluateAll("top_k", a, {f32({3}, {1, static_cast<float>(nan), 9})});
  expectTensor(most[0], {3}, {nan, 9, 1});
  a.largest = false;
  a.axis = 0;
  a.k = 1;
  auto least = evaluateAll("top_k", a, {i64({2, 2}, {5, 1, 4, 8}), i64({1}, {1})});
  expectTensor(least[0], {1, 2}, {4, 1});
  expectTensor(least[1], {1, 2}, {1, 0});
}

TEST(IndexedReference, GridSample) {
  GridSampleAttrs a;
  a.align_corners = true;
  Tensor x = counting({1, 1, 2, 2});
  // Corner, centre, and a place half outside.
  Tensor grid = f32({1, 1, 3, 2}, {-1, -1, 0, 0, 2, 1});
  expectTensor(evaluate("grid_sample", a, {x, grid}), {1, 1, 1, 3}, {0, 1.5, 1.5});
  a.padding_mode = "border";
  expectTensor(evaluate("grid_sample", a, {x, grid}), {1, 1, 1, 3}, {0, 1.5, 3});
  a.padding_mode = "reflection";
  expectTensor(evaluate("grid_sample", a, {x, grid}), {1, 1, 1, 3}, {0, 1.5, 2.5});
  a.mode = "nearest";
  expectTensor(evaluate("grid_sample", a, {x, f32({1, 1, 1, 2}, {0.2f, -0.7f})}), {1, 1, 1, 1}, {1});
}

TEST(IndexedReference, RoiAlign) { // one sample in the middle of each bin
  RoiAlignAttrs a;
  a.output_height = a.output_width = 2;
  a.sampling_ratio = 1;
  a.coordinate_mode = "output_half_pixel";
  expectTensor(evaluate("roi_align", a, {counting({1, 1, 4, 4}), f32({1, 4}, {0, 0, 2, 2}), i64({1}, {0})}),
               {1, 1, 2, 2}, {2.5, 3.5, 6.5, 7.5});
  EXPECT_THROW(evaluate("roi_align", a, {counting({1, 1, 4, 4}), f32({1, 4}, {0, 0, 2, 2}), i64({1}, {1})}), Error);
}

TEST(IndexedReference, PoolAndUnpool) {
  MaxPoolIndicesAttrs a;
  a.kernel = a.strides = {2, 2};
  a.pads = {0, 0, 0, 0};
  a.dilations = {1, 1};
  Tensor x = f32({1, 1, 2, 4}, {1, 5, 2, 2, 3, 4, 9, 9});
  Tensor indices = evaluate("max_pool_indices", a, {x});
  expectTensor(indices, {1, 1, 1, 2}, {1, 6});
  a.column_major = true;
  expectTensor(evaluate("max_pool_indices", a, {x}), {1, 1, 1, 2}, {2, 5});
  MaxUnpoolAttrs u;
  u.kernel = u.strides = {2, 2};
  u.pads = {0, 0, 0, 0};
  expectTensor(evaluate("max_unpool", u, {f32({1, 1, 1, 2}, {5, 9}), indices}), {1, 1, 2, 4}, {0, 5, 0, 0, 0, 0, 9, 0});
}

TEST(IndexedReference, Col2Im) { // overlapping blocks add up
  Col2ImAttrs a;
  a.image = {1, 3};
  a.block = {1, 2};
  a.strides = a.dilations = {1, 1};
  a.pads = {0, 0, 0, 0};
  expectTensor(evaluate("col2im", a, {f32({1, 2, 2}, {1, 2, 10, 20})}), {1, 1, 1, 3}, {1, 12, 20});
}

TEST(IndexedReference, Det) {
  expectTensor(evaluate("det", DetAttrs(), {f32({2, 2, 2}, {0, 2, 3, 4, 1, 2, 2, 4})}), {2}, {-6, 0});
}

} // namespace
} // namespace lathe
