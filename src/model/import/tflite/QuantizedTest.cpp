// Compares quantised operators with the real functions that they stand for: exact, or within a step of the result.
// tests/QuantisedModelsTest.cpp checks TensorFlow Lite's exact bits for the operators of published models.
#include "import/tflite/FileTesting.h"
#include "import/tflite/FixedPoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace lathe::tflite {
namespace {

using enum BuiltinOperator;
using testing::ElementsAre;
using testing::HasSubstr;
using Ints = TestFile::Ints;
using Type = file::TensorType;

struct Scale {
  Type type;
  float factor;
  int64_t zero;
  double real(int64_t q) const { return double(factor) * double(q - zero); }
  ElementType element() const {
    return type == Type::INT8 ? ElementType::i8 : type == Type::UINT8 ? ElementType::u8 : ElementType::i16;
  }
  double least() const { return type == Type::INT8 ? -128 : type == Type::UINT8 ? 0 : -32768; }
  double most() const { return type == Type::INT8 ? 127 : type == Type::UINT8 ? 255 : 32767; }
};

/// A tensor of integers; 256 elements contain every 8-bit value.
Tensor integers(const Scale &scale, std::vector<int64_t> dims, int64_t step = 1) {
  std::vector<double> values(static_cast<size_t>(Tensor(ElementType::u8, dims).elements()));
  auto range = static_cast<int64_t>(scale.most() - scale.least()) + 1, stride = range > 256 ? 257 * step : step;
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = scale.least() + double(int64_t(i) * stride % range);
  return Tensor::of<double>(std::move(dims), values).convertedTo(scale.element());
}

/// The results of one operator on `inputs`, with the scales `in` and `to`.
struct Single {
  TestFile file;
  Ints operands;

  int input(const Ints &dims, const Scale &scale) {
    operands.push_back(
        file.quantisedInput(fmt::format("x{}", operands.size()), dims, scale.type, scale.factor, scale.zero));
    return operands.back();
  }
  Tensor run(BuiltinOperator code, const Ints &dims, const Scale &to, const std::vector<Tensor> &inputs,
             BuiltinOptions kind = BuiltinOptions::NONE, flatbuffers::Offset<void> options = 0,
             RequantizeRounding rounding = RequantizeRounding::reference) {
    int y = file.quantisedValue(dims, to.type, to.factor, to.zero);
    file.op(code, operands, {y}, kind, options);
    file.output(y);
    ImportOptions importing;
    importing.requantizeRounding = rounding;
    return evaluated(file.bytes(), inputs, importing).at(0);
  }
};

void expectSteps(const Tensor &got, const Scale &to, double steps, const std::function<double(int64_t)> &wanted,
                 const std::string &what) {
  double sum = 0;
  for (int64_t i = 0; i < got.elements(); ++i) {
    double exact = std::clamp(wanted(i) / double(to.factor) + double(to.zero), to.least(), to.most());
    ASSERT_NEAR(got.asDouble(i), exact, steps) << what << ", element " << i;
    sum += std::abs(got.asDouble(i) - double(to.zero));
  }
  EXPECT_GT(sum, 0) << what << " is nothing but zeros";
}

TEST(Quantized, FunctionsOfOneOperand) {
  struct Unary {
    BuiltinOperator code;
    float from; // scale of the operand
    Scale to;
    double (*function)(double);
  };
  const Unary cases[] = {
      {LOGISTIC, 0.05f, {Type::INT8, 1.0f / 256, -128}, [](double x) { return 1 / (1 + std::exp(-x)); }},
      {LOGISTIC, 0.1f, {Type::UINT8, 1.0f / 256, 0}, [](double x) { return 1 / (1 + std::exp(-x)); }},
      {TANH, 0.03f, {Type::INT8, 1.0f / 128, 0}, [](double x) { return std::tanh(x); }},
      {TANH, 0.1f, {Type::UINT8, 1.0f / 128, 128}, [](double x) { return std::tanh(x); }},
      {HARD_SWISH, 0.06f, {Type::INT8, 0.05f, -100}, [](double x) { return x * std::clamp(x / 6 + 0.5, 0.0, 1.0); }},
      {RELU, 0.1f, {Type::INT8, 0.07f, -128}, [](double x) { return std::max(x, 0.0); }},
      {RELU6, 0.1f, {Type::UINT8, 0.03f, 0}, [](double x) { return std::clamp(x, 0.0, 6.0); }},
      {RELU_N1_TO_1, 0.1f, {Type::INT8, 0.01f, 5}, [](double x) { return std::clamp(x, -1.0, 1.0); }},
      {ELU, 0.05f, {Type::INT8, 0.04f, -100}, [](double x) { return x < 0 ? std::exp(x) - 1 : x; }},
      {EXP, 0.02f, {Type::INT8, 0.1f, -128}, [](double x) { return std::exp(x); }},
      {GELU, 0.05f, {Type::INT8, 0.04f, -100}, [](double x) { return x / 2 * (1 + std::erf(x / std::sqrt(2.0))); }},
      {ABS, 0.05f, {Type::INT8, 0.05f, -128}, [](double x) { return std::abs(x); }},
      {QUANTIZE, 0.05f, {Type::UINT8, 0.07f, 90}, [](double x) { return x; }},
      {QUANTIZE, 0.05f, {Type::INT16, 0.01f, 0}, [](double x) { return x; }},
      {LEAKY_RELU, 0.05f, {Type::INT8, 0.04f, -20}, [](double x) { return x < 0 ? 0.25 * x : x; }},
  };
  for (const Unary &c : cases)
    for (RequantizeRounding rounding : {RequantizeRounding::reference, RequantizeRounding::optimised}) {
      Scale from{c.to.type == Type::UINT8 ? Type::UINT8 : Type::INT8, c.from, c.to.type == Type::UINT8 ? 120 : 3};
      Single single;
      single.input({256}, from);
      Tensor x = integers(from, {256});
      auto kind = c.code == LEAKY_RELU ? BuiltinOptions::LeakyRelu : BuiltinOptions::NONE;
      auto options = c.code == LEAKY_RELU ? file::CreateLeakyReluOptions(single.file.builder, 0.25f).Union()
                                          : flatbuffers::Offset<void>(0);
      Tensor y = single.run(c.code, {256}, c.to, {x}, kind, options, rounding);
      expectSteps(
          y, c.to, 1.01, [&](int64_t i) { return c.function(from.real(x.asInteger(i))); }, operatorName(c.code));
    }
}

TEST(Quantized, FunctionsOfTwoOperands) {
  struct Binary {
    BuiltinOperator code;
    double (*function)(double, double);
    double steps;
  };
  const Binary cases[] = {{ADD, [](double a, double b) { return a + b; }, 0.51},
                          {SUB, [](double a, double b) { return a - b; }, 0.51},
                          {MUL, [](double a, double b) { return a * b; }, 0.51},
                          {SQUARED_DIFFERENCE, [](double a, double b) { return (a - b) * (a - b); }, 1.01},
                          {PRELU, [](double a, double b) { return a < 0 ? a * b : a; }, 0.51}};
  for (const Binary &c : cases)
    for (Type type : {Type::INT8, Type::UINT8, Type::INT16}) {
      if (type == Type::INT16 && (c.code == SQUARED_DIFFERENCE || c.code == PRELU))
        continue;
      int64_t zero = type == Type::UINT8 ? 100 : type == Type::INT8 ? -7 : 0;
      float wide = type == Type::INT16 ? 1.0f / 256 : 1;
      Scale a{type, 0.05f * wide, zero}, b{type, 0.02f * wide, zero},
          to{type, 0.04f * wide, zero + (wide == 1 ? 4 : 0)};
      Single single;
      single.input({256}, a);
      single.input({256}, b);
      Tensor x = integers(a, {256}), y = integers(b, {256}, 77);
      auto z = single.run(c.code, {256}, to, {x, y});
      expectSteps(
          z, to, c.steps, [&](int64_t i) { return c.function(a.real(x.asInteger(i)), b.real(y.asInteger(i))); },
          operatorName(c.code) + " of " + typeName(type));
    }
}

/// Quotients of all bytes by the positive `divisors`, within the rounding error of the reciprocal.
void expectQuotients(const Scale &to, const std::vector<int64_t> &divisors) {
  Scale a{Type::UINT8, 0.05f, 90}, b{Type::UINT8, 0.02f, 131};
  auto count = static_cast<int64_t>(divisors.size());
  Single single;
  single.input({256, 1}, a);
  single.input({static_cast<int>(count)}, b);
  auto options = file::CreateActivationOptions(single.file.builder, Activation::RELU).Union();
  Tensor y = Tensor::of<uint8_t>({count}, std::vector<uint8_t>(divisors.begin(), divisors.end()));
  Tensor z =
      single.run(DIV, {256, static_cast<int>(count)}, to, {integers(a, {256, 1}), y}, BuiltinOptions::Div, options);
  for (int64_t i = 0; i < 256 * count; ++i) {
    double over = a.real(i / count), under = b.real(divisors[static_cast<size_t>(i % count)]);
    double exact = under != 0 ? over / under / double(to.factor) : over > 0 ? 1e9 : 0;
    exact = std::clamp(std::max(exact, 0.0) + double(to.zero), 0.0, 255.0);
    ASSERT_NEAR(z.asDouble(i), exact, 0.51) << over << " / " << under;
  }
}

TEST(Quantized, QuotientsOfBytes) {
  std::vector<int64_t> divisors;
  for (int64_t q = 0; q < 256; ++q)
    if (q != 131) // zero
      divisors.push_back(q);
  expectQuotients({Type::UINT8, 0.03f, 7}, divisors);
  expectQuotients({Type::UINT8, 0.01f, 128}, divisors);
}

/// Divisors of zero, and quotients so small that their shift exceeds 31.
TEST(Quantized, QuotientsThatTensorFlowLiteLeavesUndefined) {
  expectQuotients({Type::UINT8, 0.03f, 7}, {131});
  expectQuotients({Type::UINT8, 4, 7}, {0, 1, 250, 255});
}

TEST(Quantized, LogarithmsOfSoftmax) {
  for (Type type : {Type::INT8, Type::UINT8}) {
    Scale from{type, 0.06f, type == Type::INT8 ? -9 : 100}, to{type, 1.0f / 16, type == Type::INT8 ? 127 : 255};
    constexpr int64_t columns = 9;
    Tensor x = integers(from, {12, columns}, 37);
    Single single;
    single.input({12, columns}, from);
    Tensor y = single.run(LOG_SOFTMAX, {12, columns}, to, {x});
    expectSteps(
        y, to, 0.51,
        [&](int64_t i) {
          double sum = 0;
          for (int64_t c = i / columns * columns; c < (i / columns + 1) * columns; ++c)
            sum += std::exp(from.real(x.asInteger(c)));
          return from.real(x.asInteger(i)) - std::log(sum);
        },
        "LOG_SOFTMAX of " + typeName(type));
  }
}

/// Compares with products that are rescaled element by element, in the same order.
TEST(Quantized, ProductsOfElements) {
  for (bool keep : {false, true}) {
    Scale from{Type::INT8, 0.02f, 3}, to{Type::INT8, 0.04f, -6};
    Tensor x = integers(from, {2, 4, 3}, 37);
    Single single;
    single.input({2, 4, 3}, from);
    single.operands.push_back(single.file.constant<int32_t>({2}, {2, 0}));
    auto options = file::CreateReducerOptions(single.file.builder, keep).Union();
    Ints dims = keep ? Ints{1, 4, 1} : Ints{4};
    Tensor y = single.run(REDUCE_PROD, dims, to, {x}, BuiltinOptions::Reducer, options);
    ASSERT_EQ(y.dims(), std::vector<int64_t>(dims.begin(), dims.end()));
    Multiplier factor = multiplierOf(double(from.factor) / std::pow(double(to.factor), 1.0 / 6));
    auto rescaled = [&](int64_t product) {
      int64_t narrow = std::min((int64_t(factor.value) + (1 << 15)) >> 16, int64_t(0x7fff));
      return (product * narrow + (int64_t(1) << (14 - factor.shift))) >> (15 - factor.shift);
    };
    int64_t least = 127, most = -128;
    for (int64_t row = 0; row < 4; ++row) {
      int64_t product = 0;
      for (int64_t i = 0; i < 6; ++i) {
        int64_t one = x.asInteger((i / 3 * 4 + row) * 3 + i % 3) - from.zero;
        product = i == 0 ? one : rescaled(product * one);
      }
      int64_t wanted = std::clamp<int64_t>(rescaled(product) + to.zero, -128, 127);
      EXPECT_EQ(y.asInteger(row), wanted) << "row " << row;
      least = std::min(least, wanted), most = std::max(most, wanted);
    }
    EXPECT_GT(most - least, 20);
  }
}

TEST(Quantized, ComparisonsOnDifferentScales) {
  Scale a{Type::INT8, 0.05f, 3}, b{Type::INT8, 0.025f, -10};
  Tensor x = integers(a, {256}), y = integers(b, {256}, 77);
  for (BuiltinOperator code : {LESS, GREATER_EQUAL, NOT_EQUAL}) {
    TestFile f;
    Ints ins = {f.quantisedInput("x", {256}, a.type, a.factor, a.zero),
                f.quantisedInput("y", {256}, b.type, b.factor, b.zero)};
    int z = f.value({256}, Type::BOOL);
    f.op(code, ins, {z});
    f.output(z);
    Tensor got = evaluated(f.bytes(), {x, y}).at(0);
    int yes = 0;
    for (int64_t i = 0; i < 256; ++i) {
      int64_t left = 2 * (x.asInteger(i) - 3), right = y.asInteger(i) + 10; // on the scale of b
      bool wanted = code == LESS ? left < right : code == NOT_EQUAL ? left != right : left >= right;
      EXPECT_EQ(got.asInteger(i) != 0, wanted) << operatorName(code) << " of " << left << " and " << right;
      yes += wanted;
    }
    EXPECT_GT(yes, 10);
  }
}

/// A sum or mean gives the same bits with open and with stated extents.
TEST(Quantized, OpenExtentsOfSumsAndMeans) {
  std::mt19937 random(5);
  auto within = [&](double least, double most) { return std::uniform_real_distribution(least, most)(random); };
  for (int i = 0; i < 240; ++i) {
    BuiltinOperator code = i % 4 ? MEAN : SUM;
    bool wide = i % 5 == 0, keep = i % 3 != 0;
    auto rounding = i % 2 ? RequantizeRounding::optimised : RequantizeRounding::reference;
    Type type = wide ? Type::INT16 : i % 5 == 1 ? Type::UINT8 : Type::INT8;
    auto zero = [&] {
      return wide ? 0 : int64_t(within(type == Type::INT8 ? -128 : 0, type == Type::INT8 ? 127 : 255));
    };
    auto factor = [&] { return float(std::exp2(within(-9, 4))); };
    Scale from{type, factor(), zero()}, to{type, factor(), zero()};
    int height = int(std::exp2(within(0, 8))), width = int(std::exp2(within(0, 8)));
    if (code == SUM) // without saturation, which older kernels of TensorFlow Lite do not have
      to.factor = from.factor * float(height * width) * float(within(1, 3)), to.zero = from.zero;
    std::vector<double> values(static_cast<size_t>(height * width * 3));
    for (double &value : values)
      value = std::floor(within(from.least(), from.most() + 1));
    Tensor x = Tensor::of<double>({1, height, width, 3}, values).convertedTo(from.element());
    Tensor results[2];
    for (bool open : {false, true}) {
      TestFile f;
      Ints stated = {1, open ? 1 : height, open ? 1 : width, 3}, signature = {1, -1, -1, 3};
      int in = f.quantisedInput("x", stated, type, from.factor, from.zero, open ? signature : Ints());
      int y = f.quantisedValue(keep ? Ints{1, 1, 1, 3} : Ints{1, 3}, type, to.factor, to.zero);
      f.op(code, {in, f.constant<int32_t>({2}, {1, 2})}, {y}, BuiltinOptions::Reducer,
           file::CreateReducerOptions(f.builder, keep).Union());
      f.output(y);
      ImportOptions options;
      options.requantizeRounding = rounding;
      results[open] = evaluated(f.bytes(), {x}, options).at(0);
    }
    for (int64_t c = 0; c < 3; ++c)
      EXPECT_EQ(results[1].asInteger(c), results[0].asInteger(c))
          << operatorName(code) << " of " << typeName(type) << ", " << height << " x " << width << ", scales "
          << from.factor << " and " << to.factor << ", case " << i;
  }
}

TEST(Quantized, SumsMeansAndPools) {
  Scale from{Type::INT8, 0.05f, 3}, to{Type::INT8, 0.01f, -5};
  Tensor x = integers(from, {1, 4, 4, 3}, 37);
  auto over = [&](int64_t c) { // the mean of a channel
    double sum = 0;
    for (int64_t p = 0; p < 16; ++p)
      sum += from.real(x.asInteger(p * 3 + c));
    return sum / 16;
  };
  for (RequantizeRounding rounding : {RequantizeRounding::reference, RequantizeRounding::optimised}) {
    Single mean;
    mean.input({1, 4, 4, 3}, from);
    mean.operands.push_back(mean.file.constant<int32_t>({2}, {1, 2}));
    auto options = file::CreateReducerOptions(mean.file.builder, true).Union();
    expectSteps(mean.run(MEAN, {1, 1, 1, 3}, to, {x}, BuiltinOptions::Reducer, options, rounding), to, 1.01, over,
                "MEAN");
  }
  Single sum;
  Scale coarse{Type::INT8, 0.5f, 0};
  sum.input({1, 4, 4, 3}, from);
  sum.operands.push_back(sum.file.constant<int32_t>({2}, {1, 2}));
  auto options = file::CreateReducerOptions(sum.file.builder, false).Union();
  expectSteps(
      sum.run(SUM, {1, 3}, coarse, {x}, BuiltinOptions::Reducer, options), coarse, 0.51,
      [&](int64_t c) { return 16 * over(c); }, "SUM");
  // At the border the divisor is the number of elements inside.
  Single pool;
  pool.input({1, 4, 4, 3}, from);
  auto window = file::CreatePool2DOptions(pool.file.builder, file::Padding::SAME, 2, 2, 3, 3).Union();
  expectSteps(
      pool.run(AVERAGE_POOL_2D, {1, 2, 2, 3}, from, {x}, BuiltinOptions::Pool2D, window), from, 0.51,
      [&](int64_t i) {
        double total = 0;
        int count = 0;
        for (int64_t r = i / 6 * 2; r < std::min<int64_t>(i / 6 * 2 + 3, 4); ++r)
          for (int64_t c = i / 3 % 2 * 2; c < std::min<int64_t>(i / 3 % 2 * 2 + 3, 4); ++c, ++count)
            total += from.real(x.asInteger((r * 4 + c) * 3 + i % 3));
        return total / count;
      },
      "AVERAGE_POOL_2D");
}

/// A convolution and pools, strided and padded: a file with open height and width gives the same integers as files that
/// state them.
TEST(Quantized, PaddingFollowsOpenExtents) {
  Scale from{Type::INT8, 0.05f, 3}, to{Type::INT8, 0.2f, -5};
  auto build = [&](int height, int width, const Ints &signature) {
    TestFile f;
    int x = f.quantisedInput("x", {1, height, width, 2}, from.type, from.factor, from.zero, signature);
    std::vector<int8_t> weights(4 * 3 * 3 * 2);
    for (size_t i = 0; i < weights.size(); ++i)
      weights[i] = static_cast<int8_t>(int(i * 37 % 101) - 50);
    int w = f.constant<int8_t>({4, 3, 3, 2}, weights, f.scale({0.02f}, {0})),
        b = f.constant<int32_t>({4}, {10, -20, 30, 0});
    auto half = [](int extent) { return (extent + 1) / 2; };
    Ints once = {1, half(height), half(width), 4}, twice = {1, half(once[1]), half(once[2]), 4};
    int y = f.quantisedValue(once, to.type, to.factor, to.zero),
        most = f.quantisedValue(twice, to.type, to.factor, to.zero),
        mean = f.quantisedValue(twice, to.type, to.factor, to.zero);
    f.op(CONV_2D, {x, w, b}, {y}, BuiltinOptions::Conv2D,
         file::CreateConv2DOptions(f.builder, file::Padding::SAME, 2, 2).Union());
    auto window = [&] { return file::CreatePool2DOptions(f.builder, file::Padding::SAME, 2, 2, 3, 3).Union(); };
    f.op(MAX_POOL_2D, {y}, {most}, BuiltinOptions::Pool2D, window());
    f.op(AVERAGE_POOL_2D, {y}, {mean}, BuiltinOptions::Pool2D, window());
    f.output(most);
    f.output(mean);
    return f.bytes();
  };
  std::string open = build(1, 1, {1, -1, -1, 2});
  for (auto [height, width] : {std::pair{1, 1}, {2, 5}, {5, 6}, {8, 7}, {9, 12}}) {
    std::vector<Tensor> x = {integers(from, {1, height, width, 2}, 7)};
    std::vector<Tensor> got = evaluated(open, x), wanted = evaluated(build(height, width, {}), x);
    for (size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(got.at(i).dims(), wanted.at(i).dims());
      EXPECT_EQ(numbers(got[i]), numbers(wanted[i])) << "result " << i << " of " << height << " x " << width;
    }
  }
}

TEST(Quantized, ProductsOfSixteenBitInputs) {
  Scale from{Type::INT16, 0.001f, 0}, to{Type::INT16, 0.01f, 0};
  Single single;
  single.input({3, 5}, from);
  std::vector<int8_t> weights = {1, -2, 3, 4, -5, 100, 50, -100, 7, 90};
  single.operands.push_back(single.file.constant<int8_t>({2, 5}, weights, single.file.scale({0.1f, 0.2f}, {0, 0})));
  Tensor x = integers(from, {3, 5}, 31);
  auto options = file::CreateFullyConnectedOptions(single.file.builder).Union();
  expectSteps(
      single.run(FULLY_CONNECTED, {3, 2}, to, {x}, BuiltinOptions::FullyConnected, options), to, 2,
      [&](int64_t i) {
        double sum = 0;
        for (int64_t k = 0; k < 5; ++k)
          sum += from.real(x.asInteger(i / 2 * 5 + k)) * weights[static_cast<size_t>(i % 2 * 5 + k)];
        return sum * (i % 2 ? double(0.2f) : double(0.1f));
      },
      "FULLY_CONNECTED");
}

TEST(Quantized, TransposedConvolution) {
  Scale from{Type::INT8, 0.05f, 3}, to{Type::INT8, 0.1f, 1};
  Single single;
  std::vector<int8_t> weights = {1, 2, 3, 4, 50, 60, 70, 80}; // O x 2 x 2 x 1
  single.operands = {single.file.constant<int32_t>({4}, {1, 4, 4, 2}),
                     single.file.constant<int8_t>({2, 2, 2, 1}, weights, single.file.scale({0.5f, 0.01f}, {0, 0}))};
  single.input({1, 2, 2, 1}, from);
  Tensor x = integers(from, {1, 2, 2, 1}, 61);
  auto options = file::CreateTransposeConvOptions(single.file.builder, file::Padding::VALID, 2, 2).Union();
  expectSteps(
      single.run(TRANSPOSE_CONV, {1, 4, 4, 2}, to, {x}, BuiltinOptions::TransposeConv, options), to, 0.51,
      [&](int64_t i) {
        int64_t o = i % 2, column = i / 2 % 4, row = i / 8;
        double tap = weights[static_cast<size_t>(o * 4 + row % 2 * 2 + column % 2)];
        return from.real(x.asInteger(row / 2 * 2 + column / 2)) * tap * (o ? double(0.01f) : double(0.5f));
      },
      "TRANSPOSE_CONV");
}

TEST(Quantized, ResizeBlendsNeighbours) {
  for (Type type : {Type::INT8, Type::UINT8, Type::INT16})
    for (bool corners : {false, true}) {
      Scale scale{type, type == Type::INT16 ? 0.0004f : 0.1f, type == Type::INT16 ? 0 : 10};
      Single single;
      single.input({1, 3, 3, 2}, scale);
      single.operands.push_back(single.file.constant<int32_t>({2}, {5, 7}));
      Tensor x = integers(scale, {1, 3, 3, 2}, 97);
      auto options = file::CreateResizeBilinearOptions(single.file.builder, corners, false).Union();
      auto at = [&](int64_t r, int64_t c, int64_t k) { return scale.real(x.asInteger((r * 3 + c) * 2 + k)); };
      expectSteps(
          single.run(RESIZE_BILINEAR, {1, 5, 7, 2}, scale, {x}, BuiltinOptions::ResizeBilinear, options), scale,
          type == Type::INT16 ? 400 : 1.01, // places in steps of 2^-10
          [&](int64_t i) {
            double r = double(i / 14) * (corners ? 2.0 / 4 : 3.0 / 5),
                   c = double(i / 2 % 7) * (corners ? 2.0 / 6 : 3.0 / 7);
            auto r0 = static_cast<int64_t>(r), c0 = static_cast<int64_t>(c), r1 = std::min<int64_t>(r0 + 1, 2),
                 c1 = std::min<int64_t>(c0 + 1, 2);
            double fr = r - double(r0), fc = c - double(c0);
            return (at(r0, c0, i % 2) * (1 - fc) + at(r0, c1, i % 2) * fc) * (1 - fr) +
                   (at(r1, c0, i % 2) * (1 - fc) + at(r1, c1, i % 2) * fc) * fr;
          },
          "RESIZE_BILINEAR of " + typeName(type));
    }
}

TEST(Quantized, PaddingStandsForZeroAndPartsForTheirNumbers) {
  Scale scale{Type::INT8, 0.5f, 7}, other{Type::INT8, 0.25f, 0};
  Single pad;
  pad.input({2}, scale);
  pad.operands.push_back(pad.file.constant<int32_t>({1, 2}, {1, 2}));
  EXPECT_THAT(numbers(pad.run(PAD, {5}, scale, {Tensor::of<int8_t>({2}, {-3, 9})})), ElementsAre(7, -3, 9, 7, 7));
  Single parts;
  parts.input({2}, scale);
  parts.input({2}, other);
  auto options = file::CreateConcatenationOptions(parts.file.builder, 0).Union();
  EXPECT_THAT(
      numbers(parts.run(CONCATENATION, {4}, scale, {Tensor::of<int8_t>({2}, {-3, 9}), Tensor::of<int8_t>({2}, {4, -9})},
                        BuiltinOptions::Concatenation, options)),
      ElementsAre(-3, 9, 9, 2)); // 1 / 0.5 + 7; -2.25 / 0.5 = -4.5, away from zero
}

TEST(Quantized, RealNumbersBecomeIntegersAndBack) {
  TestFile f;
  int x = f.input("x", {5}), q = f.quantisedValue({5}, Type::INT8, 0.5f, 3), y = f.value({5});
  f.op(QUANTIZE, {x}, {q});
  f.op(DEQUANTIZE, {q}, {y});
  f.output(q);
  f.output(y);
  auto got = evaluated(f.bytes(), {Tensor::of<float>({5}, {0.25F, -0.25F, 1.6F, 1000, -1000})});
  EXPECT_THAT(numbers(got.at(0)), ElementsAre(4, 2, 6, 127, -128)); // halves away from zero
  EXPECT_THAT(numbers(got.at(1)), ElementsAre(0.5, -0.5, 1.5, 62, -65.5));
}

TEST(Quantized, ScalesThatDisagreeAreErrors) {
  TestFile f;
  int x = f.quantisedInput("x", {1, 4, 4, 1}, Type::INT8, 0.5f, 3),
      y = f.quantisedValue({1, 2, 2, 1}, Type::INT8, 0.25f, 3);
  f.op(MAX_POOL_2D, {x}, {y}, BuiltinOptions::Pool2D,
       file::CreatePool2DOptions(f.builder, file::Padding::VALID, 2, 2, 2, 2).Union());
  f.output(y);
  EXPECT_THAT(importError(f.bytes()), HasSubstr("the operand and the result have different scales or zero points"));
}

} // namespace
} // namespace lathe::tflite
