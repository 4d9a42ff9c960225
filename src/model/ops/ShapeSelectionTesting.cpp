// Shape functions of operators that select elements, and of extents known only at run time.
#include "ops/ShapeTesting.h"

namespace lathe {
namespace {

using namespace shape_testing;

TEST(Shape, BoundExtents) {
  BindExtentsAttrs a;
  a.symbols = "a b";
  EXPECT_EQ(contents("bind_extents", a, {tensor("i64 2")}), "a b");
  EXPECT_EQ(contents("bind_extents", a, {values("7 N")}), "7 N");
  expectViolation("bind_extents_c1", "bind_extents", a, {tensor("i32 2")});
  expectViolation("bind_extents_c2", "bind_extents", a, {tensor("i64 3")});
  a.most = "6;9";
  expectViolation("bind_extents_c3", "bind_extents", a, {values("7 8")});
}

TEST(Shape, PositionsThatAreNotZero) {
  CountNonZeroAttrs counting;
  counting.chunk = 10;
  EXPECT_EQ(infer("count_non_zero", counting, {tensor("f32 5 5")}), "i64 3");
  expectViolation("count_non_zero_c1", "count_non_zero", counting, {tensor("string 5")});
  counting.chunk = 0;
  expectViolation("count_non_zero_c2", "count_non_zero", counting, {tensor("f32 5")});
  NonZeroPositionsAttrs finding;
  finding.chunk = 10;
  TensorInfo x = tensor("f32 5 5"), counts = tensor("i64 3");
  EXPECT_EQ(infer("non_zero_positions", finding, {x, counts, values("K")}), "i64 2 K");
  expectViolation("non_zero_positions_c1", "non_zero_positions", finding, {tensor("string 5 5"), counts, values("K")});
  expectViolation("non_zero_positions_c2", "non_zero_positions", finding, {x, tensor("i64 4"), values("K")});
  EXPECT_EQ(infer("iota", IotaAttrs(), {values("K")}), "i64 K");
  expectViolation("iota_c1", "iota", IotaAttrs(), {tensor("i32 1")});
  expectViolation("iota_c2", "iota", IotaAttrs(), {values("-1")});
}

TEST(Shape, SelectedElements) {
  TensorInfo selected = tensor("i32 2 3 50"), counts = tensor("i64 2 3");
  EXPECT_EQ(infer("selected_boxes", SelectedBoxesAttrs(), {selected, counts, values("K")}), "i64 K 3");
  expectViolation("selected_boxes_c1", "selected_boxes", SelectedBoxesAttrs(),
                  {selected, tensor("i64 2 4"), values("K")});
  EXPECT_EQ(infer("distinct", DistinctAttrs(), {tensor("f32 9")}), "f32 9");
  expectViolation("distinct_c1", "distinct", DistinctAttrs(), {tensor("f32 3 3")});
}

} // namespace
} // namespace lathe
