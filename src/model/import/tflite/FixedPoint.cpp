#include "import/tflite/FixedPoint.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace lathe::tflite {
namespace {

// Raw: int32_t or int16_t.
template <class Raw> constexpr int bits = 8 * sizeof(Raw);
template <class Raw> constexpr Raw least = std::numeric_limits<Raw>::min();
template <class Raw> constexpr Raw most = std::numeric_limits<Raw>::max();

template <class Raw> Raw sum(Raw a, Raw b) {
  return static_cast<Raw>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
}
template <class Raw> Raw difference(Raw a, Raw b) {
  return static_cast<Raw>(static_cast<uint32_t>(a) - static_cast<uint32_t>(b));
}
template <class Raw> Raw negative(Raw x) { return difference(Raw(0), x); }
template <class Raw> Raw saturated(int64_t x) {
  return static_cast<Raw>(std::clamp<int64_t>(x, least<Raw>, most<Raw>));
}
template <class Raw> Raw shifted(Raw x, int exponent) { return saturated<Raw>(int64_t(x) * (int64_t(1) << exponent)); }
template <class Raw> Raw divided(Raw x, int exponent) { return static_cast<Raw>(divideByPowerOfTwo(x, exponent)); }
/// A constant of 32 bits, rounded to the bits of Raw.
template <class Raw> Raw constant(int32_t value) { return static_cast<Raw>(divideByPowerOfTwo(value, 32 - bits<Raw>)); }

/// e^x for x in [-1/4, 0), without integer bits: a Taylor polynomial around -1/8.
template <class Raw> Raw expOfQuarter(Raw x) {
  const Raw expOfMinusEighth = constant<Raw>(1895147668), third = constant<Raw>(715827883);
  Raw d = sum(x, static_cast<Raw>(1 << (bits<Raw> - 4)));
  Raw d2 = highProduct(d, d), d3 = highProduct(d2, d), d4 = highProduct(d2, d2);
  Raw tail = sum(divided(d4, 2), d3);                         // 6 * (d^3/6 + d^4/24)
  Raw higher = divided(sum(highProduct(tail, third), d2), 1); // d^2/2 + d^3/6 + d^4/24
  Raw rest = highProduct(expOfMinusEighth, sum(d, higher));
  return bits<Raw> == 16 ? saturated<Raw>(int64_t(expOfMinusEighth) + rest) : sum(expOfMinusEighth, rest);
}

template <class Raw> Raw expOf(Raw x, int integerBits) {
  if (x == 0)
    return most<Raw>;
  int fraction = bits<Raw> - 1 - integerBits;
  if (integerBits > 5 && x < -(32 << fraction))
    return 0;
  auto quarter = static_cast<Raw>(1 << (fraction - 2));
  Raw within = difference(static_cast<Raw>(x & (quarter - 1)), quarter); // in [-1/4, 0): x less a multiple of 1/4
  Raw result = expOfQuarter(shifted(within, integerBits)), quarters = difference(within, x);
  constexpr int32_t factors[] = {1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242};
  for (int exponent = -2; exponent < std::min(integerBits, 5); ++exponent) // e^-(2^exponent)
    if (quarters & (1 << (fraction + exponent)))
      result = highProduct(result, constant<Raw>(factors[exponent + 2]));
  return result;
}

/// 2 / (1 + x) with two integer bits, by three Newton iterations.
template <class Raw> Raw twiceReciprocalOfOnePlus(Raw x) {
  const auto one = static_cast<Raw>(1 << (bits<Raw> - 3));
  const Raw start = constant<Raw>(1515870810), slope = constant<Raw>(-1010580540); // 48/17, -32/17
  auto half = static_cast<Raw>((int64_t(x) + most<Raw> + 1) / 2);
  Raw y = sum(start, highProduct(half, slope));
  for (int step = 0; step < 3; ++step)
    y = sum(y, shifted(highProduct(y, difference(one, highProduct(half, y))), 2));
  return y;
}

template <class Raw> Raw logisticOf(Raw x, int integerBits) {
  if (x == 0)
    return static_cast<Raw>(1 << (bits<Raw> - 2));
  Raw positive = shifted(twiceReciprocalOfOnePlus(expOf(x > 0 ? negative(x) : x, integerBits)), 1);
  return x > 0 ? positive : difference(most<Raw>, positive);
}

/// (1 - x) / (1 + x) = 2 / (1 + x) - 1
template <class Raw> Raw quotient(Raw x) {
  return shifted(difference(twiceReciprocalOfOnePlus(x), static_cast<Raw>(1 << (bits<Raw> - 3))), 2);
}

template <class Raw> Raw tangentOf(Raw x, int integerBits) {
  if (x == 0)
    return 0;
  // Twice x: the same bits with one more integer bit.
  Raw positive = quotient(expOf(x > 0 ? negative(x) : x, integerBits + 1));
  return x > 0 ? positive : negative(positive);
}

} // namespace

Multiplier multiplierOf(double factor) {
  if (factor == 0 || std::isnan(factor))
    return {};
  if (!(std::abs(factor) < 0x1p30)) // too large: the greatest factor
    return {most<int32_t>, 30};
  int shift = 0;
  auto value = static_cast<int64_t>(std::round(std::frexp(factor, &shift) * 2147483648.0));
  if (value == int64_t(1) << 31) {
    value /= 2;
    ++shift;
  }
  if (shift < -31)
    return {};
  if (shift > 30)
    return {most<int32_t>, 30};
  return {static_cast<int32_t>(value), shift};
}

int32_t highProduct(int32_t a, int32_t b) {
  if (a == least<int32_t> && b == least<int32_t>)
    return most<int32_t>;
  return static_cast<int32_t>((int64_t(a) * b + (int64_t(1) << 30)) >> 31);
}

int16_t highProduct(int16_t a, int16_t b) {
  if (a == least<int16_t> && b == least<int16_t>)
    return most<int16_t>;
  return static_cast<int16_t>((int32_t(a) * b + (1 << 14)) >> 15);
}

int32_t divideByPowerOfTwo(int32_t x, int exponent) {
  int64_t divisor = int64_t(1) << exponent, half = divisor / 2;
  return static_cast<int32_t>((x < 0 ? x - half : x + half) / divisor);
}

int32_t saturatedShift(int32_t x, int exponent) { return shifted(x, exponent); }

int32_t scaled(int32_t x, Multiplier factor) {
  int left = std::max(factor.shift, 0), right = std::max(-factor.shift, 0);
  auto moved = static_cast<int32_t>(static_cast<uint32_t>(x) << left);
  return divideByPowerOfTwo(highProduct(moved, factor.value), right);
}

Multiplier inverseRoot(int32_t x) {
  if (x <= 1)
    return {most<int32_t>, 0};
  int shift = 11;
  if (x >= 1 << 29) {
    x /= 4;
    ++shift;
  }
  int pairs = (std::countl_zero(static_cast<uint32_t>(x)) - 1) / 2 - 1;
  shift -= pairs;
  x <<= 2 * pairs;
  // Numbers have three integer bits. x / 2 is in [1/4, 1).
  constexpr int32_t one = 1 << 28, threeHalves = one + one / 2, rootOfHalf = 1518500250;
  int32_t half = divideByPowerOfTwo(x >> 1, 1), y = one;
  for (int step = 0; step < 5; ++step) {
    int32_t cube = shifted(highProduct(highProduct(y, y), y), 6);
    y = shifted(difference(highProduct(threeHalves, y), highProduct(half, cube)), 3);
  }
  y = highProduct(y, rootOfHalf);
  return shift < 0 ? Multiplier{y << -shift, 0} : Multiplier{y, -shift};
}

int32_t expOfNegative(int32_t x, int integerBits) { return expOf(x, integerBits); }
int32_t reciprocalOfOnePlus(int32_t x) { return shifted(twiceReciprocalOfOnePlus(x), 1); }
int32_t oneMinusOverOnePlus(int32_t x) { return quotient(x); }
int32_t logistic(int32_t x, int integerBits) { return logisticOf(x, integerBits); }
int32_t hyperbolicTangent(int32_t x, int integerBits) { return tangentOf(x, integerBits); }
int16_t logistic(int16_t x, int integerBits) { return logisticOf(x, integerBits); }
int16_t hyperbolicTangent(int16_t x, int integerBits) { return tangentOf(x, integerBits); }

int32_t inputRadius(int integerBits, int shift) {
  double greatest = double((1 << integerBits) - 1) * double(int64_t(1) << (31 - integerBits)) / std::ldexp(1.0, shift);
  return static_cast<int32_t>(std::min(std::floor(greatest), double(most<int32_t>)));
}

} // namespace lathe::tflite
