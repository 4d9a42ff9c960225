// Errors of relaxed functions over all magnitudes, their edges, and kernels that use them.
#include "codegen/builder/RelaxedMath.h"
#include "codegen/testing/FunctionTesting.h"

#include <bit>
#include <gtest/gtest.h>

namespace lathe {
namespace {

using mlir::Value;

struct Function {
  const char *name;
  std::function<Value(ScalarBuilder &, Value)> build;
  long double (*exact)(long double);
  double limit;          // largest error
  bool absolute = false; // the error is not relative to the result
};

long double sigmoidl(long double x) { return 1 / (1 + expl(-x)); }

const Function functions[] = {
    {"exp", &ScalarBuilder::exp, expl, 0x1p-13},
    {"expNegative", [](ScalarBuilder &b, Value x) { return b.expNegative(b.neg(b.abs(x))); },
     [](long double x) { return expl(-fabsl(x)); }, 0x1p-13},
    {"reciprocal", &ScalarBuilder::reciprocal, [](long double x) { return 1 / x; }, 0x1p-13},
    {"reciprocalSqrt", &ScalarBuilder::reciprocalSqrt, [](long double x) { return 1 / sqrtl(x); }, 0x1p-13},
    {"sigmoid", &ScalarBuilder::sigmoid, sigmoidl, 0x1p-12},
    {"tanh", &ScalarBuilder::tanh, tanhl, 0x1p-12},
    {"erfBrief", &ScalarBuilder::erfBrief, erfl, 0x1p-12, true},
};

/// AVX-512 with both widths, AVX2, and x86-64 without approximate instructions, if this machine runs them.
std::vector<std::pair<std::string, int64_t>> targetsAndLanes() {
  std::vector<std::pair<std::string, int64_t>> wanted = {
      {"native", Target::parse("native").lanes(32)}, {"native", 8}, {"x86-64-v3", 8}, {"x86-64-v2", 4}, {"native", 1}};
  Target native = Target::parse("native");
  std::erase_if(wanted, [&](auto &one) {
    return one.first != "native" &&
           (native.triple.rfind("x86_64", 0) != 0 || (Target::parse(one.first).featureBits & ~native.featureBits) != 0);
  });
  return wanted;
}

/// Every 4001st float, and denser ones of every magnitude.
std::vector<float> manyArguments() {
  std::mt19937_64 random(5);
  std::vector<float> x = arguments<float>(1e38, random);
  for (uint64_t bits = 0; bits < uint64_t(1) << 32; bits += 4001)
    if (float value = std::bit_cast<float>(uint32_t(bits)); value == 0 || !(std::fabs(value) < 0x1p-126f)) // flushed
      x.push_back(value);
  return x;
}

constexpr long double least = 0x1p-125L; // results below may be zero

/// The error of y; 1e9 for a wrong infinity, NaN or sign.
double errorOf(const Function &f, float y, long double exact) {
  if (std::isnan(exact) || std::isnan(y))
    return std::isnan(exact) && std::isnan(y) ? 0 : 1e9;
  constexpr long double top = std::numeric_limits<float>::max();
  if (fabsl(exact) > top * (1 - f.limit)) // either side of overflow
    return std::signbit(y) == std::signbit(exact) && std::fabs(y) >= top * (1 - 2 * f.limit) ? 0 : 1e9;
  if (fabsl(exact) < least && !f.absolute)
    return std::fabs(y) <= 2 * least ? 0 : 1e9;
  return double(fabsl(y - exact) / (f.absolute ? 1 : fabsl(exact)));
}

TEST(RelaxedMath, errorsStayWithinTheirBounds) {
  std::vector<float> x = manyArguments();
  for (auto &[name, lanes] : targetsAndLanes()) {
    Target target = Target::parse(name);
    for (const Function &f : functions) {
      auto build = [&](ScalarBuilder &b, Value value, Value) { return f.build(b, value); };
      std::vector<float> y = evaluate<float>(*compileFunction<float>(target, lanes, build, true), lanes, x, x);
      double worst = 0;
      float where = 0;
      for (size_t i = 0; i < x.size(); ++i)
        if (double error = errorOf(f, y[i], f.exact(x[i])); error > worst)
          worst = error, where = x[i];
      printf("%-14s %s, %d lanes: 2^%.2f at %.9g\n", f.name, name.c_str(), int(lanes), std::log2(worst), where);
      EXPECT_LE(worst, f.limit) << f.name << "(" << where << ") for " << name;
      if (std::string_view(f.name).starts_with("exp"))
        EXPECT_GT(worst, 0x1p-16) << f.name << " is not relaxed for " << name;
    }
  }
}

TEST(RelaxedMath, edges) {
  const float inf = INFINITY, nan = NAN;
  struct Edge {
    const char *function;
    float x, y;
  };
  const Edge edges[] = {{"exp", -inf, 0},
                        {"exp", inf, inf},
                        {"exp", nan, nan},
                        {"exp", 89, inf},
                        {"exp", -200, 0},
                        {"expNegative", -inf, 0},
                        {"expNegative", nan, nan},
                        {"sigmoid", inf, 1},
                        {"sigmoid", -inf, 0},
                        {"sigmoid", nan, nan},
                        {"sigmoid", 1000, 1},
                        {"sigmoid", -1000, 0},
                        {"tanh", inf, 1},
                        {"tanh", -inf, -1},
                        {"tanh", 0.0f, 0.0f},
                        {"tanh", -0.0f, -0.0f},
                        {"tanh", nan, nan},
                        {"erfBrief", nan, nan},
                        {"reciprocal", 0.0f, inf},
                        {"reciprocal", -0.0f, -inf},
                        {"reciprocal", inf, 0},
                        {"reciprocal", -inf, -0.0f},
                        {"reciprocal", nan, nan},
                        {"reciprocalSqrt", 0.0f, inf},
                        {"reciprocalSqrt", inf, 0},
                        {"reciprocalSqrt", -1, nan},
                        {"reciprocalSqrt", nan, nan}};
  for (auto &[name, lanes] : targetsAndLanes())
    for (const Function &f : functions) {
      std::vector<float> x;
      for (const Edge &edge : edges)
        x.push_back(edge.x);
      auto build = [&](ScalarBuilder &b, Value value, Value) { return f.build(b, value); };
      std::vector<float> y =
          evaluate<float>(*compileFunction<float>(Target::parse(name), lanes, build, true), lanes, x, x);
      for (size_t i = 0; i < x.size(); ++i) {
        const Edge &edge = edges[i];
        if (edge.function != std::string_view(f.name))
          continue;
        bool same = std::isnan(edge.y) ? std::isnan(y[i])
                                       : std::signbit(y[i]) == std::signbit(edge.y) &&
                                             (std::isinf(edge.y) ? y[i] == edge.y : std::fabs(y[i] - edge.y) < 1e-7);
        EXPECT_TRUE(same) << f.name << "(" << edge.x << ") = " << y[i] << ", expected " << edge.y << ", " << name
                          << ", " << lanes << " lanes";
      }
    }
}

/// Relaxed code is shorter, except where a function has no shorter form; f64 is not relaxed.
TEST(RelaxedMath, shorterInFloat32Only) {
  Target target = Target::parse("native");
  std::mt19937_64 random(3);
  std::vector<double> x = arguments<double>(1e3, random);
  for (const Function &f : functions) {
    auto build = [&](ScalarBuilder &b, Value value, Value) { return f.build(b, value); };
    int64_t lanes = target.lanes(32);
    if (!std::string_view(f.name).starts_with("reciprocal"))
      EXPECT_LT(compileFunction<float>(target, lanes, build, true)->codeBytes(),
                compileFunction<float>(target, lanes, build)->codeBytes())
          << f.name;
    if (f.name == std::string_view("erfBrief"))
      continue; // declined in f64
    std::vector<double> relaxed = evaluate<double>(*compileFunction<double>(target, lanes, build, true), lanes, x, x),
                        exact = evaluate<double>(*compileFunction<double>(target, lanes, build), lanes, x, x);
    for (size_t i = 0; i < x.size(); ++i)
      ASSERT_EQ(std::bit_cast<uint64_t>(relaxed[i]), std::bit_cast<uint64_t>(exact[i])) << f.name << " of " << x[i];
  }
}

std::string unary(const char *op, const char *family, const char *attributes = "") {
  return fmt::format("func.func private @k(%x: tensor<37x210xf32>) -> tensor<37x210xf32> attributes {{nn.family = "
                     "\"{}\"}} {{\n  %0 = nn.{} %x {}: (tensor<37x210xf32>) -> tensor<37x210xf32>\n"
                     "  return %0 : tensor<37x210xf32>\n}}\n",
                     family, op, attributes);
}

/// Whole kernels: errors within 2^-11 of the largest result, and results that differ from kernels without relaxed math.
TEST(RelaxedMath, kernels) {
  const std::string queries = "tensor<1x2x19x16xf32>";
  const std::string attention =
      fmt::format("func.func private @k(%q: {0}, %k: {0}, %v: {0}) -> {0} attributes {{nn.family = \"attention\"}} {{\n"
                  "  %0 = nn.attention %q, %k, %v {{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>}} : ({0}, {0}, "
                  "{0}) -> {0}\n  return %0 : {0}\n}}\n",
                  queries);
  const std::string layerNorm =
      "func.func private @k(%x: tensor<37x210xf32>, %s: tensor<210xf32>) -> tensor<37x210xf32> attributes {nn.family = "
      "\"normalize\"} {\n  %0 = nn.layer_norm %x, %s : (tensor<37x210xf32>, tensor<210xf32>) -> tensor<37x210xf32>\n"
      "  return %0 : tensor<37x210xf32>\n}\n";
  for (auto &[target, lanes] : targetsAndLanes())
    for (const std::string &text :
         {unary("softmax", "softmax"), unary("softmax", "softmax", "{axis = 0 : i64} "), layerNorm,
          unary("gelu", "elementwise"), unary("gelu", "elementwise", "{approximate = \"tanh\"} "),
          unary("swish", "elementwise"), unary("sigmoid", "elementwise"), unary("tanh", "elementwise"),
          unary("mish", "elementwise"), unary("softsign", "elementwise"), unary("exp", "elementwise"), attention}) {
      if (lanes == 1)
        continue; // targets, not lengths
      KernelUnderTest exact(text, Target::parse(target)), relaxed(text, Target::parse(target));
      relaxed.relaxedMath = true;
      std::vector<Tensor> inputs = exact.randomInputs(-4, 4);
      Tensor before = exact.run(inputs)[0], after = relaxed.run(inputs)[0], expected = exact.expected(inputs)[0];
      double worst = 0, largest = 0, change = 0;
      for (int64_t i = 0; i < expected.elements(); ++i) {
        worst = std::max(worst, double(std::fabs(after.as<float>()[i] - expected.as<float>()[i])));
        change = std::max(change, double(std::fabs(after.as<float>()[i] - before.as<float>()[i])));
        largest = std::max(largest, double(std::fabs(expected.as<float>()[i])));
      }
      EXPECT_LE(worst, 0x1p-11 * largest) << target << "\n" << text;
      EXPECT_GT(change, 0) << target << "\n" << text;
    }
}

} // namespace
} // namespace lathe
