#include "import/tflite/FixedPoint.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lathe::tflite {
namespace {

constexpr int32_t least = std::numeric_limits<int32_t>::min(), most = std::numeric_limits<int32_t>::max();

int32_t sum(int32_t a, int32_t b) { return static_cast<int32_t>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b)); }
int32_t difference(int32_t a, int32_t b) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) - static_cast<uint32_t>(b));
}

/// e^x of x in [-1/4, 0) without integer bits: a Taylor polynomial around -1/8.
int32_t expOfQuarter(int32_t x) {
  constexpr int32_t expOfMinusEighth = 1895147668, third = 715827883;
  int32_t d = sum(x, 1 << 28);
  int32_t d2 = highProduct(d, d), d3 = highProduct(d2, d), d4 = highProduct(d2, d2);
  int32_t tail = sum(divideByPowerOfTwo(d4, 2), d3);                         // 6 * (d^3/6 + d^4/24)
  int32_t higher = divideByPowerOfTwo(sum(highProduct(tail, third), d2), 1); // d^2/2 + d^3/6 + d^4/24
  return sum(expOfMinusEighth, highProduct(expOfMinusEighth, sum(d, higher)));
}

/// 2 / (1 + x) with two integer bits, by three Newton iterations.
int32_t twiceReciprocalOfOnePlus(int32_t x) {
  constexpr int32_t one = 1 << 29, start = 1515870810, slope = -1010580540; // 48/17, -32/17
  auto half = static_cast<int32_t>((int64_t(x) + most + 1) / 2);
  int32_t y = sum(start, highProduct(half, slope));
  for (int step = 0; step < 3; ++step)
    y = sum(y, saturatedShift(highProduct(y, difference(one, highProduct(half, y))), 2));
  return y;
}

} // namespace

Multiplier multiplierOf(double factor) {
  if (factor == 0)
    return {};
  int shift = 0;
  auto value = static_cast<int64_t>(std::round(std::frexp(factor, &shift) * 2147483648.0));
  if (value == int64_t(1) << 31) {
    value /= 2;
    ++shift;
  }
  if (shift < -31)
    return {};
  if (shift > 30) // as far as it goes
    return {most, 30};
  return {static_cast<int32_t>(value), shift};
}

int32_t highProduct(int32_t a, int32_t b) {
  if (a == least && b == least)
    return most;
  return static_cast<int32_t>((int64_t(a) * b + (int64_t(1) << 30)) >> 31);
}

int16_t highProduct(int16_t a, int16_t b) {
  constexpr int16_t lowest = std::numeric_limits<int16_t>::min();
  if (a == lowest && b == lowest)
    return std::numeric_limits<int16_t>::max();
  return static_cast<int16_t>((int32_t(a) * b + (1 << 14)) >> 15);
}

int32_t divideByPowerOfTwo(int32_t x, int exponent) {
  int64_t divisor = int64_t(1) << exponent, half = divisor / 2;
  return static_cast<int32_t>((x < 0 ? x - half : x + half) / divisor);
}

int32_t saturatedShift(int32_t x, int exponent) {
  int64_t wide = int64_t(x) * (int64_t(1) << exponent);
  return static_cast<int32_t>(std::clamp<int64_t>(wide, least, most));
}

int32_t scaled(int32_t x, Multiplier factor) {
  int left = std::max(factor.shift, 0), right = std::max(-factor.shift, 0);
  auto shifted = static_cast<int32_t>(static_cast<uint32_t>(x) << left);
  return divideByPowerOfTwo(highProduct(shifted, factor.value), right);
}

int32_t expOfNegative(int32_t x, int integerBits) {
  if (x == 0)
    return most;
  int fraction = 31 - integerBits;
  int32_t quarter = 1 << (fraction - 2);
  int32_t within = difference(x & (quarter - 1), quarter); // in [-1/4, 0), x less a number of quarters
  int32_t result = expOfQuarter(saturatedShift(within, integerBits)), quarters = difference(within, x);
  constexpr int32_t factors[] = {1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242};
  for (int exponent = -2; exponent < integerBits; ++exponent) // e^-(2^exponent)
    if (quarters & (1 << (fraction + exponent)))
      result = highProduct(result, factors[exponent + 2]);
  return result;
}

int32_t reciprocalOfOnePlus(int32_t x) { return saturatedShift(twiceReciprocalOfOnePlus(x), 1); }

int32_t oneMinusOverOnePlus(int32_t x) {
  return saturatedShift(difference(twiceReciprocalOfOnePlus(x), 1 << 29), 2); // 2 / (1 + x) - 1
}

int32_t logistic(int32_t x, int integerBits) {
  if (x == 0)
    return 1 << 30;
  int32_t positive = reciprocalOfOnePlus(expOfNegative(x > 0 ? -x : x, integerBits));
  return x > 0 ? positive : most - positive;
}

int32_t hyperbolicTangent(int32_t x, int integerBits) {
  if (x == 0)
    return 0;
  // Twice x: the same bits with one integer bit more.
  int32_t positive = oneMinusOverOnePlus(expOfNegative(x > 0 ? -x : x, integerBits + 1));
  return x > 0 ? positive : -positive;
}

int32_t inputRadius(int integerBits, int shift) {
  double greatest = double((1 << integerBits) - 1) * double(int64_t(1) << (31 - integerBits)) / std::ldexp(1.0, shift);
  return static_cast<int32_t>(std::min(std::floor(greatest), double(most)));
}

} // namespace lathe::tflite
