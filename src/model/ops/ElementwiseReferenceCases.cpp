#include "ops/ReferenceTesting.h"

#include <cmath>
#include <limits>

namespace lathe {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();

/// Compares f with its definition at a few points, in f32, f64 and f16.
template <class A> void expectUnary(const char *op, const A &attrs, double (*definition)(double)) {
  std::vector<double> points = {-100, -7.5, -2.5, -1, -0.5, 0, 0.25, 0.5, 1, 1.5, 2.5, 3, 10, 60}, expected;
  for (double p : points)
    expected.push_back(definition(p));
  Tensor x = Tensor::of<double>({static_cast<int64_t>(points.size())}, points);
  expectTensor(evaluate(op, attrs, {x}), x.dims(), expected, 1e-12);
  expectTensor(
      evaluate(op, attrs, {x.convertedTo(ElementType::f32)}).convertedTo(ElementType::f64), x.dims(),
      [&] {
        std::vector<double> rounded;
        for (double e : expected)
          rounded.push_back(std::abs(e) > std::numeric_limits<float>::max() ? std::copysign(infinity, e) : e);
        return rounded;
      }(),
      3e-6);
}

TEST(Reference, UnaryFunctions) {
  expectUnary("relu", ReluAttrs(), [](double x) { return std::max(x, 0.0); });
  expectUnary("leaky_relu", LeakyReluAttrs(), [](double x) { return x < 0 ? 0.01 * x : x; });
  expectUnary("elu", EluAttrs(), [](double x) { return x < 0 ? std::exp(x) - 1 : x; });
  expectUnary("selu", SeluAttrs(), [](double x) {
    return 1.05070102214813232421875 * (x > 0 ? x : 1.67326319217681884765625 * (std::exp(x) - 1));
  });
  CeluAttrs celu;
  celu.alpha = 2;
  expectUnary("celu", celu, [](double x) { return std::max(0.0, x) + std::min(0.0, 2 * (std::exp(x / 2) - 1)); });
  expectUnary("thresholded_relu", ThresholdedReluAttrs(), [](double x) { return x > 1 ? x : 0.0; });
  expectUnary("sigmoid", SigmoidAttrs(), [](double x) { return 1 / (1 + std::exp(-x)); });
  expectUnary("tanh", TanhAttrs(), [](double x) { return std::tanh(x); });
  expectUnary("exp", ExpAttrs(), [](double x) { return std::exp(x); });
  expectUnary("log", LogAttrs(), [](double x) { return x < 0 ? nan : std::log(x); });
  expectUnary("sqrt", SqrtAttrs(), [](double x) { return x < 0 ? nan : std::sqrt(x); });
  expectUnary("neg", NegAttrs(), [](double x) { return -x; });
  expectUnary("abs", AbsAttrs(), [](double x) { return std::abs(x); });
  expectUnary("floor", FloorAttrs(), [](double x) { return std::floor(x); });
  expectUnary("ceil", CeilAttrs(), [](double x) { return std::ceil(x); });
  expectUnary("erf", ErfAttrs(), [](double x) { return std::erf(x); });
  expectUnary("reciprocal", ReciprocalAttrs(), [](double x) { return 1 / x; });
  expectUnary("softplus", SoftplusAttrs(), [](double x) { return std::log(1 + std::exp(x)); });
  expectUnary("softsign", SoftsignAttrs(), [](double x) { return x / (1 + std::abs(x)); });
  expectUnary("hard_sigmoid", HardSigmoidAttrs(), [](double x) { return std::max(0.0, std::min(1.0, 0.2 * x + 0.5)); });
  expectUnary("hard_swish", HardSwishAttrs(), [](double x) { return x * std::max(0.0, std::min(1.0, x / 6 + 0.5)); });
  expectUnary("mish", MishAttrs(), [](double x) { return x * std::tanh(std::log(1 + std::exp(x))); });
  ShrinkAttrs shrink;
  shrink.lambd = 1.5;
  shrink.bias = 1;
  expectUnary("shrink", shrink, [](double x) { return x < -1.5 ? x + 1 : x > 1.5 ? x - 1 : 0; });
  expectUnary("sin", SinAttrs(), [](double x) { return std::sin(x); });
  expectUnary("cos", CosAttrs(), [](double x) { return std::cos(x); });
  expectUnary("atan", AtanAttrs(), [](double x) { return std::atan(x); });
  expectUnary("tan", TanAttrs(), [](double x) { return std::tan(x); });
  expectUnary("asin", AsinAttrs(), [](double x) { return std::abs(x) > 1 ? nan : std::asin(x); });
  expectUnary("acos", AcosAttrs(), [](double x) { return std::abs(x) > 1 ? nan : std::acos(x); });
  expectUnary("sinh", SinhAttrs(), [](double x) { return (std::exp(x) - std::exp(-x)) / 2; });
  expectUnary("cosh", CoshAttrs(), [](double x) { return (std::exp(x) + std::exp(-x)) / 2; });
  expectUnary("asinh", AsinhAttrs(), [](double x) { return std::asinh(x); });
  expectUnary("acosh", AcoshAttrs(), [](double x) { return x < 1 ? nan : std::acosh(x); });
  expectUnary("atanh", AtanhAttrs(), [](double x) { return std::abs(x) > 1 ? nan : std::atanh(x); });
  SwishAttrs swish;
  swish.alpha = 1.5;
  expectUnary("swish", swish, [](double x) { return x / (1 + std::exp(-1.5 * x)); });
  expectUnary("gelu", GeluAttrs(), [](double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); });
  GeluAttrs byTanh;
  byTanh.approximate = "tanh";
  expectUnary("gelu", byTanh,
              [](double x) { return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); });
}

TEST(Reference, RoundSignAndPredicates) {
  expectTensor(evaluate("round", RoundAttrs(), {f32({7}, {0.5, 1.5, 2.5, -0.5, -1.5, 2.4f, -2.6f})}), {7},
               {0, 2, 2, 0, -2, 2, -3});
  expectTensor(evaluate("sign", SignAttrs(), {i32({3}, {-5, 0, 9})}), {3}, {-1, 0, 1});
  expectTensor(evaluate("not", NotAttrs(), {bools({2}, {true, false})}), {2}, {0, 1});
  expectTensor(evaluate("is_nan", IsNanAttrs(), {f64({3}, {nan, 1, infinity})}), {3}, {1, 0, 0});
  expectTensor(evaluate("relu", ReluAttrs(), {f64({2}, {nan, -infinity})}), {2}, {nan, 0});
  expectTensor(evaluate("abs", AbsAttrs(), {Tensor::of<int8_t>({2}, {-128, -3})}), {2}, {-128, 3}); // wraps
  expectTensor(evaluate("softplus", SoftplusAttrs(), {f64({2}, {1000, -1000})}), {2}, {1000, 0});
}

TEST(Reference, IsInf) {
  Tensor x = f64({4}, {infinity, -infinity, nan, 3});
  IsInfAttrs a;
  expectTensor(evaluate("is_inf", a, {x}), {4}, {1, 1, 0, 0});
  a.detect_negative = false;
  expectTensor(evaluate("is_inf", a, {x}), {4}, {1, 0, 0, 0});
}

TEST(Reference, Bits) {
  expectTensor(evaluate("bitwise_not", BitwiseNotAttrs(), {i32({3}, {0, -1, 5})}), {3}, {-1, 0, -6});
  expectTensor(evaluate("bitwise_not", BitwiseNotAttrs(), {Tensor::of<uint8_t>({2}, {0, 0xf0})}), {2}, {255, 15});
  Tensor a = i32({2}, {12, -1}), b = i32({2}, {10, 6});
  expectTensor(evaluate("bitwise_and", BitwiseAndAttrs(), {a, b}), {2}, {8, 6});
  expectTensor(evaluate("bitwise_or", BitwiseOrAttrs(), {a, b}), {2}, {14, -1});
  expectTensor(evaluate("bitwise_xor", BitwiseXorAttrs(), {a, b}), {2}, {6, -7});
  BitShiftAttrs shift;
  Tensor bytes = Tensor::of<uint8_t>({4}, {1, 200, 16, 255}), by = Tensor::of<uint8_t>({4}, {3, 1, 9, 70});
  expectTensor(evaluate("bit_shift", shift, {bytes, by}), {4}, {8, 144, 0, 0});
  shift.direction = "RIGHT";
  expectTensor(evaluate("bit_shift", shift, {bytes, by}), {4}, {0, 100, 0, 0});
}

TEST(Reference, Clip) {
  ClipAttrs clip;
  clip.min = -1;
  clip.max = 6;
  expectTensor(evaluate("clip", clip, {f32({4}, {-5, 0, 6.5, 3})}), {4}, {-1, 0, 6, 3});
  expectTensor(evaluate("clip", clip, {i32({3}, {-5, 0, 7})}), {3}, {-1, 0, 6});
  expectTensor(evaluate("clip", ClipAttrs(), {i32({2}, {-5, 7})}), {2}, {-5, 7});
  expectTensor(evaluate("clip", ClipAttrs(), {f32({3}, {-5, 0, 7}), Tensor(), f32({}, {2})}), {3}, {-5, 0, 2});
  int64_t great = (int64_t(1) << 53) + 1; // a double cannot hold it
  Tensor y = evaluate("clip", ClipAttrs(), {i64({2}, {5, great + 7}), Tensor(), i64({}, {great})});
  EXPECT_EQ(y.asInteger(1), great);
}

TEST(Reference, Cast) {
  CastAttrs to;
  to.to = ElementType::i32;
  expectTensor(evaluate("cast", to, {f32({4}, {1.9f, -1.9f, 1e20f, 0.5f})}), {4}, {1, -1, 2147483647, 0});
  to.to = ElementType::boolean;
  expectTensor(evaluate("cast", to, {f32({3}, {0, 0.1f, -2})}), {3}, {0, 1, 1});
  to.to = ElementType::f8e4m3fn;
  expectTensor(evaluate("cast", to, {f32({2}, {1000, 1})}), {2}, {448, 1});
  to.saturate = false;
  expectTensor(evaluate("cast", to, {f32({2}, {1000, 1})}), {2}, {nan, 1});
}

template <class A>
void expectBinary(const char *op, const Tensor &a, const Tensor &b, const Shape &dims,
                  const std::vector<double> &values, const A &attrs = {}) {
  expectTensor(evaluate(op, attrs, {a, b}), dims, values);
}

TEST(Reference, BinaryArithmetic) {
  Tensor a = f32({2, 3}, {1, 2, 3, 4, 5, 6}), row = f32({3}, {10, 20, 30}), column = f32({2, 1}, {100, 200});
  expectBinary<AddAttrs>("add", a, row, {2, 3}, {11, 22, 33, 14, 25, 36});
  expectBinary<AddAttrs>("add", row, column, {2, 3}, {110, 120, 130, 210, 220, 230});
  expectBinary<SubAttrs>("sub", a, f32({}, {1}), {2, 3}, {0, 1, 2, 3, 4, 5});
  expectBinary<MulAttrs>("mul", a, column, {2, 3}, {100, 200, 300, 800, 1000, 1200});
  expectBinary<DivAttrs>("div", a, f32({1, 1}, {2}), {2, 3}, {0.5, 1, 1.5, 2, 2.5, 3});
  expectBinary<DivAttrs>("div", i32({5}, {-7, 7, -7, 7, std::numeric_limits<int>::min()}), i32({5}, {2, -2, -2, 0, -1}),
                         {5}, {-3, -3, 3, 0, -2147483648.0});
  expectBinary<AddAttrs>("add", Tensor::of<uint8_t>({1}, {250}), Tensor::of<uint8_t>({1}, {10}), {1}, {4});
  expectBinary<PowAttrs>("pow", f32({3}, {2, 3, 4}), f32({3}, {3, 2, 0.5}), {3}, {8, 9, 2});
  expectBinary<PowAttrs>("pow", i64({4}, {2, -3, 2, -1}), i64({4}, {10, 3, -1, -3}), {4}, {1024, -27, 0, -1});
  expectBinary<MaxAttrs>("max", f64({4}, {1, nan, 3, nan}), f64({4}, {2, 1, nan, nan}), {4}, {2, nan, nan, nan});
  expectBinary<MinAttrs>("min", f64({3}, {1, nan, 3}), f64({3}, {2, 1, nan}), {3}, {1, nan, nan});
  expectBinary<MaxAttrs>("max", Tensor::of<uint64_t>({1}, {~0ull}), Tensor::of<uint64_t>({1}, {1ull}), {1},
                         {18446744073709551615.0});
  Tensor a6 = i32({6}, {-4, 7, 5, 4, -7, 8}), b6 = i32({6}, {2, -3, 8, -2, 3, 5});
  expectBinary<ModAttrs>("mod", a6, b6, {6}, {0, -2, 5, 0, 2, 3}); // ONNX's examples
  ModAttrs fmod;
  fmod.fmod = true;
  expectBinary<ModAttrs>("mod", a6, b6, {6}, {0, 1, 5, 0, -1, 3}, fmod);
  expectBinary<ModAttrs>("mod", f64({6}, {-4.3, 7.2, 5.0, 4.3, -7.2, 8.0}), f64({6}, {2.1, -3.4, 8.0, -2.1, 3.4, 5.0}),
                         {6}, {-0.1, 0.4, 5, 0.1, -0.4, 3}, fmod);
  expectBinary<PreluAttrs>("prelu", f32({1, 2, 2}, {-1, 2, -3, 4}), f32({2, 1}, {0.5, 0.25}), {1, 2, 2},
                           {-0.5, 2, -0.75, 4});
  expectBinary<AddAttrs>("add", f32({2, 0}, {}), f32({1}, {1}), {2, 0}, {});
}

TEST(Reference, ComparisonsLogicAndWhere) {
  Tensor a = f64({4}, {1, 2, 3, nan}), b = f64({4}, {2, 2, 2, nan});
  expectBinary<EqualAttrs>("equal", a, b, {4}, {0, 1, 0, 0});
  expectBinary<LessAttrs>("less", a, b, {4}, {1, 0, 0, 0});
  expectBinary<LessEqualAttrs>("less_equal", a, b, {4}, {1, 1, 0, 0});
  expectBinary<GreaterAttrs>("greater", a, b, {4}, {0, 0, 1, 0});
  expectBinary<GreaterEqualAttrs>("greater_equal", a, b, {4}, {0, 1, 1, 0});
  Tensor p = bools({2, 1}, {true, false}), q = bools({2}, {true, false});
  expectBinary<AndAttrs>("and", p, q, {2, 2}, {1, 0, 0, 0});
  expectBinary<OrAttrs>("or", p, q, {2, 2}, {1, 1, 1, 0});
  expectBinary<XorAttrs>("xor", p, q, {2, 2}, {0, 1, 1, 0});
  expectBinary<EqualAttrs>("equal", p, q, {2, 2}, {1, 0, 0, 1});
  Tensor s(ElementType::string, {2}), t(ElementType::string, {1});
  s.strings() = {"a", "b"};
  t.strings() = {"b"};
  expectBinary<EqualAttrs>("equal", s, t, {2}, {0, 1});
  expectTensor(evaluate("where", WhereAttrs(), {q, i64({2, 1}, {1, 2}), i64({}, {9})}), {2, 2}, {1, 9, 2, 9});
  EXPECT_EQ(evaluate("where", WhereAttrs(), {q, t, s}).strings(), (std::vector<std::string>{"b", "b"}));
  expectTensor(
      evaluate("where", WhereAttrs(),
               {q, i64({2}, {-3, 5}).convertedTo(ElementType::i4), i64({2}, {1, 7}).convertedTo(ElementType::i4)}),
      {2}, {-3, 7});
}

} // namespace
} // namespace lathe
