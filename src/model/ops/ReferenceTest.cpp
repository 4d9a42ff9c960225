// Compares contractions, pooling and normalisation with hand-computed values; checks that every operator has such a
// test.
#include "ops/ReferenceTesting.h"

#include <cmath>
#include <random>
#include <thread>

namespace lathe {

std::set<std::string> &evaluatedOps() {
  static std::set<std::string> ops;
  return ops;
}

namespace {

/// Runs after all tests of the program.
class EveryOpIsTested : public ::testing::Environment {
public:
  void TearDown() override {
    if (::testing::GTEST_FLAG(filter) != "*")
      return;
    for (const OpRecord &record : opRecords())
      EXPECT_TRUE(evaluatedOps().contains(record.name)) << "no test evaluates " << record.name;
  }
};
[[maybe_unused]] auto *environment = ::testing::AddGlobalTestEnvironment(new EveryOpIsTested);

ConvAttrs convAttrs(std::vector<int64_t> strides, std::vector<int64_t> dilations, std::vector<int64_t> pads,
                    int64_t group = 1) {
  ConvAttrs a;
  a.strides = strides;
  a.dilations = dilations;
  a.pads = pads;
  a.group = group;
  return a;
}

TEST(Reference, ConvWithAndWithoutPadding) { // the example of ONNX's Conv
  Tensor x = counting({1, 1, 5, 5}), w = f32({1, 1, 3, 3}, {1, 1, 1, 1, 1, 1, 1, 1, 1});
  expectTensor(
      evaluate("conv", convAttrs({1, 1}, {1, 1}, {1, 1, 1, 1}), {x, w}), {1, 1, 5, 5},
      {12, 21, 27, 33, 24, 33, 54, 63, 72, 51, 63, 99, 108, 117, 81, 93, 144, 153, 162, 111, 72, 111, 117, 123, 84});
  expectTensor(evaluate("conv", convAttrs({1, 1}, {1, 1}, {0, 0, 0, 0}), {x, w}), {1, 1, 3, 3},
               {54, 63, 72, 99, 108, 117, 144, 153, 162});
  Tensor x7 = counting({1, 1, 7, 5});
  expectTensor(evaluate("conv", convAttrs({2, 2}, {1, 1}, {1, 0, 1, 0}), {x7, w}), {1, 1, 4, 2},
               {21, 33, 99, 117, 189, 207, 171, 183});
}

TEST(Reference, ConvGroupsDilationBiasRanks) {
  // Two groups of one channel each: y = w * x + b, elementwise.
  expectTensor(evaluate("conv", convAttrs({1, 1}, {1, 1}, {0, 0, 0, 0}, 2),
                        {f32({1, 2, 1, 2}, {1, 2, 3, 4}), f32({2, 1, 1, 1}, {10, 100}), f32({2}, {1, 2})}),
               {1, 2, 1, 2}, {11, 21, 302, 402});
  // Rank 1, dilation 2, stride 1: taps two apart.
  expectTensor(
      evaluate("conv", convAttrs({1}, {2}, {0, 0}), {f32({1, 1, 5}, {1, 2, 3, 4, 5}), f32({1, 1, 2}, {1, 10})}),
      {1, 1, 3}, {31, 42, 53});
  // Rank 3.
  expectTensor(evaluate("conv", convAttrs({1, 1, 1}, {1, 1, 1}, {0, 0, 0, 0, 0, 0}),
                        {counting({1, 1, 2, 2, 2}), f32({1, 1, 2, 2, 2}, {1, 1, 1, 1, 1, 1, 1, 1})}),
               {1, 1, 1, 1, 1}, {28});
  // Asymmetric pads.
  expectTensor(evaluate("conv", convAttrs({1}, {1}, {2, 0}), {f32({1, 1, 2}, {1, 2}), f32({1, 1, 2}, {1, 10})}),
               {1, 1, 3}, {0, 10, 21});
}

/// The definition, element by element.
Tensor naiveConv(const ConvAttrs &a, const Tensor &x, const Tensor &w, const Shape &dims) {
  Tensor y(ElementType::f64, dims);
  int64_t perGroup = dims[1] / a.group;
  for (int64_t n = 0, at = 0; n < dims[0]; ++n)
    for (int64_t o = 0; o < dims[1]; ++o)
      for (int64_t h = 0; h < dims[2]; ++h)
        for (int64_t v = 0; v < dims[3]; ++v, ++at) {
          double sum = 0;
          for (int64_t c = 0; c < w.dim(1); ++c)
            for (int64_t i = 0; i < w.dim(2); ++i)
              for (int64_t j = 0; j < w.dim(3); ++j) {
                int64_t p = h * a.strides[0] - a.pads[0] + i * a.dilations[0],
                        q = v * a.strides[1] - a.pads[1] + j * a.dilations[1];
                if (p >= 0 && p < x.dim(2) && q >= 0 && q < x.dim(3))
                  sum += x.as<double>()[((n * x.dim(1) + o / perGroup * w.dim(1) + c) * x.dim(2) + p) * x.dim(3) + q] *
                         w.as<double>()[((o * w.dim(1) + c) * w.dim(2) + i) * w.dim(3) + j];
              }
          y.as<double>()[at] = sum;
        }
  return y;
}

TEST(Reference, ConvTransposeScattersEveryElement) {
  unsigned seed = std::random_device{}();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937 random(seed);
  auto pick = [&](int low, int high) { return std::uniform_int_distribution<int64_t>(low, high)(random); };
  std::normal_distribution<double> normal;
  for (int round = 0; round < 60; ++round) {
    ConvTransposeAttrs a;
    a.group = pick(1, 3);
    int64_t channels = pick(1, 4), outChannels = pick(1, 4), out[2];
    Tensor x(ElementType::f64, {pick(1, 2), a.group * channels, pick(1, 6), pick(1, 6)});
    Tensor w(ElementType::f64, {a.group * channels, outChannels, pick(1, 4), pick(1, 4)});
    a.pads.resize(4);
    for (size_t i = 0; i < 2; ++i) {
      a.strides.push_back(pick(1, 3));
      a.dilations.push_back(pick(1, 2));
      a.output_padding.push_back(pick(0, 2));
      int64_t full = (x.dim(2 + i) - 1) * a.strides[i] + (w.dim(2 + i) - 1) * a.dilations[i] + 1;
      a.pads[i] = pick(0, static_cast<int>(std::min<int64_t>(full - 1, 3)));
      a.pads[2 + i] = pick(0, static_cast<int>(std::min<int64_t>(full - 1 - a.pads[i], 3)));
      out[i] = full + a.output_padding[i] - a.pads[i] - a.pads[2 + i];
    }
    for (Tensor *t : {&x, &w})
      for (int64_t i = 0; i < t->elements(); ++i)
        t->as<double>()[i] = normal(random);
    std::vector<double> expected(x.dim(0) * a.group * outChannels * out[0] * out[1], 0.0);
    for (int64_t n = 0; n < x.dim(0); ++n)
      for (int64_t c = 0; c < x.dim(1); ++c)
        for (int64_t o = 0; o < outChannels; ++o)
          for (int64_t h = 0; h < x.dim(2); ++h)
            for (int64_t v = 0; v < x.dim(3); ++v)
              for (int64_t i = 0; i < w.dim(2); ++i)
                for (int64_t j = 0; j < w.dim(3); ++j) {
                  int64_t p = h * a.strides[0] + i * a.dilations[0] - a.pads[0],
                          q = v * a.strides[1] + j * a.dilations[1] - a.pads[1];
                  if (p >= 0 && p < out[0] && q >= 0 && q < out[1])
                    expected[((n * a.group * outChannels + c / channels * outChannels + o) * out[0] + p) * out[1] +
                             q] += x.as<double>()[((n * x.dim(1) + c) * x.dim(2) + h) * x.dim(3) + v] *
                                   w.as<double>()[((c * outChannels + o) * w.dim(2) + i) * w.dim(3) + j];
                }
    expectTensor(evaluate("conv_transpose", a, {x, w}), {x.dim(0), a.group * outChannels, out[0], out[1]}, expected,
                 1e-12);
  }
}

TEST(Reference, ConvTransposeOfRankOneWithBias) { // writes the kernel twice, two apart
  ConvTransposeAttrs a;
  a.strides = {2}, a.dilations = {1}, a.pads = {0, 0}, a.output_padding = {1};
  expectTensor(
      evaluate("conv_transpose", a, {f32({1, 1, 2}, {1, 10}), f32({1, 2, 3}, {1, 2, 3, 4, 5, 6}), f32({2}, {0.5, 0})}),
      {1, 2, 6}, {1.5, 2.5, 13.5, 20.5, 30.5, 0.5, 4, 5, 46, 50, 60, 0});
}

TEST(Reference, ConvEqualsItsDefinitionOnRandomShapes) {
  unsigned seed = std::random_device{}();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937 random(seed);
  auto pick = [&](int low, int high) { return std::uniform_int_distribution<int64_t>(low, high)(random); };
  std::normal_distribution<double> normal;
  for (int round = 0; round < 40; ++round) {
    int64_t group = pick(1, 3), channels = pick(1, round % 8 ? 5 : 90), outChannels = pick(1, round % 8 ? 5 : 70);
    int64_t kh = pick(1, 4), kw = pick(1, 4), dh = pick(1, 2), dw = pick(1, 2), ph = pick(0, 3), pw = pick(0, 3);
    ConvAttrs a = convAttrs({pick(1, 3), pick(1, 3)}, {dh, dw}, {ph, pw, pick(0, 3), pick(0, 3)}, group);
    Tensor x(ElementType::f64,
             {pick(1, 2), group * channels, pick(dh * (kh - 1) + 1, 14), pick(dw * (kw - 1) + 1, 14)});
    Tensor w(ElementType::f64, {group * outChannels, channels, kh, kw});
    for (Tensor *t : {&x, &w})
      for (int64_t i = 0; i < t->elements(); ++i)
        t->as<double>()[i] = normal(random);
    Tensor y = evaluate("conv", a, {x, w});
    Tensor expected = naiveConv(a, x, w, y.dims());
    for (int64_t i = 0; i < y.elements(); ++i)
      ASSERT_NEAR(y.as<double>()[i], expected.as<double>()[i], 1e-10) << describe(a) << " element " << i;
  }
}

Tensor u8(Shape dims, std::initializer_list<uint8_t> values) { return Tensor::of<uint8_t>(std::move(dims), values); }
Tensor i8(Shape dims, std::initializer_list<int8_t> values) { return Tensor::of<int8_t>(std::move(dims), values); }

TEST(Reference, ConvInteger) {
  auto attrs = [](std::vector<int64_t> strides, std::vector<int64_t> pads, int64_t group = 1) {
    ConvIntegerAttrs a;
    a.dilations.assign(strides.size(), 1);
    a.strides = std::move(strides), a.pads = std::move(pads), a.group = group;
    return a;
  };
  // The example of ONNX's ConvInteger: every element less 1; padding is 0 after the subtraction, not before.
  Tensor x = u8({1, 1, 3, 3}, {2, 3, 4, 5, 6, 7, 8, 9, 10}), ones = u8({1, 1, 2, 2}, {1, 1, 1, 1}), one = u8({}, {1});
  Tensor y = evaluate("conv_integer", attrs({1, 1}, {0, 0, 0, 0}), {x, ones, one});
  EXPECT_EQ(y.type(), ElementType::i32);
  expectTensor(y, {1, 1, 2, 2}, {12, 16, 24, 28}, 0);
  expectTensor(evaluate("conv_integer", attrs({1, 1}, {1, 1, 1, 1}), {x, ones, one}), {1, 1, 4, 4},
               {1, 3, 5, 3, 5, 12, 16, 9, 11, 24, 28, 15, 7, 15, 17, 9}, 0);
  // Extremes of both types; one zero point for each channel of the result; two groups.
  Tensor wide = u8({1, 2, 2}, {255, 0, 255, 255}), w = i8({2, 1, 2}, {-128, 127, -128, -128});
  expectTensor(evaluate("conv_integer", attrs({1}, {0, 0}, 2), {wide, w}), {1, 2, 1}, {-32640, -65280}, 0);
  expectTensor(evaluate("conv_integer", attrs({1}, {1, 0}, 2), {wide, w, u8({1}, {128}), i8({2}, {127, -128})}),
               {1, 2, 2}, {0, 127 * -255, 0, 0}, 0);
}

TEST(Reference, MatMulInteger) {
  MatMulIntegerAttrs none;
  // The example of ONNX's MatMulInteger.
  Tensor a = u8({4, 3}, {11, 7, 3, 10, 6, 2, 9, 5, 1, 8, 4, 0}), b = u8({3, 2}, {1, 4, 2, 5, 3, 6});
  Tensor y = evaluate("matmul_integer", none, {a, b, u8({1}, {12}), u8({1}, {0})});
  EXPECT_EQ(y.type(), ElementType::i32);
  expectTensor(y, {4, 2}, {-38, -83, -44, -98, -50, -113, -56, -128}, 0);
  // One zero point for each row and one for each column.
  Tensor rows = u8({2, 2}, {255, 0, 1, 2}), columns = i8({2, 2}, {-128, 127, 3, 4});
  expectTensor(evaluate("matmul_integer", none, {rows, columns}), {2, 2}, {-32640, 32385, -122, 135}, 0);
  expectTensor(evaluate("matmul_integer", none, {rows, columns, u8({2}, {255, 1})}), {2, 2}, {-765, -1020, 3, 4}, 0);
  expectTensor(evaluate("matmul_integer", none, {rows, columns, u8({2, 1}, {255, 1})}), {2, 2}, {-765, -1020, 3, 4}, 0);
  expectTensor(evaluate("matmul_integer", none, {rows, columns, {}, i8({2}, {-128, 127})}), {2, 2}, {0, 0, 262, -246},
               0);
  // A batch of right factors, each with its own zero points; vectors.
  expectTensor(
      evaluate("matmul_integer", none, {u8({1, 2}, {1, 2}), i8({2, 2, 1}, {1, 2, 3, 4}), {}, i8({2, 1, 1}, {1, 3})}),
      {2, 1, 1}, {2, 2}, 0);
  expectTensor(evaluate("matmul_integer", none, {i8({2}, {-128, 127}), i8({2}, {-128, 127}), i8({}, {1})}), {},
               {129 * 128 + 126 * 127}, 0);
  // Modulo 2^32: 2^16 products of 255 * 255 are 4261478400.
  Tensor most(ElementType::u8, {1 << 16});
  std::fill_n(most.as<uint8_t>(), most.elements(), 255);
  expectTensor(evaluate("matmul_integer", none, {most, most}), {}, {4261478400.0 - 4294967296.0}, 0);
}

TEST(Reference, Gemm) {
  Tensor a = counting({2, 3}), b = counting({3, 2}, 1), c = f32({2}, {100, 200});
  expectTensor(evaluate("gemm", GemmAttrs(), {a, b}), {2, 2}, {13, 16, 40, 52});
  GemmAttrs scaled;
  scaled.alpha = 2;
  scaled.beta = 0.5;
  expectTensor(evaluate("gemm", scaled, {a, b, c}), {2, 2}, {76, 132, 130, 204});
  GemmAttrs transposed;
  transposed.trans_a = transposed.trans_b = true;
  expectTensor(evaluate("gemm", transposed, {f32({3, 2}, {0, 3, 1, 4, 2, 5}), f32({2, 3}, {1, 3, 5, 2, 4, 6})}), {2, 2},
               {13, 16, 40, 52});
  expectTensor(evaluate("gemm", GemmAttrs(), {i32({1, 2}, {-3, 4}), i32({2, 1}, {5, 6}), i32({1, 1}, {1})}), {1, 1},
               {10});
  expectTensor(evaluate("gemm", GemmAttrs(), {f32({2, 0}, {}), f32({0, 2}, {}), c}), {2, 2}, {100, 200, 100, 200});
}

TEST(Reference, MatMul) {
  MatMulAttrs none;
  expectTensor(evaluate("matmul", none, {counting({2, 3}), counting({3, 2}, 1)}), {2, 2}, {13, 16, 40, 52});
  expectTensor(evaluate("matmul", none, {f32({3}, {1, 2, 3}), f32({3}, {4, 5, 6})}), {}, {32});
  expectTensor(evaluate("matmul", none, {f32({2}, {1, 10}), counting({2, 2}, 1)}), {2}, {31, 42});
  expectTensor(evaluate("matmul", none, {counting({2, 2}, 1), f32({2}, {1, 10})}), {2}, {21, 43});
  // Batches broadcast: 2x1 against 3.
  Tensor y = evaluate("matmul", none, {f32({2, 1, 1, 1}, {2, 3}), f32({3, 1, 1}, {5, 7, 11})});
  expectTensor(y, {2, 3, 1, 1}, {10, 14, 22, 15, 21, 33});
  Tensor big = evaluate("matmul", none, {counting({70, 300}), counting({300, 70})});
  double sum = 0;
  for (int k = 0; k < 300; ++k)
    sum += (69.0 * 300 + k) * (k * 70.0 + 69);
  EXPECT_NEAR(big.asDouble(big.elements() - 1), sum, 1e-5 * sum);
}

TEST(Reference, Pools) {
  MaxPoolAttrs max;
  max.kernel = {5, 5};
  max.strides = {1, 1};
  max.dilations = {1, 1};
  max.pads = {2, 2, 2, 2};
  expectTensor(evaluate("max_pool", max, {counting({1, 1, 5, 5}, 1)}), {1, 1, 5, 5},
               {13, 14, 15, 15, 15, 18, 19, 20, 20, 20, 23, 24, 25, 25, 25, 23, 24, 25, 25, 25, 23, 24, 25, 25, 25});
  max.kernel = {3, 3};
  max.strides = {2, 2};
  max.pads = {0, 0, 0, 0};
  max.ceil_mode = true;
  expectTensor(evaluate("max_pool", max, {counting({1, 1, 4, 4}, 1)}), {1, 1, 2, 2}, {11, 12, 15, 16});
  max.kernel = {2, 2};
  max.strides = {1, 1};
  max.dilations = {2, 2};
  max.ceil_mode = false;
  expectTensor(evaluate("max_pool", max, {counting({1, 1, 4, 4}, 1)}), {1, 1, 2, 2}, {11, 12, 15, 16});
  // A window without elements gives the least number of the type of x, although references compute in a wider type.
  max.kernel = {2};
  max.strides = {1};
  max.dilations = {2};
  max.pads = {1, 1};
  for (auto [type, least] : {std::pair(ElementType::i8, -128.0),
                             {ElementType::u8, 0.0},
                             {ElementType::i32, -0x1p31},
                             {ElementType::f16, -INFINITY}})
    expectTensor(evaluate("max_pool", max, {Tensor(type, {1, 1, 1})}), {1, 1, 1}, {least});

  AveragePoolAttrs average;
  average.kernel = {3};
  average.strides = {1};
  average.dilations = {1};
  average.pads = {1, 1};
  Tensor x = f32({1, 1, 3}, {3, 6, 9});
  expectTensor(evaluate("average_pool", average, {x}), {1, 1, 3}, {4.5, 6, 7.5});
  average.count_include_pad = true;
  expectTensor(evaluate("average_pool", average, {x}), {1, 1, 3}, {3, 6, 5});
  // Elements that ceil_mode adds beyond the padding never count.
  average.kernel = {2};
  average.strides = {2};
  average.pads = {0, 0};
  average.ceil_mode = true;
  expectTensor(evaluate("average_pool", average, {x}), {1, 1, 2}, {4.5, 9});
  // The last window would start in the end padding, so it does not exist.
  average.kernel = {3};
  average.pads = {1, 1};
  average.strides = {3};
  expectTensor(evaluate("average_pool", average, {f32({1, 1, 2}, {3, 6})}), {1, 1, 1}, {3});
}

TEST(Reference, NormalizationsOfRows) {
  LayerNormAttrs layer;
  layer.epsilon = 0;
  Tensor x = f64({2, 4}, {1, 3, 1, 3, 10, 10, 14, 14});
  expectTensor(evaluate("layer_norm", layer, {x, f64({4}, {1, 2, 3, 4})}), {2, 4}, {-1, 2, -3, 4, -1, -2, 3, 4});
  expectTensor(evaluate("layer_norm", layer, {x, f64({1}, {2}), f64({4}, {0, 1, 2, 3})}), {2, 4},
               {-2, 3, 0, 5, -2, -1, 4, 5});
  layer.axis = 0;
  layer.epsilon = 3;
  expectTensor(evaluate("layer_norm", layer, {f64({2, 2}, {4, 6, 4, 6}), f64({2, 1}, {1, 10})}), {2, 2},
               {-0.5, 0.5, -5, 5});
  RmsNormAttrs rms;
  rms.epsilon = 0;
  expectTensor(evaluate("rms_norm", rms, {f64({1, 2}, {3, 3}), f64({2}, {1, 2})}), {1, 2}, {1, 2});
  InstanceNormAttrs instance;
  instance.epsilon = 0;
  Tensor image = f64({1, 2, 2}, {1, 3, 5, 9}), scale = f64({2}, {1, 2}), bias = f64({2}, {0, 10});
  expectTensor(evaluate("instance_norm", instance, {image, scale, bias}), {1, 2, 2}, {-1, 1, 8, 12});
  GroupNormAttrs group;
  group.epsilon = 0;
  group.num_groups = 2;
  expectTensor(evaluate("group_norm", group, {image, scale, bias}), {1, 2, 2}, {-1, 1, 8, 12});
  group.num_groups = 1;
  expectTensor(evaluate("group_norm", group, {f64({1, 2, 2}, {1, 3, 3, 1}), scale, bias}), {1, 2, 2}, {-1, 1, 12, 8});
  LpNormalizeAttrs lp;
  expectTensor(evaluate("lp_normalize", lp, {f64({2, 2}, {3, -4, 0, 0})}), {2, 2}, {0.6, -0.8, 0, 0});
  lp.p = 1;
  lp.axis = 0;
  expectTensor(evaluate("lp_normalize", lp, {f64({2, 2}, {3, -4, 1, 0})}), {2, 2}, {0.75, -1, 0.25, 0});
  lp.epsilon = 8;
  expectTensor(evaluate("lp_normalize", lp, {f64({2, 1}, {3, 1})}), {2, 1}, {0.375, 0.125});
  HardmaxAttrs hard;
  expectTensor(evaluate("hardmax", hard, {f32({2, 3}, {1, 5, 5, 2, 1, 0})}), {2, 3}, {0, 1, 0, 1, 0, 0});
}

TEST(Reference, Attention) {
  AttentionAttrs plain;
  // Two queries, three keys, depth 1: scores q * k.
  Tensor q = f64({2, 1}, {0, std::log(2.0)}), k = f64({3, 1}, {0, 1, 2}), v = f64({3, 2}, {1, 0, 3, 0, 8, 7});
  expectTensor(evaluate("attention", plain, {q, k, v}), {2, 2}, {4, 7 / 3.0, 39 / 7.0, 4}, 1e-12);
  Tensor bias = f64({3}, {0, 0, -std::log(2.0)});
  expectTensor(evaluate("attention", plain, {f64({1, 1}, {0}), k, v, bias}), {1, 2}, {16 / 5.0, 7 / 5.0}, 1e-12);
  expectTensor(evaluate("attention", plain, {q, f64({0, 1}, {}), f64({0, 2}, {})}), {2, 2}, {0, 0, 0, 0}, 0);
  AttentionAttrs causal;
  causal.causal = "upper_left";
  expectTensor(evaluate("attention", causal, {q, k, v}), {2, 2}, {1, 0, 7 / 3.0, 0}, 1e-12);
  causal.causal = "lower_right";
  expectTensor(evaluate("attention", causal, {q, k, v}), {2, 2}, {2, 0, 39 / 7.0, 4}, 1e-12);
  // Two heads of queries with one head of keys; a mask that hides all keys from one query.
  AttentionAttrs zero;
  zero.zero_masked_rows = true;
  zero.scale = 0;
  expectTensor(evaluate("attention", zero,
                        {f64({2, 1, 1}, {5, 6}), f64({1, 3, 1}, {0, 1, 2}), f64({1, 3, 2}, {1, 0, 3, 0, 8, 7})}),
               {2, 1, 2}, {4, 7 / 3.0, 4, 7 / 3.0}, 1e-12);
  Tensor mask(ElementType::boolean, {2, 3});
  std::copy_n(std::initializer_list<uint8_t>{1, 0, 1, 0, 0, 0}.begin(), 6, mask.as<uint8_t>());
  expectTensor(evaluate("attention", zero, {q, k, v, Tensor(), mask}), {2, 2}, {4.5, 3.5, 0, 0}, 1e-12);
}

TEST(Reference, Normalisation) {
  BatchNormAttrs norm;
  norm.epsilon = 0;
  expectTensor(evaluate("batch_norm", norm,
                        {f32({1, 2, 2}, {1, 2, 3, 4}), f32({2}, {2, 1}), f32({2}, {10, 20}), f32({2}, {1, 2}),
                         f32({2}, {4, 0.25})}),
               {1, 2, 2}, {10, 11, 22, 24});
  LrnAttrs lrn;
  lrn.size = 3;
  lrn.alpha = 3;
  lrn.beta = 0.5;
  lrn.bias = 0;
  expectTensor(evaluate("lrn", lrn, {f32({1, 3, 1}, {3, 4, 12})}), {1, 3, 1},
               {3 / 5.0, 4 / 13.0, 12 / std::sqrt(160.0)});
  SoftmaxAttrs softmax;
  double e = std::exp(1.0), sum = e * e + e + 1;
  expectTensor(evaluate("softmax", softmax, {f32({1, 3}, {1000, 1001, 1002})}), {1, 3},
               {1 / sum, e / sum, e * e / sum});
  softmax.axis = 0;
  expectTensor(evaluate("softmax", softmax, {f32({2, 2}, {0, 5, 1, 5})}), {2, 2}, {1 / (1 + e), 0.5, e / (1 + e), 0.5});
  LogSoftmaxAttrs log;
  expectTensor(evaluate("log_softmax", log, {f64({1, 3}, {-1, 0, 1})}), {1, 3}, {-2.40760596, -1.40760596, -0.40760596},
               1e-8);
}

TEST(Reference, ResultsDoNotDependOnTheNumberOfThreads) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  Tensor x(ElementType::f32, {2, 70, 17, 17}), w(ElementType::f32, {130, 70, 3, 3});
  for (Tensor *t : {&x, &w})
    for (int64_t i = 0; i < t->elements(); ++i)
      t->as<float>()[i] = normal(random);
  ConvAttrs a = convAttrs({1, 1}, {1, 1}, {1, 1, 1, 1});
  Value vx = x, vw = w;
  const Value *inputs[] = {&vx, &vw};
  std::vector<Value> serial = evaluateReference("conv", a, inputs), threaded(1);
  ReferenceCall call{inputs, threaded, {}, [](int64_t count, const std::function<void(int64_t, int64_t)> &body) {
                       std::vector<std::thread> threads;
                       for (int64_t t = 0; t < 3; ++t)
                         threads.emplace_back([&, t] { body(count * t / 3, count * (t + 1) / 3); });
                       for (std::thread &thread : threads)
                         thread.join();
                     }};
  findReference("conv")->run(a, call);
  ASSERT_EQ(serial[0].tensor().bytes(), threaded[0].tensor().bytes());
  EXPECT_EQ(std::memcmp(serial[0].tensor().data(), threaded[0].tensor().data(), serial[0].tensor().bytes()), 0);
}

TEST(Reference, WritesIntoTheStorageItIsGiven) {
  Value x = f32({2}, {-1, 2}).convertedTo(ElementType::f16);
  uint16_t storage[2] = {0xffff, 0xffff};
  std::vector<Value> out{Tensor::borrow(ElementType::f16, {2}, storage)};
  const Value *inputs[] = {&x};
  ReferenceCall call{inputs, out, {}, {}};
  findReference("relu")->run(ReluAttrs(), call);
  EXPECT_EQ(storage[0], 0);
  EXPECT_EQ(storage[1], 0x4000);
  out[0] = Tensor(ElementType::f16, {3});
  EXPECT_THROW(findReference("relu")->run(ReluAttrs(), call), Error);
}

} // namespace
} // namespace lathe
