// Shape functions of operators that move elements.
#include "ops/ShapeTesting.h"

namespace lathe {
namespace {

using namespace shape_testing;

TEST(Shape, Views) {
  ReshapeAttrs a;
  a.shape = {0, -1};
  EXPECT_EQ(infer("reshape", a, {tensor("f32 N 64 7 7")}), "f32 N 3136");
  EXPECT_EQ(infer("reshape", ReshapeAttrs(), {tensor("f32 N 4"), values("N*2 2")}), "f32 N*2 2");
  EXPECT_EQ(infer("reshape", ReshapeAttrs(), {tensor("f32 N 4"), tensor("i64 3")}), "f32 ? ? ?");
  // An extent of 0 copies the operand's extent. -1 is computed from the other extents, even if the tensor has no
  // elements.
  ReshapeAttrs copies;
  copies.shape = {0, 0, -1};
  EXPECT_EQ(infer("reshape", copies, {tensor("f32 2 0 3 5")}), "f32 2 0 15");
  EXPECT_EQ(infer("reshape", copies, {tensor("f32 N K 3 5")}), "f32 N K 15");
  expectViolation("reshape_c1", "reshape", with(a, [](auto &a) { a.shape = {5}; }), {tensor("f32 2 2")});
  expectViolation("reshape_c1", "reshape", with(a, [](auto &a) { a.shape = {3, -1}; }), {tensor("f32 2 2")});
  expectViolation("reshape_c1", "reshape", with(a, [](auto &a) { a.shape = {0, -1}, a.allow_zero = true; }),
                  {tensor("f32 N 2")});
  expectViolation("reshape_c2", "reshape", with(a, [](auto &a) { a.shape = {-1, -1}; }), {tensor("f32 2 2")});
  expectViolation("reshape_c2", "reshape", with(a, [](auto &a) { a.shape = {-7}; }), {tensor("f32 2 2")});
  expectViolation("reshape_c3", "reshape", with(a, [](auto &a) { a.shape = {4, 0}; }), {tensor("f32 4")});
  expectViolation("reshape_c4", "reshape", a, {tensor("f32 4"), tensor("i64 K")});
  EXPECT_EQ(contents("shape", ShapeAttrs(), {tensor("f32 N 3 7")}), "N 3 7");
  EXPECT_EQ(contents("shape", with(ShapeAttrs(), [](auto &a) { a.start = -2, a.end = 100; }), {tensor("f32 N 3 7")}),
            "3 7");
  ConstantOfShapeAttrs fill;
  fill.type = ElementType::i64;
  fill.value = 5;
  EXPECT_EQ(infer("constant_of_shape", fill, {values("N 2")}), "i64 N 2");
  EXPECT_EQ(contents("constant_of_shape", fill, {values("3")}), "5 5 5");
  expectViolation("constant_of_shape_c1", "constant_of_shape", fill, {tensor("i64 K")});
  expectViolation("constant_of_shape_c2", "constant_of_shape", fill, {values("-1")});
  expectViolation("constant_of_shape_c3", "constant_of_shape", ConstantOfShapeAttrs(), {values("1")});
  EXPECT_EQ(contents("range", RangeAttrs(), {scalar(2), scalar(9), scalar(3)}), "2 5 8");
  EXPECT_EQ(infer("range", RangeAttrs(), {scalar(2), scalar(-9), scalar(3)}), "i64 0");
  EXPECT_EQ(infer("range", RangeAttrs(), {tensor("f32"), tensor("f32"), tensor("f32")}), "f32 ?");
  expectViolation("range_c1", "range", RangeAttrs(), {tensor("f32"), tensor("f32 2"), tensor("f32")});
  expectViolation("range_c2", "range", RangeAttrs(), {scalar(2), scalar(9), scalar(0)});
  expectViolation("range_c3", "range", RangeAttrs(), {tensor("bool"), tensor("bool"), tensor("bool")});
}

TEST(Shape, Movement) {
  TensorInfo x = tensor("f32 N 3 8 8");
  EXPECT_EQ(infer("transpose", TransposeAttrs(), {x}), "f32 8 8 3 N");
  expectViolation("transpose_c1", "transpose", with(TransposeAttrs(), [](auto &a) { a.perm = {0, 0, 1, 2}; }), {x});
  ConcatAttrs concat;
  concat.axis = 1;
  EXPECT_EQ(infer("concat", concat, {x, tensor("f32 N 5 8 8"), tensor("f32 N C 8 8")}), "f32 N C + 8 8 8");
  expectViolation("concat_c1", "concat", concat, {});
  expectViolation("concat_c2", "concat", concat, {tensor("f32 2")});
  expectViolation("concat_c3", "concat", concat, {x, tensor("f64 N 5 8 8")});
  expectViolation("concat_c4", "concat", concat, {x, tensor("f32 N 5 8 9")});
  SplitAttrs split;
  split.axis = 1;
  split.sizes = {1, 2};
  EXPECT_EQ(str(inferAll("split", split, {x}).at(1).dims), "Nx2x8x8");
  expectViolation("split_c1", "split", with(split, [](auto &a) { a.axis = -5; }), {x});
  expectViolation("split_c2", "split", with(split, [](auto &a) { a.sizes = {4, -1}; }), {x});
  expectViolation("split_c2", "split", with(split, [](auto &a) { a.sizes = {}; }), {x});
  expectViolation("split_c3", "split", with(split, [](auto &a) { a.sizes = {4}; }), {x});
  GatherAttrs gather;
  gather.axis = 2;
  EXPECT_EQ(infer("gather", gather, {x, tensor("i32 K 2")}), "f32 N 3 K 2 8");
  expectViolation("gather_c1", "gather", gather, {tensor("f32 2"), tensor("i64")});
  expectViolation("gather_c2", "gather", gather, {x, tensor("f32 2")});
  expectViolation("gather_c3", "gather", gather, {tensor("f32 2 3 0 8"), tensor("i32 1")});
  PadAttrs pad;
  pad.pads = {0, 0, 1, 2, 0, 0, 3, -4};
  EXPECT_EQ(infer("pad", pad, {x}), "f32 N 3 12 6");
  EXPECT_EQ(infer("pad", PadAttrs(), {x, tensor("i64 8")}), "f32 ? ? ? ?");
  expectViolation("pad_c1", "pad", PadAttrs(), {x});
  expectViolation("pad_c2", "pad", with(pad, [](auto &a) { a.mode = "mirror"; }), {x});
  expectViolation("pad_c3", "pad", pad, {tensor("f32 1 1 1 1")});
  expectViolation("pad_c4", "pad", pad, {x, absent, tensor("f64")});
  expectViolation("pad_c5", "pad", with(pad, [](auto &a) { a.mode = "edge"; }), {tensor("f32 1 1 0 9")});
  EXPECT_EQ(infer("expand", ExpandAttrs(), {tensor("f32 3 1"), values("N 1 7")}), "f32 N 3 7");
  expectViolation("expand_c1", "expand", with(ExpandAttrs(), [](auto &a) { a.shape = {2}; }), {tensor("f32 3")});
  expectViolation("expand_c2", "expand", ExpandAttrs(), {x, tensor("i64 K")});
  expectViolation("expand_c3", "expand", with(ExpandAttrs(), [](auto &a) { a.shape = {-1}; }), {tensor("f32 1")});
  TileAttrs tile;
  tile.repeats = {2, 1, 1, 0};
  EXPECT_EQ(infer("tile", tile, {x}), "f32 N*2 3 8 0");
  expectViolation("tile_c1", "tile", tile, {tensor("f32 2")});
  expectViolation("tile_c2", "tile", with(tile, [](auto &a) { a.repeats = {1, 1, 1, -1}; }), {x});
  SpaceToDepthAttrs toDepth;
  toDepth.block_size = 2;
  DepthToSpaceAttrs toSpace;
  toSpace.block_size = 2;
  EXPECT_EQ(infer("space_to_depth", toDepth, {x}), "f32 N 12 4 4");
  EXPECT_EQ(infer("depth_to_space", toSpace, {tensor("f32 N 12 4 4")}), "f32 N 3 8 8");
  expectViolation("block_c1", "space_to_depth", toDepth, {tensor("f32 2")});
  expectViolation("block_c2", "depth_to_space", with(toSpace, [](auto &a) { a.block_size = 0; }), {x});
  expectViolation("block_c3", "space_to_depth", toDepth, {tensor("f32 1 1 3 4")});
  expectViolation("block_c4", "depth_to_space", toSpace, {tensor("f32 1 6 3 4")});
  expectViolation("block_c5", "depth_to_space", with(toSpace, [](auto &a) { a.mode = "XYZ"; }),
                  {tensor("f32 1 4 1 1")});
}

TEST(Shape, Slice) {
  auto slice = [](std::vector<int64_t> starts, std::vector<int64_t> ends, std::vector<int64_t> axes = {},
                  std::vector<int64_t> steps = {}) {
    SliceAttrs a;
    a.starts = starts;
    a.ends = ends;
    a.axes = axes;
    a.steps = steps;
    return a;
  };
  TensorInfo x = tensor("f32 N 10");
  EXPECT_EQ(infer("slice", slice({2}, {-1}, {1}), {x}), "f32 N 7");
  EXPECT_EQ(infer("slice", slice({-1}, {INT64_MIN}, {1}, {-3}), {x}), "f32 N 4");
  EXPECT_EQ(infer("slice", slice({0}, {INT64_MAX}), {x}), "f32 N 10");
  EXPECT_EQ(infer("slice", slice({0}, {INT64_MAX}, {0}, {2}), {x}), "f32 floordiv(N + 1, 2) 10");
  // The part of the axis behind a convolution's padding is never negative, for all values of the symbol.
  EXPECT_EQ(infer("slice", slice({1}, {-1}, {0}, {2}), {tensor("f32 H+2")}), "f32 floordiv(H + 1, 2)");
  EXPECT_EQ(infer("slice", slice({5}, {2}, {1}), {x}), "f32 N 0");
  EXPECT_EQ(infer("slice", slice({-1}, {INT64_MAX}, {0}, {-1}), {tensor("f32 3")}), "f32 0");
  EXPECT_EQ(infer("slice", slice({INT64_MAX}, {INT64_MIN}, {0}, {-1}), {tensor("f32 3")}), "f32 3");
  EXPECT_EQ(infer("slice", slice({INT64_MAX}, {INT64_MIN}, {0}, {INT64_MIN + 1}), {tensor("f32 N")}),
            "f32 floordiv(N + 2147483647, 2147483648)");
  EXPECT_EQ(infer("slice", SliceAttrs(), {x, values("0"), tensor("i64 1"), values("1")}), "f32 N ?");
  EXPECT_EQ(contents("slice", slice({0}, {2}), {values("N 3 7")}), "N 3");
  EXPECT_EQ(contents("slice", slice({-1}, {-100}, {0}, {-1}), {values("N 3 7")}), "7 3 N");
  expectViolation("slice_c1", "slice", slice({0, 0}, {1}, {0}), {x});
  expectViolation("slice_c1", "slice", slice({0}, {1}, {0}, {1, 1}), {x});
  expectViolation("slice_c1", "slice", slice({0, 0, 0}, {1, 1, 1}), {x});
  expectViolation("slice_c2", "slice", slice({0}, {1}, {2}), {x});
  expectViolation("slice_c2", "slice", slice({0, 0}, {1, 1}, {1, -1}), {x});
  expectViolation("slice_c3", "slice", slice({0}, {1}, {0}, {0}), {x});
}

TEST(Shape, Resize) {
  TensorInfo x = tensor("f32 N 3 8 10");
  ResizeAttrs a;
  a.scales = {1, 1, 2, 0.25};
  EXPECT_EQ(infer("resize", a, {x}), "f32 N 3 16 2");
  EXPECT_EQ(infer("resize", with(ResizeAttrs(), [](auto &a) { a.sizes = {-1, -1, 7, 9}; }), {x}), "f32 N 3 7 9");
  EXPECT_EQ(infer("resize", ResizeAttrs(), {x, absent, tensor("f32 0"), values("N 3 16 16")}), "f32 N 3 16 16");
  EXPECT_EQ(infer("resize", ResizeAttrs(), {x, absent, tensor("f32 4")}), "f32 ? ? ? ?");
  expectViolation("resize_c1", "resize", ResizeAttrs(), {x});
  expectViolation("resize_c1", "resize", with(a, [](auto &a) { a.sizes = {1, 1, 1, 1}; }), {x});
  EXPECT_EQ(infer("resize", with(a, [](auto &a) { a.sizes = {-1, -1, 16, 3}; }), {x}),
            "f32 N 3 16 3"); // 2.5 is rounded
  expectViolation("resize_c1", "resize", with(a, [](auto &a) { a.sizes = {-1, -1, 16, 4}; }), {x});
  expectViolation("resize_c2", "resize", a, {tensor("f32 2")});
  expectViolation("resize_c3", "resize", with(a, [](auto &a) { a.scales = {1, 1, 0, 1}; }), {x});
  expectViolation("resize_c3", "resize", with(ResizeAttrs(), [](auto &a) { a.sizes = {1, 1, -2, 1}; }), {x});
  expectViolation("resize_c4", "resize", with(a, [](auto &a) { a.mode = "area"; }), {x});
  expectViolation("resize_c5", "resize", with(a, [](auto &a) { a.coordinate_mode = "tf_crop_and_resize"; }), {x});
  expectViolation("resize_c6", "resize", a, {tensor("string 1 1 1 1")});
  expectViolation("resize_c7", "resize", ResizeAttrs(), {tensor("f32 2 0"), absent, absent, values("2 4")});
}

TEST(Shape, Indexed) {
  TensorInfo x = tensor("f32 N 5 7"), indices = tensor("i64 2 5 3");
  auto axis = [](auto attrs, int64_t value) { return with(attrs, [&](auto &a) { a.axis = value; }); };
  EXPECT_EQ(infer("gather_elements", axis(GatherElementsAttrs(), 2), {x, indices}), "f32 2 5 3");
  expectViolation("gather_elements_c1", "gather_elements", GatherElementsAttrs(), {tensor("f32"), tensor("i64")});
  expectViolation("gather_elements_c1", "gather_elements", axis(GatherElementsAttrs(), 3), {x, indices});
  expectViolation("gather_elements_c2", "gather_elements", GatherElementsAttrs(), {x, tensor("f32 2 5 3")});
  expectViolation("gather_elements_c3", "gather_elements", GatherElementsAttrs(), {x, tensor("i64 2 5")});
  expectViolation("gather_elements_c3", "gather_elements", axis(GatherElementsAttrs(), 2), {x, tensor("i64 2 6 3")});

  expectViolation("gather_elements_c4", "gather_elements", axis(GatherElementsAttrs(), 1),
                  {tensor("f32 2 0 7"), tensor("i64 2 1 7")});

  auto batch = [](int64_t value) { return with(GatherNdAttrs(), [&](auto &a) { a.batch_dims = value; }); };
  EXPECT_EQ(infer("gather_nd", batch(1), {x, tensor("i64 N 4 1")}), "f32 N 4 7");
  expectViolation("gather_nd_c1", "gather_nd", batch(0), {x, tensor("i64")});
  expectViolation("gather_nd_c1", "gather_nd", batch(3), {x, indices});
  expectViolation("gather_nd_c2", "gather_nd", batch(0), {x, tensor("f32 2 1")});
  expectViolation("gather_nd_c3", "gather_nd", batch(0), {x, tensor("i64 2 4")});
  expectViolation("gather_nd_c3", "gather_nd", batch(0), {x, tensor("i64 2 K")});
  expectViolation("gather_nd_c4", "gather_nd", batch(1), {tensor("f32 2 5"), tensor("i64 3 1")});
  expectViolation("gather_nd_c5", "gather_nd", batch(1), {tensor("f32 2 0"), tensor("i64 2 1")});

  TensorInfo updates = tensor("f32 2 5 3");
  EXPECT_EQ(infer("scatter_elements", axis(ScatterElementsAttrs(), 2), {x, indices, updates}), "f32 N 5 7");
  expectViolation("scatter_elements_c1", "scatter_elements", axis(ScatterElementsAttrs(), -4), {x, indices, updates});
  expectViolation("scatter_elements_c2", "scatter_elements", ScatterElementsAttrs(),
                  {x, tensor("bool 2 5 3"), updates});
  expectViolation("scatter_elements_c3", "scatter_elements", ScatterElementsAttrs(), {x, tensor("i64 2 5 8"), updates});
  expectViolation("scatter_elements_c4", "scatter_elements", ScatterElementsAttrs(), {x, indices, tensor("f32 2 5 2")});
  expectViolation("scatter_elements_c4", "scatter_elements", ScatterElementsAttrs(), {x, indices, tensor("f64 2 5 3")});
  expectViolation("scatter_elements_c5", "scatter_elements",
                  with(ScatterElementsAttrs(), [](auto &a) { a.reduction = "mean"; }), {x, indices, updates});
  expectViolation("scatter_elements_c5", "scatter_elements",
                  with(ScatterElementsAttrs(), [](auto &a) { a.reduction = "add"; }),
                  {tensor("bool 2"), tensor("i64 2"), tensor("bool 2")});

  ScatterNdAttrs scatter;
  EXPECT_EQ(infer("scatter_nd", scatter, {x, tensor("i64 4 2"), tensor("f32 4 7")}), "f32 N 5 7");
  expectViolation("scatter_nd_c1", "scatter_nd", scatter, {tensor("f32"), tensor("i64 1"), tensor("f32")});
  expectViolation("scatter_nd_c2", "scatter_nd", scatter, {x, tensor("f32 4 2"), tensor("f32 4 7")});
  expectViolation("scatter_nd_c3", "scatter_nd", scatter, {x, tensor("i64 4 4"), tensor("f32 4 7")});
  expectViolation("scatter_nd_c4", "scatter_nd", scatter, {x, tensor("i64 4 2"), tensor("f32 4 6")});
  expectViolation("scatter_nd_c4", "scatter_nd", scatter, {x, tensor("i64 4 2"), tensor("i32 4 7")});
  expectViolation("scatter_nd_c5", "scatter_nd", with(scatter, [](auto &a) { a.reduction = "sum"; }),
                  {x, tensor("i64 4 2"), tensor("f32 4 7")});
}

TEST(Shape, Running) {
  auto axis = [](int64_t value) { return with(CumSumAttrs(), [&](auto &a) { a.axis = value; }); };
  EXPECT_EQ(infer("cum_sum", axis(1), {tensor("f32 N 3")}), "f32 N 3");
  expectViolation("running_c1", "cum_sum", axis(0), {tensor("f32")});
  expectViolation("running_c1", "cum_sum", axis(2), {tensor("f32 N 3")});
  expectViolation("running_c2", "cum_sum", axis(0), {tensor("bool 3")});
  expectViolation("running_c3", "cum_sum", axis(0), {tensor("f32 3"), tensor("f32 1")});

  auto k = [](int64_t value) { return with(TopKAttrs(), [&](auto &a) { a.k = value, a.axis = -1; }); };
  EXPECT_EQ(infer("top_k", k(2), {tensor("f32 N 3")}), "f32 N 2");
  expectViolation("top_k_c1", "top_k", k(1), {tensor("f32")});
  expectViolation("top_k_c2", "top_k", k(1), {tensor("bool 3")});
  expectViolation("top_k_c3", "top_k", k(-1), {tensor("f32 3")});
  expectViolation("top_k_c3", "top_k", k(4), {tensor("f32 3")});
  expectViolation("top_k_c4", "top_k", k(1), {tensor("f32 3"), tensor("i64 2")});
}

TEST(Shape, Sampled) {
  TensorInfo image = tensor("f32 N 3 8 9"), grid = tensor("f32 N 4 5 2");
  GridSampleAttrs sample;
  EXPECT_EQ(infer("grid_sample", sample, {image, grid}), "f32 N 3 4 5");
  expectViolation("grid_sample_c1", "grid_sample", sample, {tensor("f32 N 3 8"), tensor("f32 N 4 1")});
  expectViolation("grid_sample_c2", "grid_sample", sample, {image, tensor("f32 N 4 5 3")});
  expectViolation("grid_sample_c3", "grid_sample", with(sample, [](auto &a) { a.mode = "area"; }), {image, grid});
  expectViolation("grid_sample_c4", "grid_sample", sample, {tensor("i32 N 3 8 9"), grid});
  expectViolation("grid_sample_c5", "grid_sample", sample, {tensor("f32 N 3 0 9"), grid});

  RoiAlignAttrs align;
  TensorInfo rois = tensor("f32 6 4"), batch = tensor("i64 6");
  EXPECT_EQ(infer("roi_align", align, {image, rois, batch}), "f32 6 3 1 1");
  expectViolation("roi_align_c1", "roi_align", align, {image, tensor("f32 6 5"), batch});
  expectViolation("roi_align_c2", "roi_align", with(align, [](auto &a) { a.output_width = 0; }), {image, rois, batch});
  expectViolation("roi_align_c3", "roi_align", with(align, [](auto &a) { a.mode = "sum"; }), {image, rois, batch});
  expectViolation("roi_align_c4", "roi_align", align, {image, tensor("f64 6 4"), batch});
  expectViolation("roi_align_c5", "roi_align", align, {tensor("f32 2 3 0 8"), rois, batch});

  MaxUnpoolAttrs unpool =
      with(MaxUnpoolAttrs(), [](auto &a) { a.kernel = {2, 2}, a.strides = {2, 2}, a.pads = {0, 0, 0, 0}; });
  TensorInfo pooled = tensor("f32 1 3 4 4"), at = tensor("i64 1 3 4 4");
  EXPECT_EQ(infer("max_unpool", unpool, {pooled, at}), "f32 1 3 8 8");
  expectViolation("max_unpool_c1", "max_unpool", unpool, {pooled, tensor("i32 1 3 4 4")});
  expectViolation("max_unpool_c1", "max_unpool", unpool, {pooled, tensor("i64 1 3 4 5")});
  expectViolation("max_unpool_c2", "max_unpool", with(unpool, [](auto &a) { a.kernel = {2}; }), {pooled, at});
  expectViolation("max_unpool_c3", "max_unpool", with(unpool, [](auto &a) { a.output_shape = {1, 4, 9, 9}; }),
                  {pooled, at});
  expectViolation("max_unpool_c4", "max_unpool", with(unpool, [](auto &a) { a.pads = {9, 0, 9, 0}; }), {pooled, at});

  Col2ImAttrs columns = with(Col2ImAttrs(), [](auto &a) {
    a.image = {5, 5}, a.block = {2, 2}, a.strides = {1, 1}, a.dilations = {1, 1}, a.pads = {0, 0, 0, 0};
  });
  EXPECT_EQ(infer("col2im", columns, {tensor("f32 1 12 16")}), "f32 1 3 5 5");
  expectViolation("col2im_c1", "col2im", columns, {tensor("f32 12 16")});
  expectViolation("col2im_c2", "col2im", with(columns, [](auto &a) { a.block = {2}; }), {tensor("f32 1 12 16")});
  expectViolation("col2im_c3", "col2im", with(columns, [](auto &a) { a.strides = {1, 0}; }), {tensor("f32 1 12 16")});
  expectViolation("col2im_c4", "col2im", columns, {tensor("f32 1 13 16")});
  expectViolation("col2im_c5", "col2im", columns, {tensor("f32 1 12 15")});
  expectViolation("col2im_c6", "col2im", columns, {tensor("bool 1 12 16")});

  EXPECT_EQ(infer("det", DetAttrs(), {tensor("f32 N 3 3")}), "f32 N");
  expectViolation("det_c1", "det", DetAttrs(), {tensor("f32 N 3 4")});
  expectViolation("det_c2", "det", DetAttrs(), {tensor("i32 N 3 3")});
}

} // namespace
} // namespace lathe
