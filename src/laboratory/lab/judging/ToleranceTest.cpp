// Bounds by types and lengths of sums; the comparison of NaN, small and large numbers.
#include "lab/judging/Difference.h"

#include <cmath>
#include <gtest/gtest.h>

namespace lathe::lab {
namespace {

Roundings of(std::initializer_list<ElementType> types, double terms = 1, double stored = 1) {
  Roundings roundings;
  for (ElementType type : types)
    roundings.add(type);
  roundings.terms = terms;
  roundings.stored = stored;
  return roundings;
}

TEST(Tolerance, float32KeepsItsBoundUntilSumsAreVeryLong) {
  for (double terms : {1.0, 1000.0, 100000.0}) {
    EXPECT_EQ(toleranceOf(of({ElementType::f32}, terms)).relative, 2e-5) << terms;
    EXPECT_EQ(toleranceOf(of({ElementType::f32}, terms)).maximum, 1e-4) << terms;
  }
  EXPECT_DOUBLE_EQ(toleranceOf(of({ElementType::f32}, 1e6)).relative, 1e3 * 0x1p-24);
  EXPECT_EQ(toleranceOf(of({ElementType::f32}), Against::peer).relative, 1e-4);
  EXPECT_EQ(toleranceOf(of({ElementType::f32}), Against::peer).maximum, 1e-3);
  Roundings packed = of({ElementType::f32});
  packed.packedWeights = true;
  EXPECT_EQ(toleranceOf(packed).relative, 2e-5);
  EXPECT_EQ(toleranceOf(packed, Against::peer).relative, 5e-2);
}

TEST(Tolerance, followsTheTypes) {
  EXPECT_EQ(toleranceOf(of({ElementType::i32, ElementType::boolean})).relative, 0);
  EXPECT_LT(toleranceOf(of({ElementType::f64})).relative, 1e-13);
  EXPECT_EQ(toleranceOf(of({ElementType::f64, ElementType::f32})).relative, 2e-5);
  EXPECT_EQ(toleranceOf(of({ElementType::f32, ElementType::i64})).relative, 2e-5);
  Tolerance f16 = toleranceOf(of({ElementType::f32, ElementType::f16}));
  EXPECT_NEAR(f16.relative, 2 * 0x1p-11, 3e-5);
  EXPECT_GT(toleranceOf(of({ElementType::f16}, 1, 50)).relative, 3 * f16.relative);
  EXPECT_LT(toleranceOf(of({ElementType::f16}, 1, 50)).relative, 5e-3);
  EXPECT_NEAR(toleranceOf(of({ElementType::bf16, ElementType::f16})).relative, 2 * 0x1p-8, 3e-5);
  Tolerance f8 = toleranceOf(of({ElementType::f32, ElementType::f8e5m2}));
  EXPECT_LT(f8.relative, 3e-3);
  EXPECT_NEAR(f8.maximum, 0.25, 1e-3);
}

TEST(Tolerance, relaxedMathOfAPackage) {
  EXPECT_TRUE(relaxedMathOfPackage("--target znver5 --threads 1 -O4 --precision fp32, machine"));
  EXPECT_FALSE(relaxedMathOfPackage("--target znver5 --threads 1 -O3 --precision fp32, machine"));
  Roundings relaxed = of({ElementType::f32});
  relaxed.relaxedMath = true;
  EXPECT_EQ(toleranceOf(relaxed).relative, 2e-3);
  EXPECT_EQ(toleranceOf(relaxed).maximum, 1e-2);
  relaxed.precision = Precision::bf16;
  EXPECT_EQ(toleranceOf(relaxed).relative, 5e-2);
  Roundings doubles = of({ElementType::f64}), integers = of({ElementType::i32});
  doubles.relaxedMath = integers.relaxedMath = true;
  EXPECT_LT(toleranceOf(doubles).relative, 1e-13); // f64 is not relaxed
  EXPECT_EQ(toleranceOf(integers).relative, 0);
}

Tensor floats(std::initializer_list<float> values) { return Tensor::of<float>({int64_t(values.size())}, values); }
Tensor doubles(std::initializer_list<double> values) { return Tensor::of<double>({int64_t(values.size())}, values); }

TEST(Difference, judgesInTheTypesOwnRange) {
  EXPECT_EQ(difference(floats({0, 1}), doubles({2e-284, 1})).relative, 0); // underflow
  EXPECT_EQ(difference(floats({0, 1}), doubles({1e-40, 1})).relative, 0);  // flushed by kernels
  EXPECT_EQ(difference(floats({1e-40f, 1}), floats({0, 1})).relative, 0);
  EXPECT_TRUE(difference(floats({INFINITY, 1}), doubles({1e300, 1})).broken.empty()); // overflow
  Tensor halves = doubles({70000, 0.1}).convertedTo(ElementType::f16);
  Difference found = difference(halves, doubles({70000, 0.1}));
  EXPECT_TRUE(found.broken.empty());
  EXPECT_EQ(found.relative, 0); // both rounded
  EXPECT_EQ(found.infinite, 1);
  EXPECT_EQ(difference(floats({0}), doubles({1e-30})).relative, 1);
}

TEST(Difference, nanAndInfinitiesMustBeInTheSamePlaces) {
  Difference same = difference(floats({NAN, 1, INFINITY, 2}), doubles({NAN, 1, INFINITY, 2}));
  EXPECT_TRUE(same.within(Tolerance()));
  EXPECT_NE(same.str().find("NaN in 1 of 4 elements, in both; infinity in 1 of 4 elements, in both"), std::string::npos)
      << same.str();
  for (auto [ours, theirs] : {std::pair{floats({NAN, 1}), doubles({1, NAN})},
                              {floats({NAN}), doubles({INFINITY})},
                              {floats({INFINITY}), doubles({-INFINITY})},
                              {floats({3}), doubles({NAN})}})
    EXPECT_NE(difference(ours, theirs).str().find("not finite on one side"), std::string::npos);
  EXPECT_FALSE(difference(floats({NAN, 1}), doubles({NAN, 2})).within(Tolerance()));
}

TEST(Difference, otherTypesMustBeEqual) {
  auto of = [](int64_t value) { return Tensor::of<int64_t>({1}, {value}); };
  EXPECT_EQ(difference(of(1), of(1)).broken, "");
  EXPECT_EQ(difference(of(INT64_MAX), of(INT64_MAX - 1)).broken, // the same number as doubles
            "1 of 1 elements differ; element 0 is 9223372036854775807, expected 9223372036854775806");
  Difference found = difference(Tensor::of<int32_t>({3}, {3, 2, -9}), Tensor::of<int32_t>({3}, {3, 4, -4}));
  EXPECT_EQ(found.broken, "2 of 3 elements differ; element 2 is -9, expected -4");
  EXPECT_DOUBLE_EQ(found.relative, std::sqrt(29.0 / 41));
  EXPECT_DOUBLE_EQ(found.maximum, 1.25);
  EXPECT_FALSE(found.within({10, 10})); // integers that must be equal: no bound helps
  EXPECT_EQ(difference(of(1), floats({1})).broken, "is i64 1, expected f32 1");
  EXPECT_EQ(difference(floats({1}), floats({1, 2})).broken, "is f32 1, expected f32 2");
}

TEST(Difference, quantisedIntegersAreJudgedByStepsAndShare) {
  auto bytes = [](int8_t first, int8_t second) {
    std::vector<int8_t> values(20, 0);
    values[0] = first;
    values[1] = second;
    return Tensor::of<int8_t>({20}, std::span<const int8_t>(values));
  };
  Roundings roundings;
  roundings.add(ElementType::f32);
  roundings.bytes = true;
  roundings.quantised = 1;
  Tolerance one = toleranceOf(roundings);
  Difference tie = difference(bytes(1, 0), bytes(0, 0)); // relative to zeros it is infinite
  EXPECT_EQ(tie.str(), "1 of 20 elements differ, by 1 at most (element 0 is 1, expected 0)");
  EXPECT_TRUE(tie.within(one));
  EXPECT_TRUE(difference(bytes(1, -1), bytes(0, 0)).within(one));
  EXPECT_FALSE(difference(bytes(2, 0), bytes(0, 0)).within(one)); // two steps
  EXPECT_FALSE(difference(Tensor::of<int8_t>({4}, {1, 2, 3, 5}), Tensor::of<int8_t>({4}, {1, 2, 3, 4})).within(one));
  // After another quantiser, steps are allowed within the relative bounds.
  Difference large = difference(bytes(100, 98), bytes(100, 100));
  EXPECT_FALSE(large.within(one));
  roundings.quantised = 2;
  EXPECT_TRUE(large.within(toleranceOf(roundings)));
  EXPECT_FALSE(difference(bytes(100, 80), bytes(100, 100)).within(toleranceOf(roundings)));
  // A model with only integers has no roundings, so no result may differ.
  EXPECT_FALSE(tie.within(toleranceOf(Roundings())));
  EXPECT_FALSE(difference(Tensor::of<int32_t>({1}, {100}), Tensor::of<int32_t>({1}, {101})).within(one));
}

} // namespace
} // namespace lathe::lab
