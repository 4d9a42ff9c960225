// Shape functions of the integer arithmetic of quantised networks.
#include "ops/ShapeTesting.h"

namespace lathe {
namespace {

using namespace shape_testing;

TEST(Shape, Requantize) {
  RequantizeAttrs a;
  a.to = ElementType::u8;
  TensorInfo x = tensor("i32 N 8 7 7"), channels = tensor("i32 8 1 1"), one = tensor("i32"), far = one;
  EXPECT_EQ(infer("requantize", a, {x, channels, one}), "u8 N 8 7 7");
  EXPECT_EQ(infer("requantize", with(a, [](auto &a) { a.rounding = "reduced", a.to = ElementType::i16; }),
                  {tensor("i64 N 8"), one, tensor("i32 N 1")}),
            "i16 N 8");
  expectViolation("requantize_c1", "requantize", a, {tensor("i64 N 8"), one, one});
  expectViolation("requantize_c1", "requantize", with(a, [](auto &a) { a.rounding = "reduced"; }), {x, one, one});
  expectViolation("requantize_c2", "requantize", a, {x, tensor("i64"), one});
  expectViolation("requantize_c2", "requantize", a, {x, one, tensor("i32 5 1 1")});
  expectViolation("requantize_c2", "requantize", a, {tensor("i32 8"), tensor("i32 1 8"), one});
  expectViolation("requantize_c3", "requantize", with(a, [](auto &a) { a.to = ElementType::f32; }), {x, one, one});
  expectViolation("requantize_c4", "requantize", with(a, [](auto &a) { a.zero_point = -1; }), {x, one, one});
  expectViolation("requantize_c4", "requantize", with(a, [](auto &a) { a.to = ElementType::i32, a.zero_point = 1; }),
                  {x, one, one});
  expectViolation("requantize_c5", "requantize", with(a, [](auto &a) { a.min = 5, a.max = 4; }), {x, one, one});
  expectViolation("requantize_c5", "requantize", with(a, [](auto &a) { a.max = -1; }), {x, one, one});
  expectViolation("requantize_c6", "requantize", with(a, [](auto &a) { a.rounding = "up"; }), {x, one, one});
  far.contents = std::vector<Dim>{31};
  expectViolation("requantize_c7", "requantize", a, {x, one, far});
}

TEST(Shape, Lookup) {
  LookupAttrs a;
  a.values.assign(256, 200);
  a.to = ElementType::u8;
  EXPECT_EQ(infer("lookup", a, {tensor("i8 N 3")}), "u8 N 3");
  expectViolation("lookup_c1", "lookup", a, {tensor("i32 3")});
  expectViolation("lookup_c2", "lookup", a, {tensor("i16 3")});
  expectViolation("lookup_c3", "lookup", with(a, [](auto &a) { a.to = ElementType::i8; }), {tensor("i8 3")});
  expectViolation("lookup_c3", "lookup", with(a, [](auto &a) { a.values.assign(513, 0); }), {tensor("i16 3")});
}

TEST(Shape, IntegersAsBits) {
  EXPECT_EQ(infer("count_leading_zeros", CountLeadingZerosAttrs(), {tensor("i32 N 3")}), "i32 N 3");
  expectViolation("integer_unary_c1", "fixed_reciprocal", FixedReciprocalAttrs(), {tensor("i64 3")});
  BitCastAttrs a;
  a.to = ElementType::u16;
  EXPECT_EQ(infer("bit_cast", a, {tensor("bf16 N 3")}), "u16 N 3");
  expectViolation("bit_cast_c1", "bit_cast", BitCastAttrs(), {tensor("f32 3")});
  expectViolation("bit_cast_c2", "bit_cast", a, {tensor("f32 3")});
}

} // namespace
} // namespace lathe
