// Errors of the vectorised transcendental functions in units in the last place, against libm one format wider.
#include "codegen/testing/FunctionTesting.h"

#include <gtest/gtest.h>

namespace lathe {
namespace {

using mlir::Value;

struct Function {
  const char *name;
  std::function<Value(ScalarBuilder &, Value)> build;
  long double (*exact)(long double);
  double limit32, limit64; // ULP; 0: declined
  double largest;          // arguments beyond are not measured
};

long double sigmoidl(long double x) { return 1 / (1 + expl(-x)); }

const Function functions[] = {
    {"exp", &ScalarBuilder::exp, expl, 1.0, 1.0, 1e30},
    {"expNegative", [](ScalarBuilder &b, Value x) { return b.expNegative(b.neg(b.abs(x))); },
     [](long double x) { return expl(-fabsl(x)); }, 1.0, 1.0, 1e30},
    {"expm1", &ScalarBuilder::expm1, expm1l, 1.45, 1.85, 1e30},
    {"log", &ScalarBuilder::log, logl, 0.85, 0.85, 1e300},
    {"tanh", &ScalarBuilder::tanh, tanhl, 1.3, 2.45, 1e30},
    {"sigmoid", &ScalarBuilder::sigmoid, sigmoidl, 2.25, 2.15, 1e30},
    {"erf", &ScalarBuilder::erf, erfl, 0.95, 0, 1e30},
    {"erfBrief", &ScalarBuilder::erfBrief, erfl, 8, 0, 1e30},
    {"sin", &ScalarBuilder::sin, sinl, 0.55, 1.6, 1 << 20},
    {"cos", &ScalarBuilder::cos, cosl, 0.55, 1.6, 1 << 20},
    {"atan", &ScalarBuilder::atan, atanl, 1.95, 1.15, 1e30},
};

/// |y - exact| in units of the last place of exact; denormals count as zero.
template <class T> double ulps(T y, long double exact) {
  T nearest = static_cast<T>(exact);
  if (std::isnan(exact) || std::isinf(nearest) || std::isnan(y) || std::isinf(y)) {
    if (std::isnan(exact) && std::isnan(y))
      return 0;
    if (y == nearest)
      return 0;
    // At the limit of overflow, the largest finite number is also correct.
    T top = std::numeric_limits<T>::max();
    return std::isinf(nearest) != std::isinf(y) && std::fabs(exact) > 0.99999L * top &&
                   std::fabs(exact) < 1.00001L * top
               ? 1
               : 1e9;
  }
  T least = std::numeric_limits<T>::min();
  if (std::fabs(exact) < least)
    return std::fabs(y) <= least ? 0 : 1e9;
  int exponent;
  std::frexp(exact, &exponent);
  return static_cast<double>(std::fabs(y - exact) / std::ldexp(1.0L, exponent - std::numeric_limits<T>::digits));
}

template <class T> void measure(const Function &f, double limit) {
  Target target = Target::parse("native");
  int64_t lanes = target.lanes(32);
  auto build = [&](ScalarBuilder &b, Value x, Value) { return f.build(b, x); };
  if (limit == 0) {
    EXPECT_THROW(compileFunction<T>(target, lanes, build), Declined) << f.name;
    return;
  }
  std::mt19937_64 random(7);
  std::vector<T> x = arguments<T>(f.largest, random);
  auto kernel = compileFunction<T>(target, lanes, build);
  std::vector<T> y = evaluate<T>(*kernel, lanes, x, x);
  double worst = 0;
  T where = 0, got = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    long double exact = f.exact(x[i]);
    if (x[i] == 0 && y[i] == 0)
      EXPECT_EQ(std::signbit(y[i]), std::signbit(static_cast<T>(exact))) << f.name << " of a zero";
    double error = ulps<T>(y[i], exact);
    if (error > worst)
      worst = error, where = x[i], got = y[i];
  }
  printf("%-11s %s  %.3f ULP at %.17g\n", f.name, sizeof(T) == 4 ? "float32" : "float64", worst,
         static_cast<double>(where));
  EXPECT_LE(worst, limit) << f.name << "(" << where << ") = " << got << ", exact "
                          << static_cast<double>(f.exact(where));
}

TEST(Math, float32) {
  for (const Function &f : functions)
    measure<float>(f, f.limit32);
}

TEST(Math, float64) {
  for (const Function &f : functions)
    measure<double>(f, f.limit64);
}

TEST(Math, scalarsAndVectorsAgree) {
  std::mt19937_64 random(11);
  Target target = Target::parse("native");
  for (const Function &f : functions) {
    auto build = [&](ScalarBuilder &b, Value x, Value) { return f.build(b, x); };
    std::vector<float> x = arguments<float>(f.largest, random);
    x.resize(20000);
    auto one = evaluate<float>(*compileFunction<float>(target, 1, build), 1, x, x);
    auto many = evaluate<float>(*compileFunction<float>(target, 16, build), 16, x, x);
    for (size_t i = 0; i < x.size(); ++i)
      ASSERT_TRUE(one[i] == many[i] || (std::isnan(one[i]) && std::isnan(many[i]))) << f.name << " of " << x[i];
  }
}

TEST(Math, pow) {
  Target target = Target::parse("native");
  auto kernel = compileFunction<float>(target, 16, [](ScalarBuilder &b, Value x, Value y) { return b.pow(x, y); });
  std::mt19937_64 random(13);
  const float inf = INFINITY, nan = NAN;
  std::vector<float> special = {0.0f,   -0.0f,       1,           -1,           2,     -2,    3,
                                -3,     0.5f,        -0.5f,       1.5f,         -2.5f, 1e30f, -1e30f,
                                1e-30f, 33554432.0f, 16777217.0f, -16777215.0f, inf,   -inf,  nan};
  std::vector<float> a, b;
  for (float x : special)
    for (float y : special)
      a.push_back(x), b.push_back(y);
  std::uniform_real_distribution<float> exponent(-60, 60), mantissa(1, 2), power(-12, 12);
  for (int i = 0; i < 200000; ++i) {
    a.push_back(std::ldexp(mantissa(random), static_cast<int>(exponent(random) / (1 + i % 7))) * (i % 5 == 0 ? -1 : 1));
    b.push_back(i % 5 == 0 || i % 3 == 0 ? std::round(power(random)) : power(random));
  }
  std::vector<float> y = evaluate<float>(*kernel, 16, a, b);
  double worst = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    long double exact = powl(a[i], b[i]);
    double error = ulps<float>(y[i], exact);
    worst = std::max(worst, error);
    ASSERT_LE(error, 0.6) << "pow(" << a[i] << ", " << b[i] << ") = " << y[i] << ", exact "
                          << static_cast<double>(exact);
    if (y[i] == 0)
      ASSERT_EQ(std::signbit(y[i]), std::signbit(exact)) << "pow(" << a[i] << ", " << b[i] << ")";
  }
  printf("pow      float32  %.3f ULP\n", worst);
}

} // namespace
} // namespace lathe
