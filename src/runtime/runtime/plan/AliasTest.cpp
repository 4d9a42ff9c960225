#include "runtime/testing/ContextTesting.h"

#include <gmock/gmock.h>

using namespace lathe;
using namespace lathe::runtime;
using namespace lathe::runtime::testing;
using ::testing::ElementsAre;

namespace {

using AliasTest = WithTestReferences;

TEST_F(AliasTest, aliasesShareBytes) {
  TestPlan p;
  uint32_t x = p.input("x", {"2", "3"});
  uint32_t flat = p.alias("flat", {"6"}, x);
  uint32_t out = p.output("out", {"3", "2"});
  uint32_t flatOut = p.alias("flat_out", {"6"}, out);
  uint32_t t = p.temporary("t", {"6"});
  p.half(flat, t, "6");
  p.add(t, flat, flatOut, "6");
  Context context(p.model());
  context.setInput(0, Tensor::of<float>({2, 3}, {2, 4, 6, 8, 10, 12}));
  context.run();
  EXPECT_THAT(floats(context.output(0)), ElementsAre(3, 6, 9, 12, 15, 18));
}

TEST_F(AliasTest, partsLieInsideAnother) {
  TestPlan
      p; // both halves of `whole`, an output, are made one after the other; `b` of a temporary lies in its second half
  uint32_t x = p.input("x", {"N"});
  uint32_t whole = p.output("whole", {"N*2"});
  uint32_t low = p.alias("low", {"N"}, whole), high = p.alias("high", {"N"}, whole, "N*4");
  uint32_t t = p.temporary("t", {"N*2"});
  uint32_t a = p.alias("a", {"N"}, t), second = p.alias("second", {"N"}, t, "N*4"), b = p.alias("b", {"N"}, second);
  uint32_t sum = p.output("sum", {"N"});
  p.half(x, low, "N");
  p.add(x, low, high, "N");
  p.half(low, a, "N");
  p.half(high, b, "N");
  p.add(a, second, sum, "N");
  p.reference("negate", {int32_t(second)}, {p.output("negated", {"N"})});
  Context context(p.model());
  context.setInput(0, ramp(16));
  context.run();
  std::vector<float> halves = floats(context.output(0)), sums = floats(context.output(1)),
                     negated = floats(context.output(2));
  for (int i = 0; i < 16; ++i) {
    EXPECT_EQ(halves[i], 0.5f * i);
    EXPECT_EQ(halves[16 + i], 1.5f * i);
    EXPECT_EQ(sums[i], i);
    EXPECT_EQ(negated[i], -0.75f * i);
  }
  // The outputs of a kernel are the bytes that no earlier instruction wrote.
  EXPECT_EQ(context.instruction(0).outputs, std::vector<uint32_t>{low});
  EXPECT_EQ(context.instruction(1).outputs, std::vector<uint32_t>{high});
  EXPECT_EQ(context.instruction(3).outputs, std::vector<uint32_t>{b});
  EXPECT_EQ(context.instruction(4).outputs, std::vector<uint32_t>{sum});
  EXPECT_EQ(context.memory().arenaBytes, 128u);
  context.setInput(0, ramp(12)); // N*4 is not a multiple of 64
  EXPECT_EQ(errorOf([&] { context.run(); }),
            "test.lathe: malformed plan: 'high' has 48 bytes and lies at byte 48 of 96");
}

TEST_F(AliasTest, partsBeyondTheWholeAreRefusedWhenExtentsAreBound) {
  TestPlan p;
  uint32_t x = p.input("x", {"N"}), out = p.output("out", {"N"});
  p.half(x, p.alias("part", {"N"}, p.temporary("t", {"N"}), "N*4"), "N");
  p.half(x, out, "N");
  Context context(p.model());
  context.setInput(0, ramp(16));
  EXPECT_EQ(errorOf([&] { context.run(); }),
            "test.lathe: malformed plan: 'part' has 64 bytes and lies at byte 64 of 64");
}

TEST_F(AliasTest, partsOfLateValues) { // extents that a reference's result gives
  TestPlan p;
  uint32_t x = p.input("x", {"32"});
  uint32_t kept = p.dynamic("kept", {"?0"});
  uint32_t late = p.temporary("late", {"?0*2"});
  uint32_t low = p.alias("low", {"?0"}, late), high = p.alias("high", {"?0"}, late, "?0*4");
  uint32_t out = p.output("out", {"?0*2"}), negated = p.output("negated", {"?0"});
  p.reference("nonnegative", {int32_t(x)}, {kept});
  p.half(kept, low, "?0");
  p.half(low, high, "?0");
  p.reference("negate", {int32_t(high)}, {negated});
  p.half(late, out, "?0*2");
  Context context(p.model());
  context.setInput(0, ramp(32, -16));
  context.run();
  std::vector<float> got = floats(context.output(0)), minus = floats(context.output(1));
  ASSERT_EQ(got.size(), 32u);
  for (int i = 0; i < 16; ++i) {
    EXPECT_EQ(got[i], 0.25f * i);
    EXPECT_EQ(got[16 + i], 0.125f * i);
    EXPECT_EQ(minus[i], -0.25f * i);
  }
  context.setInput(0, ramp(32, -15)); // 17 floats of `x` are kept: not a multiple of 64 bytes
  EXPECT_EQ(errorOf([&] { context.run(); }),
            "test.lathe: malformed plan: 'high' has 68 bytes and lies at byte 68 of 136");
}

TEST_F(AliasTest, outputsThatAreNotComputedIntoAreCopied) {
  TestPlan p; // outputs: an input, a constant, a temporary and a view of it
  uint32_t x = p.input("x", {"4"});
  uint32_t c = p.constant<float>("c", {"2"}, {7, 8});
  uint32_t t = p.temporary("t", {"4"});
  uint32_t v = p.alias("v", {"2", "2"}, t);
  p.half(x, t, "4");
  p.plan().outputs = {x, c, t, v};
  Context context(p.model());
  float mine[4];
  context.setInput(0, ramp(4));
  context.setOutput(2, Tensor::borrow(ElementType::f32, {4}, mine));
  context.run();
  EXPECT_THAT(floats(context.output(0)), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(floats(context.output(1)), ElementsAre(7, 8));
  EXPECT_THAT(mine, ElementsAre(0, 0.5f, 1, 1.5f));
  EXPECT_THAT(floats(context.output(3)), ElementsAre(0, 0.5f, 1, 1.5f));
  EXPECT_EQ(context.output(3).tensor().rank(), 2u);
}

} // namespace
