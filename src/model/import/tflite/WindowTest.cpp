// Compares convolutions, pools and matrix products with the channels last with plain loops.
#include "import/tflite/FileTesting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lathe::tflite {
namespace {

using enum BuiltinOperator;
using testing::FloatNear;
using testing::HasSubstr;
using testing::Pointwise;

struct Image {
  int height, width, channels;
  std::vector<float> data;
  float at(int y, int x, int c) const {
    bool inside = y >= 0 && y < height && x >= 0 && x < width;
    return inside ? data[static_cast<size_t>((y * width + x) * channels + c)] : 0;
  }
};

/// The number of positions of a window with SAME padding, and the first row of the first window.
std::pair<int, int> samePadding(int extent, int kernel, int stride, int dilation) {
  int out = (extent + stride - 1) / stride;
  return {out, std::max((out - 1) * stride + (kernel - 1) * dilation + 1 - extent, 0) / 2};
}

void expectNear(const Tensor &got, const std::vector<float> &want) {
  std::vector<float> values;
  for (double number : numbers(got))
    values.push_back(static_cast<float>(number));
  EXPECT_THAT(values, Pointwise(FloatNear(1e-4f), want));
}

TEST(Window, ConvolutionIsSamePaddedAndClamped) {
  Image image{5, 6, 3, ramp(5 * 6 * 3)};
  std::vector<float> weights = ramp(4 * 3 * 2 * 3, 0.125f), bias = {1, -1, 0.5f, 2};
  TestFile f;
  int x = f.input("x", {1, 5, 6, 3}), w = f.constant<float>({4, 3, 2, 3}, weights), b = f.constant<float>({4}, bias);
  int y = f.value({1, 3, 3, 4});
  f.op(CONV_2D, {x, w, b}, {y}, BuiltinOptions::Conv2D,
       file::CreateConv2DOptions(f.builder, file::Padding::SAME, 2, 2, Activation::RELU6).Union());
  f.output(y);
  std::vector<float> want;
  auto [rows, top] = samePadding(5, 3, 2, 1);
  auto [columns, left] = samePadding(6, 2, 2, 1);
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < columns; ++c)
      for (int o = 0; o < 4; ++o) {
        float sum = bias[static_cast<size_t>(o)];
        for (int i = 0; i < 3; ++i)
          for (int j = 0; j < 2; ++j)
            for (int k = 0; k < 3; ++k)
              sum += image.at(2 * r - top + i, 2 * c - left + j, k) *
                     weights[static_cast<size_t>(((o * 3 + i) * 2 + j) * 3 + k)];
        want.push_back(std::clamp(sum, 0.0f, 6.0f));
      }
  expectNear(evaluated(f.bytes(), {Tensor::of<float>({1, 5, 6, 3}, image.data)}).at(0), want);
}

TEST(Window, DepthwiseHasSeveralResultsAChannel) {
  Image image{6, 6, 2, ramp(72)};
  std::vector<float> weights = ramp(3 * 3 * 4);
  TestFile f;
  int x = f.input("x", {1, 6, 6, 2}), w = f.constant<float>({1, 3, 3, 4}, weights), y = f.value({1, 2, 2, 4});
  f.op(DEPTHWISE_CONV_2D, {x, w}, {y}, BuiltinOptions::DepthwiseConv2D,
       file::CreateDepthwiseConv2DOptions(f.builder, file::Padding::VALID, 1, 1, 2, Activation::NONE, 2, 2).Union());
  f.output(y);
  std::vector<float> want;
  for (int r = 0; r < 2; ++r)
    for (int c = 0; c < 2; ++c)
      for (int o = 0; o < 4; ++o) {
        float sum = 0;
        for (int i = 0; i < 3; ++i)
          for (int j = 0; j < 3; ++j)
            sum += image.at(r + 2 * i, c + 2 * j, o / 2) * weights[static_cast<size_t>((i * 3 + j) * 4 + o)];
        want.push_back(sum);
      }
  expectNear(evaluated(f.bytes(), {Tensor::of<float>({1, 6, 6, 2}, image.data)}).at(0), want);
}

/// The weights are quantised, the activations are floats: products of integers.
TEST(Window, HybridConvolutionQuantisesItsOperand) {
  Image image{4, 4, 2, ramp(32, 0.3f)};
  std::vector<int8_t> weights;
  for (int i = 0; i < 3 * 2 * 2 * 2; ++i)
    weights.push_back(static_cast<int8_t>(i * 29 % 41 - 20));
  TestFile f;
  int x = f.input("x", {1, 4, 4, 2});
  int w = f.constant<int8_t>({3, 2, 2, 2}, weights, f.scale({0.5f, 0.25f, 0.125f}, {0, 0, 0}, 0));
  int b = f.constant<float>({3}, {1, 2, 3}), y = f.value({1, 3, 3, 3});
  f.op(CONV_2D, {x, w, b}, {y}, BuiltinOptions::Conv2D,
       file::CreateConv2DOptions(f.builder, file::Padding::VALID, 1, 1).Union());
  f.output(y);
  float most = 0;
  for (float value : image.data)
    most = std::max(most, std::fabs(value));
  Image whole = image;
  for (float &value : whole.data)
    value = std::round(value * (127 / most));
  std::vector<float> want;
  const float scales[] = {0.5f, 0.25f, 0.125f};
  for (int r = 0; r < 3; ++r)
    for (int c = 0; c < 3; ++c)
      for (int o = 0; o < 3; ++o) {
        float sum = 0;
        for (int i = 0; i < 2; ++i)
          for (int j = 0; j < 2; ++j)
            for (int k = 0; k < 2; ++k)
              sum += whole.at(r + i, c + j, k) * weights[static_cast<size_t>(((o * 2 + i) * 2 + j) * 2 + k)];
        want.push_back(sum * (most / 127 * scales[o]) + static_cast<float>(1 + o));
      }
  expectNear(evaluated(f.bytes(), {Tensor::of<float>({1, 4, 4, 2}, image.data)}).at(0), want);
}

TEST(Window, TransposedConvolutionHasTheExtentsOfItsOperand) {
  Image image{2, 3, 2, ramp(12)};
  std::vector<float> weights = ramp(3 * 3 * 3 * 2);
  for (auto [padding, height, width] : {std::tuple{file::Padding::SAME, 4, 5}, {file::Padding::VALID, 5, 8}}) {
    TestFile f;
    int shape = f.constant<int32_t>({4}, {1, height, width, 3});
    int w = f.constant<float>({3, 3, 3, 2}, weights), x = f.input("x", {1, 2, 3, 2});
    int y = f.value({1, height, width, 3});
    f.op(TRANSPOSE_CONV, {shape, w, x}, {y}, BuiltinOptions::TransposeConv,
         file::CreateTransposeConvOptions(f.builder, padding, 2, 2).Union());
    f.output(y);
    int top = padding == file::Padding::SAME ? samePadding(height, 3, 2, 1).second : 0;
    int left = padding == file::Padding::SAME ? samePadding(width, 3, 2, 1).second : 0;
    std::vector<float> want(static_cast<size_t>(height * width * 3));
    for (int r = 0; r < 2; ++r)
      for (int c = 0; c < 3; ++c)
        for (int o = 0; o < 3; ++o)
          for (int i = 0; i < 3; ++i)
            for (int j = 0; j < 3; ++j) {
              int row = 2 * r - top + i, column = 2 * c - left + j;
              for (int k = 0; k < 2 && row >= 0 && row < height && column >= 0 && column < width; ++k)
                want[static_cast<size_t>((row * width + column) * 3 + o)] +=
                    image.at(r, c, k) * weights[static_cast<size_t>(((o * 3 + i) * 3 + j) * 2 + k)];
            }
    expectNear(evaluated(f.bytes(), {Tensor::of<float>({1, 2, 3, 2}, image.data)}).at(0), want);
  }
}

TEST(Window, PoolsDoNotCountPadding) {
  Image image{5, 5, 2, ramp(50)};
  for (BuiltinOperator code : {AVERAGE_POOL_2D, MAX_POOL_2D, L2_POOL_2D}) {
    TestFile f;
    int x = f.input("x", {1, 5, 5, 2}), y = f.value({1, 3, 3, 2});
    f.op(code, {x}, {y}, BuiltinOptions::Pool2D,
         file::CreatePool2DOptions(f.builder, file::Padding::SAME, 2, 2, 3, 3).Union());
    f.output(y);
    std::vector<float> want;
    for (int r = 0; r < 3; ++r)
      for (int c = 0; c < 3; ++c)
        for (int k = 0; k < 2; ++k) {
          float sum = 0, most = -1e9f, count = 0, squares = 0;
          for (int i = std::max(2 * r - 1, 0); i < std::min(2 * r + 2, 5); ++i)
            for (int j = std::max(2 * c - 1, 0); j < std::min(2 * c + 2, 5); ++j) {
              float value = image.at(i, j, k);
              sum += value, squares += value * value, most = std::max(most, value), ++count;
            }
          want.push_back(code == AVERAGE_POOL_2D ? sum / count
                         : code == MAX_POOL_2D   ? most
                                                 : std::sqrt(squares / count));
        }
    expectNear(evaluated(f.bytes(), {Tensor::of<float>({1, 5, 5, 2}, image.data)}).at(0), want);
  }
}

TEST(Window, FullyConnectedKeepsAxes) {
  for (bool keeps : {false, true}) {
    TestFile f;
    int x = f.input("x", {2, 2, 3}), w = f.constant<float>({2, 3}, {1, 2, 3, -1, 0, 1});
    int b = f.constant<float>({2}, {10, -10}), y = f.value({2, 2, 2});
    f.op(FULLY_CONNECTED, {x, w, b}, {y}, BuiltinOptions::FullyConnected,
         file::CreateFullyConnectedOptions(f.builder, Activation::RELU, file::WeightsFormat::DEFAULT, keeps).Union());
    f.output(y);
    std::vector<Tensor> got =
        evaluated(f.bytes(), {Tensor::of<float>({2, 2, 3}, {1, 1, 1, 0, 1, 0, 20, 0, 31, -3, 0, 0})});
    expectNear(got.at(0), {16, 0, 12, 0, 123, 1, 7, 0});
    EXPECT_EQ(got[0].dims(), keeps ? (std::vector<int64_t>{2, 2, 2}) : (std::vector<int64_t>{4, 2}));
  }
}

TEST(Window, WrongOptionsAreNamed) {
  TestFile f;
  int x = f.input("x", {1, 5, 5, 2}), y = f.value({1, 3, 3, 2}, file::TensorType::FLOAT32, "pool");
  f.op(AVERAGE_POOL_2D, {x}, {y}, BuiltinOptions::Conv2D, file::CreateConv2DOptions(f.builder).Union());
  f.output(y);
  EXPECT_THAT(importError(f.bytes()),
              HasSubstr("m.tflite: node 0 'pool' (AVERAGE_POOL_2D, schema 3): has options of Conv2D, expected Pool2D"));
  TestFile zero;
  x = zero.input("x", {1, 5, 5, 2}), y = zero.value({1, 3, 3, 2});
  zero.op(MAX_POOL_2D, {x}, {y}, BuiltinOptions::Pool2D,
          file::CreatePool2DOptions(zero.builder, file::Padding::SAME, 0, 1, 3, 3).Union());
  zero.output(y);
  EXPECT_THAT(importError(zero.bytes()), HasSubstr("has stride 0, expected at least 1"));
}

} // namespace
} // namespace lathe::tflite
