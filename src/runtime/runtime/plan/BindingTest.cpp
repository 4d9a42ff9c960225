#include "runtime/plan/Program.h"
#include "runtime/testing/ContextTesting.h"

#include <gmock/gmock.h>

using namespace lathe;
using namespace lathe::runtime;
using namespace lathe::runtime::testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace {

using BindingTest = WithTestReferences;

/// out = (x + y) / 2 over N and M elements, which the plan says must agree.
TestPlan twoSymbols(Relation relation = Relation::equal) {
  TestPlan p;
  uint32_t x = p.input("x", {"N"}), y = p.input("y", {"M"}), t = p.temporary("t", {"N"}), out = p.output("out", {"N"});
  p.add(x, y, t, "N");
  p.half(t, out, "N");
  auto rule = std::make_unique<plan::RuleT>();
  rule->relation = static_cast<uint8_t>(relation);
  rule->left = "M";
  rule->right = "N";
  rule->node = "node 'sum'";
  p.plan().rules.push_back(std::move(rule));
  return p;
}

TEST_F(BindingTest, refusesExtentsThatContradictOneAnother) {
  Context context(twoSymbols().model());
  context.setInput(0, ramp(3));
  context.setInput(1, ramp(0));
  const char *expected = "test.lathe: node 'sum': the inputs' extents do not fit: expected M equal to N, got 0 and 3 "
                         "(M = 0, N = 3)";
  EXPECT_EQ(errorOf([&] { context.run(); }), expected);
  EXPECT_EQ(errorOf([&] { context.outputDims(0); }), expected);
  EXPECT_EQ(errorOf([&] { context.instructionCount(); }), "test.lathe: no extents are bound yet");
  context.setInput(1, ramp(3)); // and goes on
  context.run();
  EXPECT_THAT(floats(context.output(0)), ElementsAre(0, 1, 2));
  context.setInput(0, ramp(2));
  EXPECT_THAT(errorOf([&] { context.run(); }), HasSubstr("got 3 and 2 (M = 3, N = 2)"));
  context.setInput(0, ramp(3));
  context.run();
  EXPECT_THAT(floats(context.output(0)), ElementsAre(0, 1, 2));
}

TEST_F(BindingTest, relationsOfExtents) {
  struct {
    Relation relation;
    int64_t left, right;
    bool holds;
  } cases[] = {
      {Relation::equal, 3, 3, true},       {Relation::equal, 1, 3, false},     {Relation::oneOrEqual, 1, 3, true},
      {Relation::oneOrEqual, 3, 1, false}, {Relation::atLeast, 4, 3, true},    {Relation::atLeast, 2, 3, false},
      {Relation::divides, 3, 6, true},     {Relation::divides, 4, 6, false},   {Relation::divides, 0, 0, true},
      {Relation::divides, 0, 6, false},    {Relation::broadcasts, 1, 3, true}, {Relation::broadcasts, 3, 1, true},
      {Relation::broadcasts, 3, 3, true},  {Relation::broadcasts, 3, 2, false}};
  for (const auto &[relation, left, right, expected] : cases) {
    Context context(twoSymbols(relation).model());
    context.setInput(0, ramp(right));
    context.setInput(1, ramp(left));
    EXPECT_EQ(errorOf([&] { context.outputDims(0); }) == "no error", expected)
        << int(relation) << " of " << left << " and " << right;
  }
}

TEST_F(BindingTest, refusesRulesItCannotCheck) {
  TestPlan unknown = twoSymbols();
  unknown.plan().rules[0]->relation = relationCount;
  EXPECT_EQ(errorOf([&] { unknown.model(); }), "test.lathe: malformed plan: rule of 'node 'sum'': relation 5");
  TestPlan unbound = twoSymbols();
  unbound.plan().rules[0]->left = "K";
  EXPECT_EQ(errorOf([&] { unbound.model(); }),
            "test.lathe: malformed plan: the rule of node 'sum' needs 'K', which nothing binds");
}

/// out = half of the nonnegative elements of x, whose number must equal the extent of y.
TEST_F(BindingTest, checksRulesOverExtentsThatReferencesReturn) {
  TestPlan p;
  uint32_t x = p.input("x", {"N"}), y = p.input("y", {"M"}), t = p.dynamic("t", {"?0"}), out = p.dynamic("out", {"?0"});
  p.plan().outputs = {out};
  p.reference("nonnegative", {int32_t(x)}, {t});
  p.half(t, out, "?0");
  (void)y;
  auto rule = std::make_unique<plan::RuleT>();
  rule->left = "?0";
  rule->right = "M";
  rule->node = "node 'select'";
  p.plan().rules.push_back(std::move(rule));
  Context context(p.model());
  context.setInput(0, ramp(4, -2)); // -2, -1, 0, 1
  context.setInput(1, ramp(2));
  context.run();
  EXPECT_THAT(floats(context.output(0)), ElementsAre(0, 0.5f));
  context.setInput(0, ramp(4, -1));
  EXPECT_THAT(errorOf([&] { context.run(); }), HasSubstr("node 'select': the inputs' extents do not fit: expected ?0 "
                                                         "equal to M, got 3 and 2 (?0 = 3, M = 2)"));
  context.setInput(0, ramp(4, -2));
  context.run();
  EXPECT_THAT(floats(context.output(0)), ElementsAre(0, 0.5f));
}

/// A view with separate extents of a value that turns out to be smaller.
TEST_F(BindingTest, refusesViewsBeyondWhatAReferenceReturns) {
  TestPlan p;
  uint32_t x = p.input("x", {"N"}), t = p.dynamic("t", {"?0"}), v = p.alias("v", {"3"}, t),
           out = p.output("out", {"3"});
  p.reference("nonnegative", {int32_t(x)}, {t});
  p.half(v, out, "3");
  Context context(p.model());
  context.setInput(0, ramp(3));
  context.run();
  EXPECT_THAT(floats(context.output(0)), ElementsAre(0, 0.5f, 1));
  context.setInput(0, ramp(3, -1));
  EXPECT_EQ(errorOf([&] { context.run(); }), "test.lathe: 'v' has 12 bytes, 't' has 8");
}

TEST_F(BindingTest, extentsOfInputsMustAgree) {
  TestPlan p;
  uint32_t a = p.input("a", {"N"}), b = p.input("b", {"N"}), c = p.input("c", {"N*2"});
  p.add(a, b, p.output("out", {"N"}), "N");
  (void)c;
  Context context(p.model("m.lathe"));
  context.setInput(0, ramp(4));
  context.setInput(1, ramp(5));
  context.setInput(2, ramp(8));
  EXPECT_EQ(errorOf([&] { context.run(); }), "m.lathe: input 'b': expected f32 N, got f32 5 ('N' is 4 elsewhere)");
  context.setInput(1, ramp(4));
  context.setInput(2, ramp(9));
  EXPECT_EQ(errorOf([&] { context.run(); }), "m.lathe: input 'c': expected f32 N*2, got f32 9 (N*2 is 8)");
  context.setInput(2, ramp(8));
  context.run();
}

} // namespace
