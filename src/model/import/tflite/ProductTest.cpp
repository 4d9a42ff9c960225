// Matrix products of quantised weights, batched products, and slices at positions known at run time.
#include "import/tflite/FileTesting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace lathe::tflite {
namespace {

using enum BuiltinOperator;
using testing::ElementsAre;
using testing::FloatNear;
using testing::Pointwise;

std::vector<float> floats(const Tensor &tensor) {
  std::vector<float> values;
  for (double number : numbers(tensor))
    values.push_back(static_cast<float>(number));
  return values;
}

/// Each row is quantised separately, in 32-bit floats, with a zero point if the options ask for one.
TEST(Product, HybridRowsAreQuantised) {
  const std::vector<float> x = {0.5f, -1.25f, 3, 0.1f, 0, 0, 0, 0, -2, -1, -0.3f, -4};
  const std::vector<int8_t> w = {10, -20, 30, 5, -127, 1, 2, 64};
  for (bool asymmetric : {false, true}) {
    TestFile f;
    int in = f.input("x", {3, 4}), weights = f.constant<int8_t>({2, 4}, w, f.scale({0.5f}, {0}));
    int bias = f.constant<float>({2}, {1, -1}), y = f.value({3, 2});
    f.op(FULLY_CONNECTED, {in, weights, bias}, {y}, BuiltinOptions::FullyConnected,
         file::CreateFullyConnectedOptions(f.builder, Activation::NONE, file::WeightsFormat::DEFAULT, false, asymmetric)
             .Union());
    f.output(y);
    std::vector<float> want;
    for (size_t row = 0; row < 3; ++row) {
      double low = 0, high = 0;
      for (size_t i = 0; i < 4; ++i)
        low = std::min<double>(low, x[row * 4 + i]), high = std::max<double>(high, x[row * 4 + i]);
      double most = std::max(-low, high), scale = asymmetric ? (high - low) / 255 : most / 127, zero = 0;
      if (scale == 0)
        scale = 1;
      else if (asymmetric) {
        double fromLow = -128 - low / scale, fromHigh = 127 - high / scale;
        bool lowIsBetter = 128 + std::fabs(low / scale) < 127 + std::fabs(high / scale);
        zero = std::clamp(std::round(lowIsBetter ? fromLow : fromHigh), -128.0, 127.0);
      }
      for (size_t o = 0; o < 2; ++o) {
        double sum = 0;
        for (size_t i = 0; i < 4; ++i) {
          float inverse = asymmetric ? 1.0f / static_cast<float>(scale) : 127.0f / static_cast<float>(most);
          float moved = std::round(static_cast<float>(zero) + x[row * 4 + i] * (most == 0 ? 0.0f : inverse));
          double whole = std::clamp(moved, asymmetric ? -128.0f : -127.0f, 127.0f);
          sum += (whole - zero) * w[o * 4 + i];
        }
        want.push_back(static_cast<float>(sum * scale * 0.5 + (o ? -1 : 1)));
      }
    }
    EXPECT_THAT(floats(evaluated(f.bytes(), {Tensor::of<float>({3, 4}, x)}).at(0)), Pointwise(FloatNear(1e-4f), want))
        << (asymmetric ? "asymmetric" : "symmetric");
  }
}

TEST(Product, BatchesAreTransposedAsTheOptionsSay) {
  TestFile f;
  int a = f.input("a", {1, 3, 2}), b = f.constant<float>({2, 2, 3}, {1, 0, 2, 0, 1, 1, 1, 1, 1, 2, 0, 0});
  int y = f.value({2, 2, 2});
  f.op(BATCH_MATMUL, {a, b}, {y}, BuiltinOptions::BatchMatMul,
       file::CreateBatchMatMulOptions(f.builder, true, true).Union());
  f.output(y);
  // a^T = {{1, 3, 5}, {2, 4, 6}}
  EXPECT_THAT(numbers(evaluated(f.bytes(), {Tensor::of<float>({1, 3, 2}, {1, 2, 3, 4, 5, 6})}).at(0)),
              ElementsAre(11, 8, 14, 10, 9, 2, 12, 4));
}

TEST(Slices, AreWhereTheRunSays) {
  TestFile f;
  int x = f.input("x", {3, 4}), at = f.input("at", {2}, file::TensorType::INT32);
  int size = f.constant<int32_t>({2}, {1, 2}), end = f.constant<int32_t>({2}, {0, 4}),
      one = f.constant<int32_t>({2}, {1, 1});
  int part = f.value({1, 2}), rest = f.value({-1});
  f.op(SLICE, {x, at, size}, {part});
  f.op(STRIDED_SLICE, {x, at, end, one}, {rest}, BuiltinOptions::StridedSlice,
       file::CreateStridedSliceOptions(f.builder, 0, 2, 0, 0, 1).Union());
  f.output(part), f.output(rest);
  std::vector<float> values(12);
  for (size_t i = 0; i < 12; ++i)
    values[i] = static_cast<float>(i);
  std::vector<Tensor> got = evaluated(f.bytes(), {Tensor::of<float>({3, 4}, values), Tensor::of<int32_t>({2}, {2, 1})});
  EXPECT_THAT(numbers(got.at(0)), ElementsAre(9, 10));
  EXPECT_EQ(got[0].dims(), (std::vector<int64_t>{1, 2}));
  EXPECT_THAT(numbers(got.at(1)), ElementsAre(9, 10, 11)) << "one row, from a column to the end";
}

} // namespace
} // namespace lathe::tflite
