// Compares quantised operators of 16 bits and in fixed point bit by bit with TensorFlow Lite's kernels in plain code.
#include "import/tflite/FileTesting.h"
#include "import/tflite/FixedPoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>

namespace lathe::tflite {
namespace {

using enum BuiltinOperator;
using testing::ElementsAre;
using testing::HasSubstr;
using Ints = TestFile::Ints;
using Type = file::TensorType;
using Numbers = std::vector<int64_t>;

struct Scale {
  Type type;
  float factor;
  int64_t zero;
};

Numbers integers(const Tensor &tensor) {
  Numbers result;
  for (int64_t i = 0; i < tensor.elements(); ++i)
    result.push_back(tensor.asInteger(i));
  return result;
}

/// Numbers of a type from its least number on, `step` apart, in rows of `columns`.
Tensor spread(Type type, int64_t count, int64_t step, int64_t columns) {
  int64_t least = type == Type::INT8 ? -128 : type == Type::UINT8 ? 0 : -32768;
  int64_t range = type == Type::INT16 ? 65536 : 256;
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(static_cast<double>(least + i * step % range));
  ElementType to = type == Type::INT8 ? ElementType::i8 : type == Type::UINT8 ? ElementType::u8 : ElementType::i16;
  return Tensor::of<double>({count / columns, columns}, values).convertedTo(to);
}

Numbers evaluatedUnary(BuiltinOperator code, const Tensor &x, const Scale &from, const Scale &to,
                       RequantizeRounding rounding = RequantizeRounding::reference, float option = 0) {
  TestFile f;
  Ints dims(x.dims().begin(), x.dims().end());
  int in = f.quantisedInput("x", dims, from.type, from.factor, from.zero);
  int out = f.quantisedValue(dims, to.type, to.factor, to.zero);
  auto kind = code == LEAKY_RELU ? BuiltinOptions::LeakyRelu
              : code == SOFTMAX  ? BuiltinOptions::Softmax
                                 : BuiltinOptions::NONE;
  auto options = code == LEAKY_RELU ? file::CreateLeakyReluOptions(f.builder, option).Union()
                 : code == SOFTMAX  ? file::CreateSoftmaxOptions(f.builder, option).Union()
                                    : flatbuffers::Offset<void>(0);
  f.op(code, {in}, {out}, kind, options);
  f.output(out);
  ImportOptions importing;
  importing.requantizeRounding = rounding;
  return integers(evaluated(f.bytes(), {x}, importing).at(0));
}

// ---- Logistic function and hyperbolic tangent ------------------------------------------------------------------------

TEST(QuantizedWide, SigmoidsAreNearTheirFunctions) {
  struct Case {
    BuiltinOperator code;
    float scale;
  };
  // Powers of two, which the table uses directly, and other scales, which need a multiplier.
  for (const Case &c : {Case{LOGISTIC, 0x1p-12f}, Case{LOGISTIC, 0.0003f}, Case{TANH, 0x1p-12f}, Case{TANH, 0x1p-11f},
                        Case{TANH, 0.0001f}})
    for (RequantizeRounding rounding : {RequantizeRounding::reference, RequantizeRounding::optimised}) {
      Tensor x = spread(Type::INT16, 4096, 16, 64);
      Numbers y = evaluatedUnary(c.code, x, {Type::INT16, c.scale, 0}, {Type::INT16, 0x1p-15f, 0}, rounding);
      for (size_t i = 0; i < y.size(); ++i) {
        double real = c.scale * static_cast<double>(x.asInteger(static_cast<int64_t>(i)));
        double wanted = c.code == TANH ? std::tanh(real) : 1 / (1 + std::exp(-real));
        ASSERT_NEAR(static_cast<double>(y[i]) / 32768, wanted, 5e-4) << operatorName(c.code) << " of " << real;
      }
    }
}

/// Entries of the table, without interpolation. logistic(k / 24) in steps of 2^-16, halved; 2 * logistic(2 x) - 1.
TEST(QuantizedWide, SigmoidsMeetTheirTable) {
  // 512 steps of 1 / 12288 are one entry; one step of an operand of scale 2^-12 is 3 steps.
  std::vector<int16_t> places = {0, 512, 1024, 2560, -512, -2560, 32767, -32768};
  Tensor x = Tensor::of<int16_t>({8}, places);
  // logistic: 32768, 34813, 36843, 42688 at entries 0, 3, 6, 15; (value * 512 + 512) >> 10
  EXPECT_THAT(evaluatedUnary(LOGISTIC, x, {Type::INT16, 0x1p-12f, 0}, {Type::INT16, 0x1p-15f, 0}),
              ElementsAre(16384, 17407, 18422, 21344, 15361, 11424, 32757, 11));
  // tanh: entries 6, 12, 30; value - 32768
  EXPECT_THAT(evaluatedUnary(TANH, x, {Type::INT16, 0x1p-12f, 0}, {Type::INT16, 0x1p-15f, 0}),
              ElementsAre(0, 4075, 8026, 18174, -4075, -18174, 32767, -32767));
}

// ---- Softmax ---------------------------------------------------------------------------------------------------------

/// 513 values of a real function for the 16-bit numbers q with x = scale * (q - zero), in steps of `output`.
std::vector<int16_t> table(float scale, int32_t zero, float output, const std::function<float(float)> &function) {
  float least = scale * static_cast<float>(-32768 - zero), most = scale * static_cast<float>(32767 - zero);
  float step = (most - least) / 512;
  float inverse = 65536.0f / (output * 32767 - output * -32768);
  std::vector<int16_t> result;
  for (int i = 0; i < 512; ++i) {
    float at = least + static_cast<float>(i) * step, value = std::round(function(at) * inverse);
    float next = function(least + static_cast<float>(i + 1) * step) * inverse;
    float error = std::round((next + value) / 2) - std::round(function(at + step / 2) * inverse);
    result.push_back(static_cast<int16_t>(std::clamp(value - std::round(error / 2), -32768.0f, 32767.0f)));
  }
  result.push_back(static_cast<int16_t>(std::clamp(std::round(function(most) * inverse), -32768.0f, 32767.0f)));
  return result;
}

int64_t between(const std::vector<int16_t> &values, int64_t q) {
  auto place = static_cast<size_t>(256 + (q >> 7));
  int64_t slope = values[place + 1] - values[place];
  return values[place] + ((slope * (q & 127) + 64) >> 7);
}

TEST(QuantizedWide, SoftmaxOfSixteenBits) {
  constexpr int64_t rows = 6, columns = 41;
  const float scale = 0.0007f, beta = 0.8f;
  Tensor x = spread(Type::INT16, rows * columns, 5237, columns);
  Numbers got = evaluatedUnary(SOFTMAX, x, {Type::INT16, scale, 0}, {Type::INT16, 0x1p-15f, 0},
                               RequantizeRounding::reference, beta);
  std::vector<int16_t> powers = table(10.0f / 65535, 32767, 2.0f / 65535, [](float v) { return std::exp(v); }),
                       inverses = table(1.0f / 65535, -32768, 2.0f / 65535, [](float v) { return 1.0f / (1.0f + v); });
  Multiplier factor = multiplierOf(double(scale * beta) / (10.0 / 65535.0));
  for (int64_t r = 0; r < rows; ++r) {
    int64_t greatest = -32768, total = 0, sum = 0;
    for (int64_t c = 0; c < columns; ++c)
      greatest = std::max(greatest, x.asInteger(r * columns + c));
    Numbers whole;
    for (int64_t c = 0; c < columns; ++c) {
      int64_t moved = scaled(static_cast<int32_t>(x.asInteger(r * columns + c) - greatest), factor) + 32767;
      whole.push_back(between(powers, std::clamp<int64_t>(moved, -32768, 32767)));
      sum += whole.back();
    }
    int zeros = std::countl_zero(static_cast<uint32_t>(sum));
    int64_t shifted = ((sum << (zeros - 1)) + (1 << 13)) >> 14;
    int64_t inverse = between(inverses, std::clamp<int64_t>(shifted - 98304, -32768, 32767));
    for (int64_t c = 0; c < columns; ++c) {
      int right = 31 - zeros;
      int64_t wanted = (whole[static_cast<size_t>(c)] * inverse + (int64_t(1) << (right - 1))) >> right;
      int64_t value = got[static_cast<size_t>(r * columns + c)];
      ASSERT_EQ(value, std::clamp<int64_t>(wanted, 0, 32767)) << "row " << r << ", column " << c;
      total += value;
    }
    EXPECT_NEAR(static_cast<double>(total), 32768, 60) << "row " << r;
  }
}

TEST(QuantizedWide, SoftmaxOfBytesToSixteenBits) {
  Tensor x = spread(Type::INT8, 60, 37, 20);
  Numbers y = evaluatedUnary(SOFTMAX, x, {Type::INT8, 0.1f, 5}, {Type::INT16, 0x1p-16f, -32768},
                             RequantizeRounding::reference, 1);
  for (size_t r = 0; r < 3; ++r) {
    double sum = 0;
    for (size_t c = 0; c < 20; ++c)
      sum += std::exp(0.1 * static_cast<double>(x.asInteger(static_cast<int64_t>(r * 20 + c))));
    for (size_t c = 0; c < 20; ++c)
      EXPECT_NEAR(static_cast<double>(y[r * 20 + c] + 32768) / 65536,
                  std::exp(0.1 * static_cast<double>(x.asInteger(static_cast<int64_t>(r * 20 + c)))) / sum, 2e-5);
  }
}

// ---- Normalisation ---------------------------------------------------------------------------------------------------

TEST(QuantizedWide, NormalisedRows) {
  constexpr int64_t columns = 7;
  for (Type type : {Type::INT8, Type::UINT8}) {
    bool natural = type == Type::UINT8;
    int64_t zero = natural ? 120 : -3;
    Tensor x = spread(type, 9 * columns, 41, columns);
    Numbers y = evaluatedUnary(L2_NORMALIZATION, x, {type, 0.1f, zero}, {type, 0x1p-7f, natural ? 128 : 0});
    for (int64_t r = 0; r < 9; ++r) {
      int64_t sum = 0;
      for (int64_t c = 0; c < columns; ++c)
        sum += (x.asInteger(r * columns + c) - zero) * (x.asInteger(r * columns + c) - zero);
      Multiplier root = inverseRoot(static_cast<int32_t>(sum));
      for (int64_t c = 0; c < columns; ++c) {
        auto centre = static_cast<int32_t>(x.asInteger(r * columns + c) - zero);
        int64_t wanted = natural ? std::clamp<int64_t>(128 + scaled(128 * centre, root), 0, 255)
                                 : std::clamp<int64_t>(scaled(centre, {root.value, root.shift + 7}), -128, 127);
        ASSERT_EQ(y[static_cast<size_t>(r * columns + c)], wanted)
            << typeName(type) << ", row " << r << ", column " << c;
        EXPECT_NEAR(static_cast<double>(wanted - (natural ? 128 : 0)) / 128, centre / std::sqrt(double(sum)), 0.01);
      }
    }
  }
}

/// Sums of squares of all sizes: compares the operators with the scalar function.
TEST(QuantizedWide, InverseRootsOfSmallAndLargeSums) {
  for (int64_t value : {0, 1, 2, 3, 4, 15, 16, 127}) {
    int64_t columns = value == 127 ? 40000 : 2; // the last sum needs 30 bits
    std::vector<int8_t> row(static_cast<size_t>(columns), static_cast<int8_t>(value == 127 ? 127 : 0));
    row[0] = static_cast<int8_t>(value);
    Numbers y = evaluatedUnary(L2_NORMALIZATION, Tensor::of<int8_t>({1, columns}, row), {Type::INT8, 0.1f, 0},
                               {Type::INT8, 0x1p-7f, 0});
    int64_t sum = 0;
    for (int8_t one : row)
      sum += int64_t(one) * one;
    Multiplier root = inverseRoot(static_cast<int32_t>(sum));
    EXPECT_EQ(y[0], std::min(scaled(static_cast<int32_t>(value), {root.value, root.shift + 7}), 127)) << sum;
  }
}

// ---- Sums ------------------------------------------------------------------------------------------------------------

Numbers sum(BuiltinOperator code, const std::vector<float> &scales, const std::vector<int16_t> &a,
            const std::vector<int16_t> &b, std::string *error = nullptr) {
  TestFile f;
  auto count = static_cast<int32_t>(a.size());
  int x = f.quantisedInput("a", {count}, Type::INT16, scales[0], 0),
      y = f.quantisedInput("b", {count}, Type::INT16, scales[1], 0),
      z = f.quantisedValue({count}, Type::INT16, scales[2], 0);
  f.op(code, {x, y}, {z}, code == ADD ? BuiltinOptions::Add : BuiltinOptions::Sub,
       file::CreateSumOptions(f.builder, Activation::NONE, true).Union());
  f.output(z);
  std::string bytes = f.bytes();
  if (error) {
    *error = importError(bytes);
    return {};
  }
  return integers(evaluated(bytes, {Tensor::of<int16_t>({count}, a), Tensor::of<int16_t>({count}, b)}).at(0));
}

TEST(QuantizedWide, SumsOnScalesThatArePowersOfTwo) {
  // The operand on the finer scale is rounded, halves away from zero, before the sum saturates.
  EXPECT_THAT(sum(ADD, {0x1p-14f, 0x1p-12f, 0x1p-12f}, {1, 2, -2, -6, 32767, 7}, {10, 10, 10, 10, 32000, -32768}),
              ElementsAre(10, 11, 9, 8, 32767, -32766));
  EXPECT_THAT(sum(SUB, {0x1p-12f, 0x1p-13f, 0x1p-12f}, {10, 10, -32768, 0}, {1, -1, 3, -32768}),
              ElementsAre(9, 11, -32768, 16384));
  std::string error;
  sum(ADD, {0x1p-10f, 0x1p-12f, 0x1p-12f}, {1}, {1}, &error);
  EXPECT_THAT(error, HasSubstr("expected one equal and none above"));
}

// ---- Other functions of one operand ----------------------------------------------------------------------------------

TEST(QuantizedWide, RootsAreTruncatedAndInverseRootsFixedPoint) {
  Scale from{Type::INT8, 0.05f, -128}, to{Type::INT8, 0.02f, -100};
  Tensor x = spread(Type::INT8, 256, 1, 16);
  Numbers roots = evaluatedUnary(SQRT, x, from, to), inverse = evaluatedUnary(RSQRT, x, from, to);
  Multiplier factor = multiplierOf(1.0 / double(std::sqrt(from.factor) * to.factor));
  for (int32_t q = 0; q < 256; ++q) {
    auto root = static_cast<int64_t>(std::sqrt(from.factor * static_cast<float>(q)) / to.factor) - 100;
    EXPECT_EQ(roots[static_cast<size_t>(q)], std::min<int64_t>(root, 127)) << q;
    int64_t wanted = 127;
    if (q > 0) {
      Multiplier one = inverseRoot(q);
      wanted = scaled(scaled(1, {one.value, one.shift + 20}), {factor.value, factor.shift - 20}) - 100;
    }
    EXPECT_EQ(inverse[static_cast<size_t>(q)], std::min<int64_t>(wanted, 127)) << q;
  }
}

TEST(QuantizedWide, FunctionsBetweenPlacesOfATable) {
  struct Case {
    BuiltinOperator code;
    float from, to;
    std::function<float(float)> function;
  };
  // If the function has no value, the kernels return the limit of the result's type.
  const Case cases[] = {{EXP, 0.0001f, 0.001f, [](float x) { return std::exp(x); }},
                        {LOG, 0.001f, 0.0005f, [](float x) { return x > 0 ? std::log(x) : -32768 * 0.0005f; }},
                        {RSQRT, 0.001f, 0.0005f, [](float x) { return x > 0 ? 1 / std::sqrt(x) : 32767 * 0.0005f; }}};
  for (const Case &c : cases) {
    Tensor x = spread(Type::INT16, 4096, 17, 64);
    Numbers y = evaluatedUnary(c.code, x, {Type::INT16, c.from, 0}, {Type::INT16, c.to, 0});
    std::vector<int16_t> values = table(c.from, 0, c.to, c.function);
    int near = 0; // compared with the real function where its pieces are nearly straight
    for (size_t i = 0; i < y.size(); ++i) {
      int64_t q = x.asInteger(static_cast<int64_t>(i));
      ASSERT_EQ(y[i], between(values, q)) << operatorName(c.code) << " of " << q;
      near += std::abs(static_cast<double>(y[i]) - double(c.function(c.from * static_cast<float>(q)) / c.to)) < 4;
    }
    EXPECT_GT(near, 3500) << operatorName(c.code);
  }
}

TEST(QuantizedWide, FunctionsOfSixteenBits) {
  struct Case {
    BuiltinOperator code;
    float from, to;
    double (*function)(double);
    double steps;
  };
  const Case cases[] = {{SQRT, 0.001f, 0.0005f, [](double x) { return std::sqrt(std::max(x, 0.0)); }, 1.01},
                        {ABS, 0.001f, 0.002f, [](double x) { return std::abs(x); }, 0.76},
                        {RELU6, 0.001f, 0.0005f, [](double x) { return std::clamp(x, 0.0, 6.0); }, 0.76},
                        {LEAKY_RELU, 0.001f, 0.0011f, [](double x) { return x < 0 ? 0.25 * x : x; }, 0.76}};
  for (const Case &c : cases) {
    Tensor x = spread(Type::INT16, 1024, 64, 32);
    Numbers y = evaluatedUnary(c.code, x, {Type::INT16, c.from, 0}, {Type::INT16, c.to, 0},
                               RequantizeRounding::reference, 0.25f);
    for (size_t i = 0; i < y.size(); ++i) {
      double real = c.from * static_cast<double>(x.asInteger(static_cast<int64_t>(i)));
      ASSERT_NEAR(static_cast<double>(y[i]), std::clamp(c.function(real) / c.to, -32768.0, 32767.0), c.steps)
          << operatorName(c.code) << " of " << real;
    }
  }
}

TEST(QuantizedWide, ResizeOfSixteenBits) {
  constexpr int64_t in[] = {3, 4}, out[] = {5, 7};
  Tensor x = spread(Type::INT16, 12, 9973, 4).reshaped({1, 3, 4, 1});
  TestFile f;
  int from = f.quantisedInput("x", {1, 3, 4, 1}, Type::INT16, 0.01f, 0),
      to = f.quantisedValue({1, 5, 7, 1}, Type::INT16, 0.01f, 0);
  f.op(RESIZE_BILINEAR, {from, f.constant<int32_t>({2}, {5, 7})}, {to}, BuiltinOptions::ResizeBilinear,
       file::CreateResizeBilinearOptions(f.builder, false, true).Union());
  f.output(to);
  Numbers got = integers(evaluated(f.bytes(), {x}).at(0));
  for (int64_t i = 0; i < 35; ++i) {
    int64_t low[2], high[2], weight[2];
    for (size_t axis = 0; axis < 2; ++axis) {
      int64_t step = (in[axis] * 1024 + out[axis] / 2) / out[axis];
      int64_t place = (axis ? i % 7 : i / 7) * step + step / 2 - 512;
      low[axis] = std::max<int64_t>(place / 1024, 0);
      high[axis] = std::min<int64_t>((place + 1023) / 1024, in[axis] - 1);
      weight[axis] = place - 1024 * low[axis];
    }
    int64_t sum = 0;
    for (int corner = 0; corner < 4; ++corner) {
      int64_t row = corner & 1 ? high[0] : low[0], column = corner & 2 ? high[1] : low[1];
      sum += x.asInteger(row * 4 + column) * (corner & 1 ? weight[0] : 1024 - weight[0]) *
             (corner & 2 ? weight[1] : 1024 - weight[1]);
    }
    EXPECT_EQ(got[static_cast<size_t>(i)], (sum + (sum > 0 ? 1 << 19 : -(1 << 19))) / (1 << 20)) << i;
  }
}

// ---- Integers as they are --------------------------------------------------------------------------------------------

TEST(QuantizedWide, BitsAndShifts) {
  TestFile f;
  int x = f.input("x", {4}, Type::INT32), by = f.input("by", {4}, Type::INT32), y = f.value({4}, Type::INT32),
      bits = f.value({4}, Type::FLOAT32), raw = f.value({4}, Type::FLOAT32),
      q = f.quantisedInput("q", {4}, Type::INT8, 0.5f, 3);
  f.op(RIGHT_SHIFT, {x, by}, {y});
  f.op(BITCAST, {x}, {bits});
  f.op(CAST, {q}, {raw});
  for (int one : {y, bits, raw})
    f.output(one);
  auto got =
      evaluated(f.bytes(), {Tensor::of<int32_t>({4}, {-7, 7, INT32_MIN, 0x3f800000}),
                            Tensor::of<int32_t>({4}, {1, 40, 31, -2}), Tensor::of<int8_t>({4}, {-128, 0, 3, 127})});
  EXPECT_THAT(integers(got.at(0)), ElementsAre(-4, 0, -1, 0x3f800000));
  EXPECT_EQ(got.at(1).asDouble(3), 1.0);
  EXPECT_THAT(numbers(got.at(2)), ElementsAre(-128, 0, 3, 127));
}

} // namespace
} // namespace lathe::tflite
