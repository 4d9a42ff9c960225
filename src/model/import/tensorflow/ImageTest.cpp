// Compares convolutions, pools and images with plain loops over TensorFlow's definitions.
#include "import/tensorflow/GraphTesting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace lathe::tensorflow {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pointwise;
using G = TestGraph;

/// Numbers that are not monotonic and do not repeat for a long time.
Numbers sample(int64_t count) {
  Numbers values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(0.25 * static_cast<double>(i * 37 % 23 - 11));
  return values;
}
std::vector<float> sampleFloats(int64_t count) {
  Numbers values = sample(count);
  return {values.begin(), values.end()};
}

/// One operator on x, with one result. `declared`: the extents that the file states, if they differ from the extents of
/// x.
Numbers one(const Extents &dims, const Numbers &x, const std::string &op, const std::vector<Attr> &attrs,
            const std::function<std::vector<std::string>(G &, const std::string &)> &inputs = {},
            const Extents &declared = {}) {
  G g;
  std::string name = g.placeholder("x", declared.empty() ? dims : declared);
  g.op("Identity", {g.op(op, inputs ? inputs(g, name) : std::vector<std::string>{name}, attrs)}, {}, "y");
  return numbersOf(results(g.bytes(), {floats(dims, x)}).at(0));
}

struct Conv {
  int64_t height, width, channels, kernel, outputs, stride, dilation;
  int64_t top, left, high, wide; // pads at the start, extents of the result
};

/// x: height x width x channels, w: kernel x kernel x channels x outputs.
Numbers convolved(const Conv &c, const Numbers &x, const Numbers &w) {
  Numbers y(static_cast<size_t>(c.high * c.wide * c.outputs));
  for (int64_t row = 0; row < c.high; ++row)
    for (int64_t column = 0; column < c.wide; ++column)
      for (int64_t o = 0; o < c.outputs; ++o)
        for (int64_t ky = 0; ky < c.kernel; ++ky)
          for (int64_t kx = 0; kx < c.kernel; ++kx)
            for (int64_t i = 0; i < c.channels; ++i) {
              int64_t iy = row * c.stride + ky * c.dilation - c.top, ix = column * c.stride + kx * c.dilation - c.left;
              if (iy < 0 || ix < 0 || iy >= c.height || ix >= c.width)
                continue;
              y[static_cast<size_t>((row * c.wide + column) * c.outputs + o)] +=
                  x[static_cast<size_t>((iy * c.width + ix) * c.channels + i)] *
                  w[static_cast<size_t>(((ky * c.kernel + kx) * c.channels + i) * c.outputs + o)];
            }
  return y;
}

auto weights(const Extents &dims) {
  return [=](G &g, const std::string &x) {
    int64_t count = 1;
    for (int64_t extent : dims)
      count *= extent;
    return std::vector<std::string>{x, g.constant<float>(dims, sampleFloats(count))};
  };
}

TEST(Convolution, SamePaddingHasMoreAtTheEnd) {
  Conv c{5, 4, 2, 3, 3, 2, 1, 1, 0, 3, 2}; // height: 2 pads, width: 1
  Numbers x = sample(40), want = convolved(c, x, sample(54));
  EXPECT_THAT(one({1, 5, 4, 2}, x, "Conv2D", {numbers("strides", {1, 2, 2, 1}), text("padding", "SAME")},
                  weights({3, 3, 2, 3})),
              Pointwise(DoubleNear(1e-5), want));
  // If the file leaves height and width open, the padding depends on them.
  EXPECT_THAT(one({1, 5, 4, 2}, x, "Conv2D", {numbers("strides", {1, 2, 2, 1}), text("padding", "SAME")},
                  weights({3, 3, 2, 3}), {-1, -1, -1, 2}),
              Pointwise(DoubleNear(1e-5), want));
}

TEST(Convolution, DilationsAndExplicitPads) {
  Conv c{6, 6, 1, 2, 1, 1, 2, 1, 0, 5, 6};
  Numbers x = sample(36), want = convolved(c, x, sample(4));
  EXPECT_THAT(one({1, 6, 6, 1}, x, "Conv2D",
                  {numbers("strides", {1, 1, 1, 1}), numbers("dilations", {1, 2, 2, 1}), text("padding", "EXPLICIT"),
                   numbers("explicit_paddings", {0, 0, 1, 0, 0, 2, 0, 0})},
                  weights({2, 2, 1, 1})),
              Pointwise(DoubleNear(1e-5), want));
}

TEST(Convolution, ChannelsFirst) {
  // An operand with the channels first gives the same result as one with the channels last, transposed.
  Numbers x = sample(32), moved(32);
  for (size_t i = 0; i < 16; ++i)
    for (size_t c = 0; c < 2; ++c)
      moved[c * 16 + i] = x[i * 2 + c];
  Conv c{4, 4, 2, 3, 1, 1, 1, 0, 0, 2, 2};
  Numbers want = convolved(c, x, sample(18));
  EXPECT_THAT(one({1, 2, 4, 4}, moved, "Conv2D",
                  {numbers("strides", {1, 1, 1, 1}), text("padding", "VALID"), text("data_format", "NCHW")},
                  weights({3, 3, 2, 1})),
              Pointwise(DoubleNear(1e-5), want));
}

TEST(Convolution, DepthwiseHasSeveralResultsAChannel) {
  // Channel c of x makes the results 2 c and 2 c + 1: a full convolution whose other weights are zero.
  Numbers x = sample(18), w = sample(16), full(32);
  for (size_t tap = 0; tap < 4; ++tap)
    for (size_t c = 0; c < 2; ++c)
      for (size_t m = 0; m < 2; ++m)
        full[(tap * 2 + c) * 4 + 2 * c + m] = w[(tap * 2 + c) * 2 + m];
  Conv c{3, 3, 2, 2, 4, 1, 1, 0, 0, 2, 2};
  EXPECT_THAT(one({1, 3, 3, 2}, x, "DepthwiseConv2dNative",
                  {numbers("strides", {1, 1, 1, 1}), text("padding", "VALID")}, weights({2, 2, 2, 2})),
              Pointwise(DoubleNear(1e-5), convolved(c, x, full)));
}

/// Counts an operator in the imported module.
int64_t countOf(const std::string &bytes, const std::string &op, const ImportOptions &options = {}) {
  auto context = makeContext();
  auto module = importModelOf(format(), *context, bytes, "m.pb", {}, options);
  int64_t count = 0;
  module->walk([&](mlir::Operation *found) { count += found->getName().getStringRef() == llvm::StringRef(op); });
  return count;
}

TEST(Convolution, BlocksAroundItAreADilation) {
  Conv c{5, 5, 1, 3, 2, 1, 2, 2, 2, 5, 5};
  Numbers x = sample(25), want = convolved(c, x, sample(18));
  for (size_t i = 0; i < want.size(); ++i)
    want[i] += i % 2 ? -1 : 1;
  G g;
  std::string in = g.placeholder("x", {-1, 5, 5, 1});
  std::string block = g.ints({2, 2}), pads = g.constant<int32_t>({2, 2}, {2, 3, 2, 3});
  std::string spread = g.op("SpaceToBatchND", {in, block, pads});
  std::string y = g.op("Conv2D", {spread, g.constant<float>({3, 3, 1, 2}, sampleFloats(18))},
                       {numbers("strides", {1, 1, 1, 1}), text("padding", "VALID")});
  y = g.op("BiasAdd", {y, g.constant<float>({2}, {1, -1})});
  g.op("BatchToSpaceND", {y, block, g.constant<int32_t>({2, 2}, {0, 1, 0, 1})}, {}, "y");
  EXPECT_THAT(numbersOf(results(g.bytes(), {floats({1, 5, 5, 1}, x)}).at(0)), Pointwise(DoubleNear(1e-5), want));
  EXPECT_EQ(countOf(g.bytes(), "nn.pad"), 0);
}

TEST(Convolution, TransposedIsTheGradient) {
  // Every element of x adds a scaled kernel at its position times the stride.
  Numbers x = sample(4), w = sample(9), want(16);
  for (int64_t row = 0; row < 2; ++row)
    for (int64_t column = 0; column < 2; ++column)
      for (int64_t ky = 0; ky < 3; ++ky)
        for (int64_t kx = 0; kx < 3; ++kx) {
          int64_t iy = row * 2 + ky, ix = column * 2 + kx; // SAME of 4 to 2: no pad at the start
          if (iy < 4 && ix < 4)
            want[static_cast<size_t>(iy * 4 + ix)] +=
                x[static_cast<size_t>(row * 2 + column)] * w[static_cast<size_t>(ky * 3 + kx)];
        }
  EXPECT_THAT(one({1, 2, 2, 1}, x, "Conv2DBackpropInput", {numbers("strides", {1, 2, 2, 1}), text("padding", "SAME")},
                  [](G &g, const std::string &in) {
                    return std::vector<std::string>{g.ints({1, 4, 4, 1}),
                                                    g.constant<float>({3, 3, 1, 1}, sampleFloats(9)), in};
                  }),
              Pointwise(DoubleNear(1e-5), want));
}

TEST(Pool, PadsDoNotCount) {
  std::vector<Attr> attrs = {numbers("ksize", {1, 2, 2, 1}), numbers("strides", {1, 2, 2, 1}), text("padding", "SAME")};
  Numbers x = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  EXPECT_THAT(one({1, 3, 3, 1}, x, "AvgPool", attrs), ElementsAre(3, 4.5, 7.5, 9));
  EXPECT_THAT(one({1, 3, 3, 1}, x, "MaxPool", attrs), ElementsAre(5, 6, 8, 9));
}

// ---- Resizing -----------------------------------------------------------------------------------------------------

Numbers resized(const char *op, const Numbers &x, int32_t width, bool align, bool half) {
  return one({1, 1, static_cast<int64_t>(x.size()), 1}, x, op,
             {truth("align_corners", align), truth("half_pixel_centers", half)},
             [=](G &g, const std::string &in) { return std::vector<std::string>{in, g.ints({1, width})}; });
}

TEST(Resize, BilinearInAllCombinations) {
  EXPECT_THAT(resized("ResizeBilinear", {0, 10}, 4, false, false), ElementsAre(0, 5, 10, 10));
  EXPECT_THAT(resized("ResizeBilinear", {0, 10}, 4, false, true), ElementsAre(0, 2.5, 7.5, 10));
  EXPECT_THAT(resized("ResizeBilinear", {0, 12}, 4, true, false), Pointwise(DoubleNear(1e-5), Numbers{0, 4, 8, 12}));
}

TEST(Resize, NearestInAllCombinations) {
  Numbers x = {0, 1, 2, 3, 4};
  EXPECT_THAT(resized("ResizeNearestNeighbor", x, 3, false, false), ElementsAre(0, 1, 3));   // 0, 1.67, 3.33
  EXPECT_THAT(resized("ResizeNearestNeighbor", x, 3, false, true), ElementsAre(0, 2, 4));    // 0.83, 2.5, 4.17
  EXPECT_THAT(resized("ResizeNearestNeighbor", x, 4, true, false), ElementsAre(0, 1, 3, 4)); // 0, 1.33, 2.67, 4
}

TEST(Resize, BothOptionsAreAnError) {
  G g;
  g.op("ResizeBilinear", {g.placeholder("x", {1, 2, 2, 1}), g.ints({4, 4})},
       {truth("align_corners"), truth("half_pixel_centers")}, "y");
  EXPECT_THAT(importError(g.bytes()), HasSubstr("has both align_corners and half_pixel_centers"));
}

TEST(Resize, AreaIsTheMeanOfWhatAPixelCovers) {
  EXPECT_THAT(one({1, 1, 4, 1}, {1, 3, 5, 7}, "ResizeArea", {truth("align_corners", false)},
                  [](G &g, const std::string &x) { return std::vector<std::string>{x, g.ints({1, 2})}; }),
              Pointwise(DoubleNear(1e-5), Numbers{2, 6}));
  EXPECT_THAT(one({1, 1, 3, 1}, {3, 6, 9}, "ResizeArea", {},
                  [](G &g, const std::string &x) { return std::vector<std::string>{x, g.ints({1, 2})}; }),
              Pointwise(DoubleNear(1e-5), Numbers{4, 8}));
}

/// Keys' coefficient -0.5 at a distance of 1/4 on either side; pixels outside do not count.
TEST(Resize, BicubicWithHalfPixels) {
  auto near = [](double t) { return (1.5 * t - 2.5) * t * t + 1; };
  auto far = [](double t) { return ((-0.5 * t + 2.5) * t - 4) * t + 2; };
  Numbers x = {1, 2, 4, 8};
  Numbers got = resized("ResizeBicubic", x, 8, false, true);
  double weights[] = {far(1.25), near(0.25), near(0.75), far(1.75)}; // position 1.25: pixels 0 to 3
  double want = (weights[0] * 1 + weights[1] * 2 + weights[2] * 4 + weights[3] * 8);
  EXPECT_NEAR(got.at(3), want, 1e-5);
  EXPECT_NEAR(got.at(1), (near(0.25) * 1 + near(0.75) * 2 + far(1.75) * 4) / (near(0.25) + near(0.75) + far(1.75)),
              1e-5);
}

/// `x` resampled to `width` pixels, as tf.image.resize does it.
Numbers translated(const Numbers &x, int32_t width, const char *kernel, bool antialias, float translation = 0) {
  float scale = static_cast<float>(width) / static_cast<float>(x.size());
  return one({1, 1, static_cast<int64_t>(x.size()), 1}, x, "ScaleAndTranslate",
             {text("kernel_type", kernel), truth("antialias", antialias)}, [=](G &g, const std::string &in) {
               return std::vector<std::string>{in, g.ints({1, width}), g.constant<float>({2}, {1, scale}),
                                               g.constant<float>({2}, {0, translation})};
             });
}

TEST(Resize, ByKernels) {
  // Twice as many pixels: samples are a quarter of a pixel away from the pixels.
  EXPECT_THAT(translated({0, 10}, 4, "triangle", true), Pointwise(DoubleNear(1e-5), Numbers{0, 2.5, 7.5, 10}));
  // Half as many pixels with antialias: the kernel extends 2 pixels to either side, so weights are 0.25 and 0.75.
  EXPECT_THAT(translated({4, 8, 16, 32}, 2, "triangle", true),
              Pointwise(DoubleNear(1e-5),
                        Numbers{(0.75 * 4 + 0.75 * 8 + 0.25 * 16) / 1.75, (0.25 * 8 + 0.75 * 16 + 0.75 * 32) / 1.75}));
  EXPECT_THAT(translated({4, 8, 16, 32}, 2, "triangle", false), Pointwise(DoubleNear(1e-5), Numbers{6, 24}));
  // Samples outside the picture are 0.
  EXPECT_THAT(translated({4, 8}, 2, "triangle", false, 1), Pointwise(DoubleNear(1e-5), Numbers{0, 4}));
  auto lanczos = [](double t) { return 3 * std::sin(M_PI * t) * std::sin(M_PI * t / 3) / (M_PI * M_PI * t * t); };
  double weights[] = {lanczos(0.25), lanczos(0.75), lanczos(1.75)}, sum = weights[0] + weights[1] + weights[2];
  EXPECT_NEAR(translated({1, 5, 2}, 6, "lanczos3", true).at(1), (weights[0] + 5 * weights[1] + 2 * weights[2]) / sum,
              1e-5);
  auto mitchell = [](double t) { // the general cubic for B = C = 1/3
    return t < 1 ? ((7 * t - 12) * t * t + 16 / 3.0) / 6 : (((-7 / 3.0 * t + 12) * t - 20) * t + 32 / 3.0) / 6;
  };
  double cubic[] = {mitchell(0.25), mitchell(0.75), mitchell(1.75)}, all = cubic[0] + cubic[1] + cubic[2];
  EXPECT_NEAR(translated({1, 5, 2}, 6, "mitchellcubic", true).at(1), (cubic[0] + 5 * cubic[1] + 2 * cubic[2]) / all,
              1e-5);
}

TEST(Resize, BicubicWithoutHalfPixels) { // Keys' coefficient -0.75, and the border repeated
  auto near = [](double t) { return (1.25 * t - 2.25) * t * t + 1; };
  auto far = [](double t) { return ((-0.75 * t + 3.75) * t - 6) * t + 3; };
  EXPECT_NEAR(resized("ResizeBicubic", {1, 2, 4, 8}, 8, false, false).at(1), // position 0.5
              far(1.5) * 1 + near(0.5) * 1 + near(0.5) * 2 + far(1.5) * 4, 1e-5);
  EXPECT_NEAR(resized("ResizeBicubic", {1, 2, 4, 8}, 7, true, false).at(3), // position 1.5
              far(1.5) * 1 + near(0.5) * 2 + near(0.5) * 4 + far(1.5) * 8, 1e-5);
}

TEST(CropAndResize, TheNearestPixelIsTheLaterOneOfTwo) {
  Numbers got =
      one({1, 1, 5, 1}, {1, 2, 3, 4, 5}, "CropAndResize", {text("method", "nearest")}, [](G &g, const std::string &x) {
        // Positions 0.5, 2 and 3.5; 1.5, 2 and 2.5.
        std::string boxes = g.constant<float>({2, 4}, {0, 0.125f, 1, 0.875f, 0, 0.375f, 1, 0.625f});
        return std::vector<std::string>{x, boxes, g.ints({0, 0}), g.ints({1, 3})};
      });
  EXPECT_THAT(got, ElementsAre(2, 3, 5, 3, 3, 4));
}

TEST(CropAndResize, PositionsOutsideHaveTheGivenValue) {
  Numbers got = one({1, 1, 3, 1}, {5, 6, 8}, "CropAndResize",
                    {real("extrapolation_value", 9), text("method", "bilinear")}, [](G &g, const std::string &x) {
                      std::string boxes = g.constant<float>({2, 4}, {0, 0.25f, 1, 1, 0, -1, 1, 0});
                      return std::vector<std::string>{x, boxes, g.ints({0, 0}), g.ints({1, 2})};
                    });
  EXPECT_THAT(got, Pointwise(DoubleNear(1e-5), Numbers{5.5, 8, 9, 5}));
}

TEST(ExtractImagePatches, PutsWindowsSideBySide) {
  EXPECT_THAT(one({1, 2, 3, 1}, {1, 2, 3, 4, 5, 6}, "ExtractImagePatches",
                  {numbers("ksizes", {1, 2, 2, 1}), numbers("strides", {1, 1, 1, 1}), numbers("rates", {1, 1, 1, 1}),
                   text("padding", "VALID")}),
              ElementsAre(1, 2, 4, 5, 2, 3, 5, 6));
}

TEST(ExtractImagePatches, RatesAndPadding) {
  // A patch has two pixels with one between them, so SAME adds one column on each side.
  EXPECT_THAT(one({1, 1, 4, 1}, {1, 2, 3, 4}, "ExtractImagePatches",
                  {numbers("ksizes", {1, 1, 2, 1}), numbers("strides", {1, 1, 1, 1}), numbers("rates", {1, 1, 2, 1}),
                   text("padding", "SAME")}),
              ElementsAre(0, 2, 1, 3, 2, 4, 3, 0));
  EXPECT_THAT(one({1, 1, 4, 1}, {1, 2, 3, 4}, "ExtractImagePatches",
                  {numbers("ksizes", {1, 1, 2, 1}), numbers("strides", {1, 1, 3, 1}), numbers("rates", {1, 1, 1, 1}),
                   text("padding", "SAME")}),
              ElementsAre(1, 2, 4, 0));
}

} // namespace
} // namespace lathe::tensorflow
