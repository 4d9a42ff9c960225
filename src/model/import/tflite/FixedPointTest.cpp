// Compares functions in fixed point with functions of doubles, and tests scales as integers.
#include "import/tflite/FixedPoint.h"

#include <gtest/gtest.h>

#include <cmath>

namespace lathe::tflite {
namespace {

double real(int32_t x, int integerBits) { return std::ldexp(x, integerBits - 31); }

TEST(FixedPoint, MultipliersKeepThirtyOneBits) {
  for (double factor : {1.0, 0.5, 0.1, 3.7, 1e-9, 0.99999999999, 12345.678}) {
    Multiplier m = multiplierOf(factor);
    EXPECT_GE(m.value, 1 << 30) << factor;
    EXPECT_NEAR(std::ldexp(m.value, m.shift - 31) / factor, 1, std::ldexp(1, -31)) << factor;
  }
  EXPECT_EQ(multiplierOf(0).value, 0);
  EXPECT_EQ(multiplierOf(1e-12).value, 0); // too small for the shifts
  EXPECT_EQ(multiplierOf(NAN).value, 0);
  for (double factor : {0x1p30, 1e300, double(INFINITY)}) {
    EXPECT_EQ(multiplierOf(factor).value, INT32_MAX) << factor;
    EXPECT_EQ(multiplierOf(factor).shift, 30) << factor;
  }
  EXPECT_EQ(scaled(100, multiplierOf(0.25)), 25);
  EXPECT_EQ(scaled(-3, multiplierOf(0.5)), -1);  // first rounding: halves up
  EXPECT_EQ(scaled(-6, multiplierOf(0.25)), -2); // second rounding: halves away from zero
  EXPECT_EQ(scaled(7, multiplierOf(1.0)), 7);    // exact
  EXPECT_EQ(scaled(-1234567, multiplierOf(8)), -9876536);
}

TEST(FixedPoint, Functions) {
  for (int bits : {0, 2, 4, 5})
    for (int64_t x = -2147483647; x <= 0; x += 104729 * 97)
      EXPECT_NEAR(real(expOfNegative(static_cast<int32_t>(x), bits), 0), std::exp(real(static_cast<int32_t>(x), bits)),
                  4e-7);
  for (int64_t x = 0; x <= 2147483647; x += 104729 * 97) {
    double f = real(static_cast<int32_t>(x), 0);
    EXPECT_NEAR(real(reciprocalOfOnePlus(static_cast<int32_t>(x)), 0), 1 / (1 + f), 6e-9);
    EXPECT_NEAR(real(oneMinusOverOnePlus(static_cast<int32_t>(x)), 0), (1 - f) / (1 + f), 1e-8);
  }
  for (int64_t x = -2147483647; x <= 2147483647; x += 104729 * 197) {
    auto q = static_cast<int32_t>(x);
    double value = real(q, 4);
    EXPECT_NEAR(real(logistic(q, 4), 0), 1 / (1 + std::exp(-value)), 4e-7);
    EXPECT_NEAR(real(hyperbolicTangent(q, 4), 0), std::tanh(value), 4e-7);
  }
  EXPECT_EQ(logistic(0, 4), 1 << 30);
  EXPECT_EQ(hyperbolicTangent(0, 4), 0);
  EXPECT_EQ(expOfNegative(0, 5), INT32_MAX);
}

/// Results that TensorFlow Lite's tests expect of its kernels (tensor_utils_test.cc).
TEST(FixedPoint, SixteenBits) {
  struct Known {
    int16_t x, y;
  };
  const Known sigmoids[] = {{-10500, 2339}, {1398, 19152}, {-6963, 5063},  {485, 17350},  {-19248, 299}, {-24249, 89},
                            {-17923, 409},  {5249, 25646}, {-89, 16207},   {1787, 19904}, {-16178, 615}, {32767, 32756},
                            {-3378, 9983},  {823, 18026},  {11482, 30898}, {7508, 28246}, {0, 16384}};
  for (const Known &known : sigmoids)
    EXPECT_EQ(logistic(known.x, 3), known.y) << known.x;
  const Known tangents3[] = {{-145, -1156}, {899, 7076}, {-35, -276}, {8, 64}, {-1310, -10132}, {1058, 8276}, {0, 0}};
  for (const Known &known : tangents3)
    EXPECT_EQ(hyperbolicTangent(known.x, 3), known.y) << known.x;
  const Known tangents0[] = {{-145, -136}, {899, 904}, {8, 8}, {-1310, -1304}, {127, 120}, {-635, -636}};
  for (const Known &known : tangents0)
    EXPECT_EQ(hyperbolicTangent(known.x, 0), known.y) << known.x;
  const Known tangents4[] = {{-5, -76}, {163, 2596}, {90, 1436}, {-42, -672}, {150, 2400}, {-92, -1476}};
  for (const Known &known : tangents4)
    EXPECT_EQ(hyperbolicTangent(known.x, 4), known.y) << known.x;
  for (int bits = 0; bits <= 6; ++bits) // within the error of the polynomial
    for (int x = -32768; x <= 32767; x += 7)
      EXPECT_NEAR(hyperbolicTangent(static_cast<int16_t>(x), bits) / 32768.0, std::tanh(std::ldexp(x, bits - 15)), 7e-4)
          << x << " with " << bits << " integer bits";
}

TEST(FixedPoint, InverseRoots) {
  EXPECT_EQ(inverseRoot(0).value, INT32_MAX);
  EXPECT_EQ(inverseRoot(1).value, INT32_MAX);
  for (int64_t x = 2; x <= INT32_MAX; x = x * 9 / 8 + 1) {
    Multiplier root = inverseRoot(static_cast<int32_t>(x));
    EXPECT_LE(root.shift, 0) << x;
    EXPECT_NEAR(std::ldexp(root.value, root.shift - 31) * std::sqrt(double(x)), 1, 1e-5) << x;
  }
}

TEST(FixedPoint, RoundingAndSaturation) {
  EXPECT_EQ(highProduct(INT32_MIN, INT32_MIN), INT32_MAX);
  EXPECT_EQ(highProduct(int16_t(-32768), int16_t(-32768)), 32767);
  EXPECT_EQ(highProduct(3, 1 << 30), 2);
  EXPECT_EQ(divideByPowerOfTwo(-3, 1), -2);
  EXPECT_EQ(divideByPowerOfTwo(3, 1), 2);
  EXPECT_EQ(divideByPowerOfTwo(INT32_MIN, 31), -1);
  EXPECT_EQ(saturatedShift(-5, 30), INT32_MIN);
  EXPECT_EQ(saturatedShift(-5, 2), -20);
  EXPECT_EQ(inputRadius(4, 20), 15 << 7); // 15 * 2^27 / 2^20
}

} // namespace
} // namespace lathe::tflite
