#include "runtime/Tensor.h"

#include "runtime/SmallFloat.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

namespace lathe {
namespace {

using E = ElementType;
constexpr E numeric[] = {E::f32,        E::f64,    E::f16,        E::bf16, E::i8,  E::i16,     E::i32,
                         E::i64,        E::u8,     E::u16,        E::u32,  E::u64, E::boolean, E::f8e4m3fn,
                         E::f8e4m3fnuz, E::f8e5m2, E::f8e5m2fnuz, E::i4,   E::u4};

TEST(Tensor, StorageIsSharedClonedBorrowed) {
  Tensor a = Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(reinterpret_cast<uintptr_t>(a.data()) % 64, 0u);
  EXPECT_EQ(a.bytes(), 24);
  Tensor shared = a, copy = a.clone(), view = a.reshaped({3, 2});
  a.as<float>()[0] = 7;
  EXPECT_EQ(shared.as<float>()[0], 7);
  EXPECT_EQ(view.as<float>()[0], 7);
  EXPECT_EQ(copy.as<float>()[0], 1);
  EXPECT_THROW(a.reshaped({4}), Error);
  float outside[2] = {8, 9};
  EXPECT_EQ(Tensor::borrow(E::f32, {2}, outside).asDouble(1), 9);
  EXPECT_THROW(Tensor::of<float>({2}, {1}), Error);
  EXPECT_EQ(Tensor(E::i4, {3}).bytes(), 2);
  EXPECT_EQ(Tensor(E::f32, {0, 5}).elements(), 0);
  EXPECT_THROW(Tensor(E::f32, {int64_t(1) << 40, int64_t(1) << 40}), Error);
  EXPECT_THROW(Tensor(E::f32, {-1}), Error);
  EXPECT_FALSE(Tensor().defined());
  EXPECT_FALSE(Tensor().clone().defined());
}

TEST(Tensor, SmallNumbersSurviveEveryPairOfTypes) {
  for (E from : numeric)
    for (E to : numeric) {
      std::vector<double> values = {0, 1, 1};
      if (from != E::boolean && to != E::boolean)
        values = {0, 1, 2, 3, 5, 6, 7}; // an odd number of them
      Tensor start = Tensor::of<double>({static_cast<int64_t>(values.size())}, values);
      Tensor result = start.convertedTo(from).convertedTo(to);
      EXPECT_EQ(result.type(), to);
      for (size_t i = 0; i < values.size(); ++i)
        EXPECT_EQ(result.asDouble(i), values[i]) << name(from) << " to " << name(to);
    }
}

TEST(Tensor, NegativeNumbersAndWrapping) {
  for (E type : {E::f32, E::f64, E::f16, E::bf16, E::i8, E::i16, E::i32, E::i64, E::f8e4m3fn, E::f8e5m2, E::i4})
    EXPECT_EQ(Tensor::of<double>({2}, {-8, 3}).convertedTo(type).asInteger(0), -8) << name(type);
  Tensor integers = Tensor::of<int32_t>({3}, {-1, 300, 17});
  EXPECT_EQ(integers.convertedTo(E::u8).asInteger(0), 255); // integers keep their low bits
  EXPECT_EQ(integers.convertedTo(E::u8).asInteger(1), 44);
  EXPECT_EQ(integers.convertedTo(E::u4).asInteger(2), 1);
  EXPECT_EQ(integers.convertedTo(E::u64).asDouble(0), 18446744073709551615.0);
  EXPECT_EQ(integers.convertedTo(E::boolean).asInteger(1), 1);
  Tensor great = Tensor::of<uint64_t>({1}, {~uint64_t(0)});
  EXPECT_EQ(great.convertedTo(E::f32).asDouble(0), 18446744073709551616.0);
  EXPECT_EQ(great.convertedTo(E::i64).asInteger(0), -1);
  EXPECT_EQ(Tensor::of<int64_t>({1}, {(int64_t(1) << 53) + 1}).convertedTo(E::u64).convertedTo(E::i64).asInteger(0),
            (int64_t(1) << 53) + 1);
}

TEST(Tensor, FloatToIntegerTruncatesAndSaturates) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  Tensor x = Tensor::of<double>({6}, {1.9, -1.9, 1e30, -infinity, std::nan(""), 0.3});
  auto expect = [&](E type, std::vector<int64_t> values) {
    for (size_t i = 0; i < values.size(); ++i)
      EXPECT_EQ(x.convertedTo(type).asInteger(i), values[i]) << name(type) << " " << i;
  };
  expect(E::i8, {1, -1, 127, -128, 0, 0});
  expect(E::u8, {1, 0, 255, 0, 0, 0});
  expect(E::i32, {1, -1, INT32_MAX, INT32_MIN, 0, 0});
  expect(E::i64, {1, -1, INT64_MAX, INT64_MIN, 0, 0});
  expect(E::boolean, {1, 1, 1, 1, 1, 1});
  Tensor y = Tensor::of<double>({3}, {-9, 7.6, 17}); // four bits: the low ones
  EXPECT_EQ(y.convertedTo(E::i4).asInteger(0), 7);
  EXPECT_EQ(y.convertedTo(E::u4).asInteger(0), 7);
  EXPECT_EQ(y.convertedTo(E::u4).asInteger(1), 7);
  EXPECT_EQ(y.convertedTo(E::i4).asInteger(2), 1);
}

TEST(Tensor, HalvesRoundToNearestEven) {
  EXPECT_EQ(toHalf(1.0f).bits, 0x3c00);
  EXPECT_EQ(toHalf(-2.0f).bits, 0xc000);
  EXPECT_EQ(toHalf(65504.0f).bits, 0x7bff);
  EXPECT_EQ(toHalf(65519.0f).bits, 0x7bff);
  EXPECT_EQ(toHalf(65520.0f).bits, 0x7c00); // halfway to 65536 goes to even: infinity
  EXPECT_EQ(toHalf(1 + 0x1p-11f).bits, 0x3c00);
  EXPECT_EQ(toHalf(1 + 3 * 0x1p-11f).bits, 0x3c02);
  EXPECT_EQ(toHalf(0x1p-24f).bits, 1); // the least subnormal
  EXPECT_EQ(toHalf(0x1p-25f).bits, 0); // half of it: to even
  EXPECT_EQ(toHalf(0x1.8p-25f).bits, 1);
  EXPECT_EQ(toHalf(-0.0f).bits, 0x8000);
  EXPECT_EQ(toHalf(0x1.ffcp-15f).bits, 0x0400); // rounds up into the normals
  EXPECT_EQ(toFloat(Half{0x3555}), 0x1.554p-2f);
  EXPECT_TRUE(std::isnan(toFloat(toHalf(NAN))));
  EXPECT_EQ(toFloat(Half{0xfc00}), -INFINITY);
  EXPECT_EQ(toBFloat16(1.0f).bits, 0x3f80);
  EXPECT_EQ(toBFloat16(1 + 0x1p-8f).bits, 0x3f80);
  EXPECT_EQ(toBFloat16(3.4e38f).bits, 0x7f80);
  EXPECT_TRUE(std::isnan(toFloat(toBFloat16(NAN))));
}

TEST(Tensor, EveryCodeOfASmallFormatSurvives) {
  for (E type : {E::f16, E::bf16, E::f8e4m3fn, E::f8e4m3fnuz, E::f8e5m2, E::f8e5m2fnuz}) {
    const SmallFloat &format = *smallFloat(type);
    for (int code = 0; code < 1 << format.bits; ++code) {
      double value = format.decode(static_cast<uint16_t>(code));
      if (value == value) {
        EXPECT_EQ(format.encode(value, false), code) << name(type);
      }
    }
  }
}

TEST(Tensor, EightBitFloats) {
  auto encode = [](E type, double value, bool saturate) { return smallFloat(type)->encode(value, saturate); };
  EXPECT_EQ(encode(E::f8e4m3fn, 448, false), 0x7e);
  EXPECT_EQ(encode(E::f8e4m3fn, 464, true), 0x7e);
  EXPECT_EQ(encode(E::f8e4m3fn, 1e9, false), 0x7f);
  EXPECT_EQ(encode(E::f8e4m3fn, -INFINITY, true), 0xfe);
  EXPECT_EQ(encode(E::f8e4m3fnuz, 240, false), 0x7f);
  EXPECT_EQ(encode(E::f8e4m3fnuz, 1000, false), 0x80);
  EXPECT_EQ(encode(E::f8e4m3fnuz, -0.0, true), 0);
  EXPECT_EQ(encode(E::f8e5m2, 57344, false), 0x7b);
  EXPECT_EQ(encode(E::f8e5m2, 1e9, false), 0x7c);
  EXPECT_EQ(encode(E::f8e5m2, INFINITY, true), 0x7b);
  EXPECT_EQ(encode(E::f8e5m2fnuz, NAN, true), 0x80);
  EXPECT_EQ(smallFloat(E::f8e4m3fn)->decode(1), 0x1p-9);
  EXPECT_EQ(smallFloat(E::f8e5m2)->decode(1), 0x1p-16);
  EXPECT_EQ(smallFloat(E::f8e5m2fnuz)->decode(1), 0x1p-17);
  Tensor x = Tensor::of<double>({1}, {1e9});
  EXPECT_EQ(x.convertedTo(E::f8e5m2).asDouble(0), 57344);
  EXPECT_TRUE(std::isinf(x.convertedTo(E::f8e5m2, false).asDouble(0)));
}

TEST(Tensor, Strings) {
  Tensor text(E::string, {4});
  text.strings() = {"1.5", "-3", "INF", "nan"};
  Tensor numbers = text.convertedTo(E::f32);
  EXPECT_EQ(numbers.asDouble(0), 1.5);
  EXPECT_EQ(numbers.asDouble(1), -3);
  EXPECT_TRUE(std::isinf(numbers.asDouble(2)));
  EXPECT_TRUE(std::isnan(numbers.asDouble(3)));
  EXPECT_THROW(text.convertedTo(E::i32), Error);
  EXPECT_EQ(Tensor::of<float>({3}, {0.1f, -INFINITY, 2}).convertedTo(E::string).strings(),
            (std::vector<std::string>{"0.1", "-INF", "2"}));
  EXPECT_EQ(Tensor::of<int64_t>({1}, {INT64_MIN}).convertedTo(E::string).strings()[0], "-9223372036854775808");
  EXPECT_EQ(text.clone().strings()[1], "-3");
}

TEST(Tensor, BlocksOfAConversionMeet) {
  Tensor x(E::i32, {2001});
  for (int i = 0; i < 2001; ++i)
    x.as<int32_t>()[i] = i % 16;
  Tensor y = x.convertedTo(E::u4).convertedTo(E::f16).convertedTo(E::f64);
  for (int i = 0; i < 2001; ++i)
    ASSERT_EQ(y.asDouble(i), i % 16);
}

} // namespace
} // namespace lathe
