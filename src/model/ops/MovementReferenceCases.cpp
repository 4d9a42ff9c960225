#include "ops/ReferenceTesting.h"

#include <cmath>

namespace lathe {
namespace {

Tensor strings(Shape dims, std::vector<std::string> values) {
  Tensor t(ElementType::string, std::move(dims));
  t.strings() = std::move(values);
  return t;
}

template <class A> A reduceAttrs(std::vector<int64_t> axes, bool keepdims) {
  A a;
  a.axes = axes;
  a.keepdims = keepdims;
  return a;
}

TEST(Reference, Reductions) {
  Tensor x = f32({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, -8});
  expectTensor(evaluate("reduce_sum", reduceAttrs<ReduceSumAttrs>({1}, true), {x}), {2, 1, 2}, {4, 6, 12, -2});
  expectTensor(evaluate("reduce_sum", reduceAttrs<ReduceSumAttrs>({0, -1}, false), {x}), {2}, {14, 6});
  expectTensor(evaluate("reduce_sum", ReduceSumAttrs(), {x}), {1, 1, 1}, {20});
  expectTensor(evaluate("reduce_sum", ReduceSumAttrs(), {x, i64({1}, {2})}), {2, 2, 1}, {3, 7, 11, -1});
  ReduceSumAttrs noop;
  noop.noop_with_empty_axes = true;
  expectTensor(evaluate("reduce_sum", noop, {x}), {2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, -8});
  expectTensor(evaluate("reduce_sum", reduceAttrs<ReduceSumAttrs>({0}, false), {f32({0, 2}, {})}), {2}, {0, 0});
  expectTensor(evaluate("reduce_mean", reduceAttrs<ReduceMeanAttrs>({2}, false), {x}), {2, 2}, {1.5, 3.5, 5.5, -0.5});
  expectTensor(evaluate("reduce_mean", reduceAttrs<ReduceMeanAttrs>({0}, false), {i32({3}, {1, 2, 5})}), {}, {2});
  expectTensor(evaluate("reduce_max", reduceAttrs<ReduceMaxAttrs>({2}, false), {x}), {2, 2}, {2, 4, 6, 7});
  expectTensor(evaluate("reduce_max", reduceAttrs<ReduceMaxAttrs>({0}, false), {f32({0}, {})}), {}, {-INFINITY});
  auto nothing = [](ElementType type) { return Tensor(type, {0}); };
  expectTensor(evaluate("reduce_max", reduceAttrs<ReduceMaxAttrs>({0}, false), {nothing(ElementType::i8)}), {}, {-128});
  expectTensor(evaluate("reduce_max", reduceAttrs<ReduceMaxAttrs>({0}, false), {nothing(ElementType::u8)}), {}, {0});
  expectTensor(evaluate("reduce_min", reduceAttrs<ReduceMinAttrs>({0}, false), {nothing(ElementType::i16)}), {},
               {32767});
  expectTensor(evaluate("reduce_min", reduceAttrs<ReduceMinAttrs>({0}, false), {nothing(ElementType::u8)}), {}, {255});
  expectTensor(evaluate("reduce_min", reduceAttrs<ReduceMinAttrs>({0}, false), {x}), {2, 2}, {1, 2, 3, -8});
  expectTensor(evaluate("reduce_min", reduceAttrs<ReduceMinAttrs>({0}, false), {f64({2}, {1, NAN})}), {}, {NAN});
  expectTensor(evaluate("reduce_prod", reduceAttrs<ReduceProdAttrs>({1, 2}, false), {x}), {2}, {24, -1680});
  expectTensor(evaluate("reduce_l1", reduceAttrs<ReduceL1Attrs>({1, 2}, false), {x}), {2}, {10, 26});
  expectTensor(evaluate("reduce_l2", reduceAttrs<ReduceL2Attrs>({2}, false), {f32({1, 1, 2}, {3, 4})}), {1, 1}, {5});
  expectTensor(evaluate("reduce_sum_square", reduceAttrs<ReduceSumSquareAttrs>({2}, false), {x}), {2, 2},
               {5, 25, 61, 113});
  expectTensor(evaluate("reduce_log_sum", reduceAttrs<ReduceLogSumAttrs>({0}, false), {f32({2}, {1, 3})}), {},
               {std::log(4.0)});
  expectTensor(evaluate("reduce_log_sum_exp", reduceAttrs<ReduceLogSumExpAttrs>({0}, false),
                        {f64({3}, {1000, 1001, -INFINITY})}),
               {}, {1000 + std::log(1 + std::exp(1.0))});
}

TEST(Reference, PositionsOfExtremes) {
  Tensor x = f32({2, 3}, {2, 1, 2, 3, 10, 3});
  ArgMaxAttrs max;
  max.axis = 1;
  expectTensor(evaluate("arg_max", max, {x}), {2, 1}, {0, 1});
  max.select_last_index = true;
  max.keepdims = false;
  expectTensor(evaluate("arg_max", max, {x}), {2}, {2, 1});
  ArgMinAttrs min;
  expectTensor(evaluate("arg_min", min, {x}), {1, 3}, {0, 0, 0});
}

TEST(Reference, Views) {
  ReshapeAttrs reshape;
  reshape.shape = {0, -1};
  expectTensor(evaluate("reshape", reshape, {counting({2, 2, 2})}), {2, 4}, {0, 1, 2, 3, 4, 5, 6, 7});
  expectTensor(evaluate("reshape", ReshapeAttrs(), {counting({4}), i64({2}, {2, -1})}), {2, 2}, {0, 1, 2, 3});
  ShapeAttrs shape;
  expectTensor(evaluate("shape", shape, {counting({2, 3, 4})}), {3}, {2, 3, 4});
  shape.start = -2;
  shape.end = -1;
  expectTensor(evaluate("shape", shape, {counting({2, 3, 4})}), {1}, {3});
  ConstantOfShapeAttrs fill;
  fill.value = 7;
  fill.type = ElementType::i32;
  expectTensor(evaluate("constant_of_shape", fill, {i64({2}, {2, 2})}), {2, 2}, {7, 7, 7, 7});
  expectTensor(evaluate("range", RangeAttrs(), {i64({}, {10}), i64({}, {4}), i64({}, {-2})}), {3}, {10, 8, 6});
  expectTensor(evaluate("range", RangeAttrs(), {f32({}, {1}), f32({}, {2}), f32({}, {0.25})}), {4},
               {1, 1.25, 1.5, 1.75});
  expectTensor(evaluate("range", RangeAttrs(), {f32({}, {3}), f32({}, {2}), f32({}, {1})}), {0}, {});
  EXPECT_THROW(evaluate("range", RangeAttrs(), {f32({}, {1}), f32({}, {2}), f32({}, {0})}), Error);
}

TEST(Reference, TransposeConcatSplit) {
  TransposeAttrs reversed;
  expectTensor(evaluate("transpose", reversed, {counting({2, 3})}), {3, 2}, {0, 3, 1, 4, 2, 5});
  TransposeAttrs perm;
  perm.perm = {1, 0, 2};
  expectTensor(evaluate("transpose", perm, {counting({2, 2, 2})}), {2, 2, 2}, {0, 1, 4, 5, 2, 3, 6, 7});
  EXPECT_EQ(evaluate("transpose", reversed, {strings({2, 2}, {"a", "b", "c", "d"})}).strings(),
            (std::vector<std::string>{"a", "c", "b", "d"}));
  expectTensor(evaluate("transpose", reversed, {i64({1, 3}, {-1, 2, 3}).convertedTo(ElementType::i4)}), {3, 1},
               {-1, 2, 3});

  ConcatAttrs concat;
  concat.axis = -1;
  expectTensor(evaluate("concat", concat, {counting({2, 1}), counting({2, 2}, 10), f32({2, 0}, {})}), {2, 3},
               {0, 10, 11, 1, 12, 13});
  SplitAttrs split;
  split.axis = 1;
  split.sizes = {1, 2};
  auto pieces = evaluateAll("split", split, {counting({2, 3})});
  ASSERT_EQ(pieces.size(), 2u);
  expectTensor(pieces[0], {2, 1}, {0, 3});
  expectTensor(pieces[1], {2, 2}, {1, 2, 4, 5});
}

TEST(Reference, SliceAndGather) {
  SliceAttrs slice;
  slice.starts = {1, 0};
  slice.ends = {2, 1000};
  slice.steps = {1, 2};
  expectTensor(evaluate("slice", slice, {counting({3, 4})}), {1, 2}, {4, 6});
  SliceAttrs back;
  back.starts = {-1};
  back.ends = {INT64_MIN};
  back.axes = {1};
  back.steps = {-1};
  expectTensor(evaluate("slice", back, {counting({2, 3})}), {2, 3}, {2, 1, 0, 5, 4, 3});
  back.steps = {INT64_MIN};
  expectTensor(evaluate("slice", back, {counting({2, 3})}), {2, 1}, {2, 5});
  expectTensor(evaluate("slice", SliceAttrs(), {counting({4}), i64({1}, {0}), i64({1}, {-1})}), {3}, {0, 1, 2});
  expectTensor(evaluate("slice", SliceAttrs(), {counting({4}), i64({1}, {3}), i64({1}, {1})}), {0}, {});

  GatherAttrs gather;
  gather.axis = 1;
  expectTensor(evaluate("gather", gather, {counting({2, 3}), i64({1, 2}, {0, -1})}), {2, 1, 2}, {0, 2, 3, 5});
  gather.axis = 0;
  EXPECT_EQ(evaluate("gather", gather, {strings({2}, {"a", "b"}), i32({}, {1})}).strings(),
            (std::vector<std::string>{"b"}));
  EXPECT_THROW(evaluate("gather", gather, {counting({2}), i64({1}, {2})}), Error);
}

TEST(Reference, PadExpandTile) {
  PadAttrs pad;
  pad.pads = {0, 2, 0, 1};
  pad.value = 9;
  Tensor x = f32({2, 2}, {1, 2, 3, 4});
  expectTensor(evaluate("pad", pad, {x}), {2, 5}, {9, 9, 1, 2, 9, 9, 9, 3, 4, 9});
  expectTensor(evaluate("pad", PadAttrs(), {x, i64({4}, {1, 0, 0, -1}), f32({}, {5})}), {3, 1}, {5, 1, 3});
  Tensor row = f32({3}, {1, 2, 3});
  PadAttrs mode;
  mode.pads = {2, 3};
  mode.mode = "reflect";
  expectTensor(evaluate("pad", mode, {row}), {8}, {3, 2, 1, 2, 3, 2, 1, 2});
  mode.mode = "edge";
  expectTensor(evaluate("pad", mode, {row}), {8}, {1, 1, 1, 2, 3, 3, 3, 3});
  mode.mode = "wrap";
  expectTensor(evaluate("pad", mode, {row}), {8}, {2, 3, 1, 2, 3, 1, 2, 3});
  mode.mode = "edge";
  mode.pads = {-1, 1};
  expectTensor(evaluate("pad", mode, {row}), {3}, {2, 3, 3});
  EXPECT_EQ(evaluate("pad", PadAttrs(), {strings({1}, {"a"}), i64({2}, {1, 0})}).strings(),
            (std::vector<std::string>{"", "a"}));

  ExpandAttrs expand;
  expand.shape = {2, 1, 2};
  expectTensor(evaluate("expand", expand, {f32({2, 1}, {1, 2})}), {2, 2, 2}, {1, 1, 2, 2, 1, 1, 2, 2});
  TileAttrs tile;
  tile.repeats = {2, 2};
  expectTensor(evaluate("tile", tile, {f32({1, 2}, {1, 2})}), {2, 4}, {1, 2, 1, 2, 1, 2, 1, 2});
}

TEST(Reference, DepthAndSpace) {
  SpaceToDepthAttrs toDepth;
  toDepth.block_size = 2;
  expectTensor(evaluate("space_to_depth", toDepth, {counting({1, 1, 2, 4})}), {1, 4, 1, 2}, {0, 2, 1, 3, 4, 6, 5, 7});
  DepthToSpaceAttrs toSpace;
  toSpace.block_size = 2;
  // ONNX's example, shortened: 8 channels of 1 x 1.
  expectTensor(evaluate("depth_to_space", toSpace, {counting({1, 8, 1, 1})}), {1, 2, 2, 2}, {0, 2, 4, 6, 1, 3, 5, 7});
  toSpace.mode = "CRD";
  expectTensor(evaluate("depth_to_space", toSpace, {counting({1, 8, 1, 1})}), {1, 2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7});
}

// Values from the examples of ONNX's Resize.
TEST(Reference, ResizeNearest) {
  ResizeAttrs a;
  a.scales = {1, 1, 2, 3};
  expectTensor(evaluate("resize", a, {f32({1, 1, 2, 2}, {1, 2, 3, 4})}), {1, 1, 4, 6},
               {1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 3, 3, 3, 4, 4, 4});
  a.scales = {1, 1, 0.6, 0.6};
  expectTensor(evaluate("resize", a, {counting({1, 1, 2, 4}, 1)}), {1, 1, 1, 2}, {1, 3});
  ResizeAttrs sizes;
  sizes.nearest_mode = "floor";
  sizes.coordinate_mode = "align_corners";
  sizes.sizes = {-1, -1, 8, 8};
  Tensor y = evaluate("resize", sizes, {counting({1, 1, 4, 4}, 1)});
  expectTensor(y.reshaped({8, 8}), {8, 8},
               {1,  1,  1,  2,  2, 3, 3, 4,  1,  1,  1,  2,  2,  3,  3,  4,  1,  1,  1,  2, 2, 3,
                3,  4,  5,  5,  5, 6, 6, 7,  7,  8,  5,  5,  5,  6,  6,  7,  7,  8,  9,  9, 9, 10,
                10, 11, 11, 12, 9, 9, 9, 10, 10, 11, 11, 12, 13, 13, 13, 14, 14, 15, 15, 16});
  expectTensor(evaluate("resize", ResizeAttrs(), {i32({1, 2}, {1, 2}), Tensor(), f32({0}, {}), i64({2}, {1, 4})}),
               {1, 4}, {1, 1, 2, 2});
  EXPECT_THROW(evaluate("resize", ResizeAttrs(), {f32({1, 2}, {1, 2})}), Error);
}

TEST(Reference, ResizeLinear) {
  ResizeAttrs a;
  a.mode = "linear";
  a.scales = {1, 1, 2, 2};
  Tensor x = f32({1, 1, 2, 2}, {1, 2, 3, 4});
  expectTensor(evaluate("resize", a, {x}), {1, 1, 4, 4},
               {1, 1.25, 1.75, 2, 1.5, 1.75, 2.25, 2.5, 2.5, 2.75, 3.25, 3.5, 3, 3.25, 3.75, 4});
  a.coordinate_mode = "align_corners";
  expectTensor(
      evaluate("resize", a, {x}), {1, 1, 4, 4},
      {1, 4 / 3.0, 5 / 3.0, 2, 5 / 3.0, 2, 7 / 3.0, 8 / 3.0, 7 / 3.0, 8 / 3.0, 3, 10 / 3.0, 3, 10 / 3.0, 11 / 3.0, 4});
  a.coordinate_mode = "asymmetric";
  a.scales = {1, 1, 1, 2};
  expectTensor(evaluate("resize", a, {x}), {1, 1, 2, 4}, {1, 1.5, 2, 2, 3, 3.5, 4, 4});
  a.coordinate_mode = "half_pixel";
  a.antialias = true;
  a.scales = {1, 1, 0.6, 0.6};
  expectTensor(evaluate("resize", a, {counting({1, 1, 4, 4}, 1)}), {1, 1, 2, 2}, {2.875, 4.5, 9.375, 11});
  ResizeAttrs crop;
  crop.mode = "linear";
  crop.coordinate_mode = "tf_crop_and_resize";
  crop.extrapolation_value = 10;
  crop.roi = {0, 0, 0.4, 0.6, 1, 1, 1.2, 1.7};
  crop.sizes = {1, 1, 3, 3};
  expectTensor(evaluate("resize", crop, {counting({1, 1, 4, 4}, 1)}), {1, 1, 3, 3},
               {7.6, 10, 10, 12.4, 10, 10, 10, 10, 10}, 1e-5);
}

TEST(Reference, ResizeCubic) {
  ResizeAttrs a;
  a.mode = "cubic";
  a.scales = {1, 1, 0.8, 0.8};
  expectTensor(
      evaluate("resize", a, {counting({1, 1, 4, 4}, 1)}), {1, 1, 3, 3},
      {1.47119141, 2.78125, 4.08251953, 6.71142578, 8.02148438, 9.32275391, 11.91650391, 13.2265625, 14.52783203},
      1e-6);
  a.coordinate_mode = "align_corners";
  expectTensor(evaluate("resize", a, {counting({1, 1, 4, 4}, 1)}), {1, 1, 3, 3},
               {1, 2.39519159, 3.79038317, 6.58076634, 7.97595793, 9.37114951, 12.16153268, 13.55672427, 14.95191585},
               1e-6);
}

} // namespace
} // namespace lathe
