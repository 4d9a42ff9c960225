// Compares the integer arithmetic of quantised networks with independent evaluations: 128-bit integers and doubles.
#include "ops/ReferenceTesting.h"

#include <cmath>
#include <random>

namespace lathe {
namespace {

using Long = __int128;

Long power(int64_t exponent) { return Long(1) << exponent; }

/// The greatest integer not above x / y.
Long floorOf(Long x, Long y) { return x / y - (x % y != 0 && (x < 0) != (y < 0)); }

int64_t lowBits(Long value) { return static_cast<int32_t>(static_cast<uint32_t>(static_cast<uint64_t>(value))); }

/// round(round(x * 2^left * m / 2^31) / 2^right): halves up, then halves away from zero.
int64_t twice(int64_t x, int64_t m, int64_t shift) {
  int64_t left = std::max<int64_t>(shift, 0), right = std::max<int64_t>(-shift, 0);
  int64_t t = lowBits(floorOf(Long(lowBits(x * power(left))) * m * 2 + power(31), power(32)));
  Long magnitude = floorOf((t < 0 ? -Long(t) : Long(t)) * 2 + power(right), 2 * power(right));
  return lowBits(t < 0 ? -magnitude : magnitude);
}

/// round(x * m / 2^(31 - shift)), halves up.
int64_t once(int64_t x, int64_t m, int64_t shift) {
  return lowBits(floorOf(Long(x) * m * 2 + power(31 - shift), 2 * power(31 - shift)));
}

Tensor requantized(const RequantizeAttrs &attrs, const Tensor &x, int64_t m, int64_t shift) {
  return evaluate("requantize", attrs, {x, i32({}, {int32_t(m)}), i32({}, {int32_t(shift)})});
}

TEST(Reference, RequantizeRoundsOnceOrTwice) {
  std::mt19937_64 random(7);
  std::vector<int32_t> sums = {0, 1, -1, 2, -2, 3, -3, 255, -255, INT32_MAX, INT32_MIN, INT32_MIN + 1, 1 << 30};
  while (sums.size() < 500)
    sums.push_back(static_cast<int32_t>(random()) >> (random() % 31));
  Tensor x = Tensor::of<int32_t>({static_cast<int64_t>(sums.size())}, std::span<const int32_t>(sums));
  RequantizeAttrs attrs;
  attrs.to = ElementType::i32;
  for (int64_t shift : {-31, -30, -12, -7, -1, 0, 1, 8, 30})
    for (int64_t m : {int64_t(1) << 30, int64_t(INT32_MAX), int64_t(1) << 30 | 1, int64_t(1518500250), int64_t(3)})
      for (bool single : {false, true}) {
        attrs.rounding = single ? "single" : "double";
        Tensor y = requantized(attrs, x, m, shift);
        for (size_t i = 0; i < sums.size(); ++i)
          ASSERT_EQ(y.as<int32_t>()[i], single ? once(sums[i], m, shift) : twice(sums[i], m, shift))
              << sums[i] << " * " << m << " * 2^(" << shift << " - 31), " << attrs.rounding;
      }
}

TEST(Reference, RequantizeDiffersBetweenRoundings) {
  // 5 * 2^30 / 2^31 = 2.5 becomes 3, and 3 / 2 = 1.5 becomes 2; at once 1.25 becomes 1.
  RequantizeAttrs attrs;
  attrs.to = ElementType::i8;
  expectTensor(requantized(attrs, i32({2}, {5, -5}), int64_t(1) << 30, -1), {2}, {2, -1});
  attrs.rounding = "single";
  expectTensor(requantized(attrs, i32({2}, {5, -5}), int64_t(1) << 30, -1), {2}, {1, -1});
}

TEST(Reference, RequantizeLimitsByChannel) {
  RequantizeAttrs attrs;
  attrs.to = ElementType::u8;
  attrs.zero_point = 10;
  attrs.min = 10;
  attrs.max = 250;
  Tensor x = i32({1, 2, 3}, {-8, 8, 1000, -8, 8, 1000}), m = i32({2, 1}, {1 << 30, 1 << 30}), s = i32({2, 1}, {1, -1});
  expectTensor(evaluate("requantize", attrs, {x, m, s}), {1, 2, 3}, {10, 18, 250, 10, 12, 250});
  attrs.to = ElementType::i16;
  attrs.rounding = "reduced";
  attrs.zero_point = 0;
  attrs.min = INT64_MIN;
  attrs.max = INT64_MAX;
  // The multiplier 2^30 becomes 2^14: 2^45 * 2^14 / 2^46 is 2^13; halves go up.
  Tensor wide = i64({4}, {int64_t(1) << 45, 3, -3, int64_t(1) << 47});
  expectTensor(requantized(attrs, wide, int64_t(1) << 30, -31), {4}, {8192, 0, 0, 32767});
  expectTensor(requantized(attrs, wide, int64_t(1) << 30, 0), {4}, {0, 2, -1, 0}); // the low 32 bits
}

TEST(Reference, Lookup) {
  LookupAttrs attrs;
  for (int64_t i = 0; i < 256; ++i)
    attrs.values.push_back(1000 * i);
  attrs.to = ElementType::i32;
  expectTensor(evaluate("lookup", attrs, {Tensor::of<int8_t>({3}, {-128, 0, 127})}), {3}, {0, 128000, 255000});
  expectTensor(evaluate("lookup", attrs, {Tensor::of<uint8_t>({3}, {0, 128, 255})}), {3}, {0, 128000, 255000});
  attrs.values.clear();
  for (int64_t i = 0; i < 513; ++i)
    attrs.values.push_back((i - 256) * 127); // steps of 127 for y, 128 for x
  attrs.to = ElementType::i16;
  expectTensor(evaluate("lookup", attrs, {Tensor::of<int16_t>({5}, {-32768, -1, 0, 64, 32767})}), {5},
               {-32512, -1, 0, 64, 32511});
}

TEST(Reference, FixedReciprocal) {
  expectTensor(evaluate("count_leading_zeros", CountLeadingZerosAttrs(), {i32({4}, {0, 1, 4096, -1})}), {4},
               {32, 31, 19, 0});
  std::mt19937_64 random(11);
  for (int i = 0; i < 2000; ++i) {
    auto x = static_cast<int32_t>((random() & 0x7fffffff) >> (random() % 31));
    x = std::max(x, 1);
    double f = std::ldexp(x, -std::ilogb(x)); // in [1, 2)
    Tensor y = evaluate("fixed_reciprocal", FixedReciprocalAttrs(), {i32({}, {x})});
    EXPECT_NEAR(y.asDouble(0), std::min(std::ldexp(1 / f, 31), 2147483647.0), 8) << x;
  }
  expectTensor(evaluate("fixed_reciprocal", FixedReciprocalAttrs(), {i32({3}, {0, -5, 1})}), {3},
               {2147483647, 2147483647, 2147483647});
}

TEST(Reference, BitCast) {
  BitCastAttrs attrs;
  attrs.to = ElementType::u32;
  expectTensor(evaluate("bit_cast", attrs, {f32({2, 1}, {1, -2})}), {2, 1}, {0x3f800000, 0xc0000000});
  attrs.to = ElementType::i8;
  expectTensor(evaluate("bit_cast", attrs, {Tensor::of<uint8_t>({2}, {255, 7})}), {2}, {-1, 7});
}

} // namespace
} // namespace lathe
