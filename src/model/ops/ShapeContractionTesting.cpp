// Shape functions of convolutions, products, pooling, normalisation and attention.
#include "ops/ShapeTesting.h"

namespace lathe {
namespace {

using namespace shape_testing;

TEST(Shape, Conv) {
  TensorInfo x = tensor("f32 N 3 224 224"), w = tensor("f32 64 3 7 7");
  EXPECT_EQ(infer("conv", conv2d(), {x, w, tensor("f32 64")}), "f32 N 64 112 112");
  EXPECT_EQ(infer("conv", conv2d(), {tensor("f32 1 3 H W"), w}), "f32 1 64 floordiv(H + 1, 2) floordiv(W + 1, 2)");
  expectViolation("conv_c1", "conv", conv2d(), {tensor("f32 1 3"), w});
  expectViolation("conv_c1", "conv", conv2d(), {x, tensor("f32 64 3 7")});
  expectViolation("conv_c2", "conv", conv2d(), {tensor("f32 1 4 224 224"), w});
  expectViolation("conv_c3", "conv", with(conv2d(), [](auto &a) { a.strides = {1}; }), {x, w});
  expectViolation("conv_c3", "conv", with(conv2d(), [](auto &a) { a.dilations = {}; }), {x, w});
  expectViolation("conv_c3", "conv", with(conv2d(), [](auto &a) { a.pads = {1, 1}; }), {x, w});
  expectViolation("conv_c4", "conv", with(conv2d(), [](auto &a) { a.group = 0; }), {x, w});
  expectViolation("conv_c4", "conv", with(conv2d(), [](auto &a) { a.group = 3; }), {tensor("f32 1 9 224 224"), w});
  expectViolation("conv_c5", "conv", with(conv2d(), [](auto &a) { a.strides = {1, 0}; }), {x, w});
  expectViolation("conv_c5", "conv", with(conv2d(), [](auto &a) { a.pads = {-1, 0, 0, 0}; }), {x, w});
  expectViolation("conv_c6", "conv", conv2d(), {tensor("f32 1 3 0 9"), w});
  expectViolation("conv_c6", "conv", conv2d(), {x, tensor("f32 64 3 0 7")});
  expectViolation("conv_c7", "conv", conv2d(), {x, w, tensor("f32 63")});
  expectViolation("conv_c8", "conv", conv2d(), {x, tensor("f64 64 3 7 7")});
  expectViolation("conv_c8", "conv", conv2d(), {tensor("bool 1 3 9 9"), tensor("bool 64 3 7 7")});
}

ConvTransposeAttrs convTranspose2d() {
  ConvTransposeAttrs a;
  a.strides = {2, 2}, a.dilations = {1, 1}, a.pads = {1, 1, 1, 1}, a.output_padding = {1, 0};
  return a;
}

TEST(Shape, ConvTranspose) {
  TensorInfo x = tensor("f32 N 8 7 W"), w = tensor("f32 8 3 3 3");
  EXPECT_EQ(infer("conv_transpose", convTranspose2d(), {x, w, tensor("f32 3")}), "f32 N 3 14 W*2 + -1");
  auto a = convTranspose2d();
  expectViolation("conv_transpose_c1", "conv_transpose", a, {x, tensor("f32 8 3 3")});
  expectViolation("conv_transpose_c2", "conv_transpose", a, {tensor("f32 1 7 7 7"), w});
  expectViolation("conv_transpose_c3", "conv_transpose", with(a, [](auto &a) { a.output_padding = {}; }), {x, w});
  expectViolation("conv_transpose_c4", "conv_transpose", with(a, [](auto &a) { a.group = 3; }), {x, w});
  expectViolation("conv_transpose_c5", "conv_transpose", with(a, [](auto &a) { a.pads = {-1, 0, 0, 0}; }), {x, w});
  expectViolation("conv_transpose_c6", "conv_transpose", with(a, [](auto &a) { a.pads = {9, 0, 9, 0}; }), {x, w});
  expectViolation("conv_transpose_c7", "conv_transpose", a, {x, w, tensor("f32 4")});
  expectViolation("conv_transpose_c8", "conv_transpose", a, {x, tensor("f64 8 3 3 3")});
}

TEST(Shape, Products) {
  GemmAttrs gemm;
  EXPECT_EQ(infer("gemm", gemm, {tensor("f32 N 8"), tensor("f32 8 5"), tensor("f32 5")}), "f32 N 5");
  EXPECT_EQ(
      infer("gemm", with(gemm, [](auto &a) { a.trans_b = true; }), {tensor("f32 N 8"), tensor("f32 5 8"), absent}),
      "f32 N 5");
  expectViolation("gemm_c1", "gemm", gemm, {tensor("f32 8"), tensor("f32 8 5")});
  expectViolation("gemm_c2", "gemm", gemm, {tensor("f32 2 7"), tensor("f32 8 5")});
  expectViolation("gemm_c3", "gemm", gemm, {tensor("f32 2 8"), tensor("f32 8 5"), tensor("f32 3 5")});
  expectViolation("gemm_c4", "gemm", gemm, {tensor("f32 2 8"), tensor("f64 8 5")});
  EXPECT_EQ(infer("matmul", MatMulAttrs(), {tensor("f32 N 1 4 8"), tensor("f32 3 8 5")}), "f32 N 3 4 5");
  EXPECT_EQ(infer("matmul", MatMulAttrs(), {tensor("f32 8"), tensor("f32 8")}), "f32");
  expectViolation("matmul_c1", "matmul", MatMulAttrs(), {tensor("f32"), tensor("f32 2")});
  expectViolation("matmul_c2", "matmul", MatMulAttrs(), {tensor("f32 2 3"), tensor("f32 2 3")});
  expectViolation("matmul_c3", "matmul", MatMulAttrs(), {tensor("f32 2 2 3"), tensor("f32 3 3 2")});
  expectViolation("matmul_c4", "matmul", MatMulAttrs(), {tensor("f32 2 3"), tensor("i32 3 2")});
}

TEST(Shape, ProductsOfBytes) {
  MatMulIntegerAttrs none;
  TensorInfo a = tensor("u8 N 4 8"), b = tensor("i8 8 5");
  EXPECT_EQ(infer("matmul_integer", none, {a, b}), "i32 N 4 5");
  EXPECT_EQ(infer("matmul_integer", none, {tensor("i8 8"), tensor("u8 8")}), "i32");
  for (const char *zero : {"u8", "u8 1", "u8 4", "u8 N 4 1"})
    EXPECT_EQ(infer("matmul_integer", none, {a, b, tensor(zero), absent}), "i32 N 4 5") << zero;
  for (const char *zero : {"i8", "i8 1", "i8 5", "i8 1 5"})
    EXPECT_EQ(infer("matmul_integer", none, {a, b, absent, tensor(zero)}), "i32 N 4 5") << zero;
  expectViolation("matmul_integer_c1", "matmul_integer", none, {tensor("u8"), b});
  expectViolation("matmul_integer_c2", "matmul_integer", none, {tensor("u8 4 7"), b});
  expectViolation("matmul_integer_c3", "matmul_integer", none, {tensor("u8 2 4 8"), tensor("i8 3 8 5")});
  expectViolation("matmul_integer_c4", "matmul_integer", none, {tensor("i32 4 8"), b});
  expectViolation("matmul_integer_c4", "matmul_integer", none, {a, tensor("bool 8 5")});
  expectViolation("matmul_integer_c4", "matmul_integer", none, {a, tensor("i16 8 5"), absent, tensor("i16")});
  EXPECT_EQ(infer("matmul_integer", none, {a, tensor("i16 8 5")}), "i32 N 4 5"); // less its zero point
  expectViolation("matmul_integer_c4", "matmul_integer", none, {a, b, tensor("i8")});
  expectViolation("matmul_integer_c4", "matmul_integer", none, {a, b, absent, tensor("u8")});
  for (const char *zero : {"u8 8", "u8 4 1", "u8 N 1 8", "u8 1 1"})
    expectViolation("matmul_integer_c5", "matmul_integer", none, {a, b, tensor(zero)});
  for (const char *zero : {"i8 8", "i8 8 1", "i8 1 1 5"})
    expectViolation("matmul_integer_c5", "matmul_integer", none, {a, b, absent, tensor(zero)});
  expectViolation("matmul_integer_c5", "matmul_integer", none, {tensor("u8 8"), b, tensor("u8 8")});
}

ConvIntegerAttrs convInteger2d() {
  ConvIntegerAttrs a;
  a.strides = {2, 2}, a.dilations = {1, 1}, a.pads = {3, 3, 3, 3};
  return a;
}

TEST(Shape, ConvolutionsOfBytes) {
  const char *op = "conv_integer";
  TensorInfo x = tensor("u8 N 3 224 224"), w = tensor("i8 64 3 7 7");
  auto a = convInteger2d();
  EXPECT_EQ(infer(op, a, {x, w}), "i32 N 64 112 112");
  for (const char *zero : {"i8", "i8 1", "i8 64"})
    EXPECT_EQ(infer(op, a, {x, w, tensor("u8"), tensor(zero)}), "i32 N 64 112 112") << zero;
  expectViolation("conv_integer_c1", op, a, {tensor("u8 1 3"), w});
  expectViolation("conv_integer_c1", op, a, {x, tensor("i8 64 3 7")});
  expectViolation("conv_integer_c2", op, a, {tensor("u8 1 4 224 224"), w});
  expectViolation("conv_integer_c3", op, with(a, [](auto &a) { a.strides = {1}; }), {x, w});
  expectViolation("conv_integer_c4", op, with(a, [](auto &a) { a.group = 3; }), {tensor("u8 1 9 224 224"), w});
  expectViolation("conv_integer_c5", op, with(a, [](auto &a) { a.dilations = {0, 1}; }), {x, w});
  expectViolation("conv_integer_c6", op, a, {tensor("u8 1 3 0 9"), w});
  expectViolation("conv_integer_c7", op, a, {x, w, tensor("u8 3")});
  expectViolation("conv_integer_c7", op, a, {x, w, absent, tensor("i8 3")});
  expectViolation("conv_integer_c7", op, a, {x, w, absent, tensor("i8 64 1 1 1")});
  expectViolation("conv_integer_c8", op, a, {tensor("f32 1 3 9 9"), w});
  expectViolation("conv_integer_c8", op, a, {x, tensor("i32 64 3 7 7")});
  expectViolation("conv_integer_c8", op, a, {x, tensor("i16 64 3 7 7"), absent, tensor("i16")});
  expectViolation("conv_integer_c8", op, a, {tensor("i16 1 3 224 224"), w});
  EXPECT_EQ(infer(op, a, {x, tensor("i16 64 3 7 7")}), infer(op, a, {x, w})); // less its zero point
  expectViolation("conv_integer_c8", op, a, {x, w, tensor("i8")});
  expectViolation("conv_integer_c8", op, a, {x, w, absent, tensor("u8 64")});
}

TEST(Shape, PoolsAndNormalisation) {
  MaxPoolAttrs a;
  a.kernel = {3, 3};
  a.strides = {2, 2};
  a.dilations = {1, 1};
  a.pads = {1, 1, 1, 1};
  TensorInfo x = tensor("f32 N 64 112 111");
  EXPECT_EQ(infer("max_pool", a, {x}), "f32 N 64 56 56");
  EXPECT_EQ(infer("max_pool", with(a, [](auto &a) { a.pads = {0, 0, 0, 0}; }), {x}), "f32 N 64 55 55");
  EXPECT_EQ(infer("max_pool", with(a, [](auto &a) { a.pads = {0, 0, 0, 0}, a.ceil_mode = true; }), {x}),
            "f32 N 64 56 55");
  expectViolation("pool_c1", "max_pool", a, {tensor("f32 1 2")});
  expectViolation("pool_c2", "max_pool", with(a, [](auto &a) { a.kernel = {3}; }), {x});
  expectViolation("pool_c3", "max_pool", with(a, [](auto &a) { a.kernel = {3, 0}; }), {x});
  expectViolation("pool_c4", "max_pool", with(a, [](auto &a) { a.pads = {3, 0, 0, 0}; }), {x});
  expectViolation("pool_c5", "max_pool", a, {tensor("f32 1 1 0 9")});
  auto over = with(a, [](auto &a) { a.kernel = {5, 5}, a.ceil_mode = true, a.pads = {0, 0, 0, 0}; });
  EXPECT_EQ(infer("max_pool", over, {tensor("f32 1 1 4 5")}), "f32 1 1 1 1");
  expectViolation("pool_c5", "max_pool", over, {tensor("f32 1 1 3 5")});
  expectViolation("pool_c6", "max_pool", a, {tensor("string 1 1 9 9")});
  AveragePoolAttrs average;
  expectViolation("pool_c2", "average_pool", average, {x});

  TensorInfo c = tensor("f32 64");
  EXPECT_EQ(infer("batch_norm", BatchNormAttrs(), {x, c, c, c, c}), "f32 N 64 112 111");
  expectViolation("batch_norm_c1", "batch_norm", BatchNormAttrs(), {c, c, c, c, c});
  expectViolation("batch_norm_c2", "batch_norm", BatchNormAttrs(), {x, c, c, c, tensor("f32 63")});
  expectViolation("batch_norm_c3", "batch_norm", BatchNormAttrs(), {tensor("i32 1 64"), c, c, c, c});
  EXPECT_EQ(infer("lrn", LrnAttrs(), {x}), "f32 N 64 112 111");
  expectViolation("lrn_c1", "lrn", LrnAttrs(), {c});
  expectViolation("lrn_c2", "lrn", with(LrnAttrs(), [](auto &a) { a.size = 0; }), {x});
  expectViolation("lrn_c3", "lrn", LrnAttrs(), {tensor("i8 1 2")});
  EXPECT_EQ(infer("softmax", SoftmaxAttrs(), {x}), "f32 N 64 112 111");
  expectViolation("layer_norm_c1", "layer_norm", with(LayerNormAttrs(), [](auto &a) { a.axis = 4; }),
                  {x, tensor("f32 1")});
  expectViolation("layer_norm_c2", "layer_norm", LayerNormAttrs(), {x, tensor("f32 55")});
  expectViolation("layer_norm_c2", "rms_norm", RmsNormAttrs(), {c, tensor("f32 1 64")});
  expectViolation("layer_norm_c3", "layer_norm", LayerNormAttrs(), {x, tensor("f32 1"), tensor("f64 1")});
  expectViolation("instance_norm_c1", "instance_norm", InstanceNormAttrs(), {c, c, c});
  expectViolation("instance_norm_c2", "instance_norm", InstanceNormAttrs(), {x, c, tensor("f32 63")});
  expectViolation("instance_norm_c3", "group_norm", GroupNormAttrs(), {x, c, tensor("f64 64")});
  expectViolation("group_norm_c1", "group_norm", with(GroupNormAttrs(), [](auto &a) { a.num_groups = 7; }), {x, c, c});
  expectViolation("lp_normalize_c1", "lp_normalize", with(LpNormalizeAttrs(), [](auto &a) { a.axis = -5; }), {x});
  expectViolation("lp_normalize_c2", "lp_normalize", with(LpNormalizeAttrs(), [](auto &a) { a.p = 3; }), {x});
  expectViolation("lp_normalize_c3", "lp_normalize", LpNormalizeAttrs(), {tensor("i64 4")});
  expectViolation("softmax_c1", "softmax", with(SoftmaxAttrs(), [](auto &a) { a.axis = 4; }), {x});
  expectViolation("softmax_c1", "log_softmax", LogSoftmaxAttrs(), {tensor("f32")});
  expectViolation("softmax_c2", "softmax", SoftmaxAttrs(), {tensor("i64 4")});
}

TEST(Shape, Attention) {
  TensorInfo q = tensor("f32 N 6 5 8"), k = tensor("f32 N 3 7 8"), v = tensor("f32 N 3 7 4");
  AttentionAttrs plain;
  EXPECT_EQ(infer("attention", plain, {q, k, v, tensor("f32 6 5 7"), tensor("bool 5 1")}), "f32 N 6 5 4");
  expectViolation("attention_c1", "attention", plain, {q, k, tensor("f32 3 7 4")});
  expectViolation("attention_c2", "attention", plain, {q, tensor("f32 N 3 7 9"), v});
  expectViolation("attention_c2", "attention", plain, {q, tensor("f32 N 3 8 8"), v});
  expectViolation("attention_c3", "attention", plain, {q, tensor("f32 N 4 7 8"), tensor("f32 N 4 7 4")});
  expectViolation("attention_c4", "attention", plain, {q, k, v, tensor("f32 5 7 6")});
  expectViolation("attention_c5", "attention", plain, {tensor("i32 2 3"), tensor("i32 2 3"), tensor("i32 2 3")});
  expectViolation("attention_c5", "attention", plain, {q, k, tensor("f64 N 3 7 4")});
  expectViolation("attention_c5", "attention", plain, {q, k, v, tensor("bool 5 7")});
  expectViolation("attention_c6", "attention", with(plain, [](auto &a) { a.causal = "left"; }), {q, k, v});
  expectViolation("attention_c7", "attention", with(plain, [](auto &a) { a.softcap = -1; }), {q, k, v});
}

} // namespace
} // namespace lathe
