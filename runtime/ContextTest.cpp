#include "runtime/Context.h"
#include "runtime/Cpu.h"
#include "runtime/plan/Program.h"
#include "runtime/testing/TestPlan.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <thread>

using namespace lathe;
using namespace lathe::runtime;
using namespace lathe::runtime::testing;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace {

std::vector<float> floats(const Value &value) {
  const Tensor &tensor = value.tensor();
  return {tensor.as<float>(), tensor.as<float>() + tensor.elements()};
}
Tensor ramp(int64_t count, float first = 0) {
  Tensor tensor(ElementType::f32, {count});
  for (int64_t i = 0; i < count; ++i)
    tensor.as<float>()[i] = first + static_cast<float>(i);
  return tensor;
}
template <class F> std::string errorOf(F f) {
  try {
    f();
  } catch (const Error &error) {
    return error.what();
  }
  return "no error";
}

class ContextTest : public ::testing::Test {
protected:
  void SetUp() override { useTestReferences(); }
};

/// out = (x + c) + (x + c) / 2, N elements.
TestPlan chain() {
  TestPlan p;
  uint32_t x = p.input("x", {"N"});
  uint32_t c = p.constant<float>("c", {"64"}, std::vector<float>(64, 1.0f));
  uint32_t t = p.temporary("t", {"N"}), h = p.temporary("h", {"N"}), out = p.output("out", {"N"});
  auto range = std::make_unique<plan::RangeT>();
  range->symbol = "N";
  range->max = 64;
  p.plan().ranges.push_back(std::move(range));
  p.add(x, c, t, "N");
  p.half(t, h, "N");
  p.add(t, h, out, "N");
  return p;
}

TEST_F(ContextTest, runsKernelsOnBoundExtents) {
  Context context(chain().model());
  for (int64_t n : {3, 64, 1, 17}) {
    context.setInput(0, ramp(n));
    EXPECT_EQ(context.outputDims(0), std::vector<int64_t>{n});
    context.run();
    std::vector<float> out = floats(context.output(0));
    ASSERT_EQ(out.size(), size_t(n));
    for (int64_t i = 0; i < n; ++i)
      EXPECT_EQ(out[i], 1.5f * float(i + 1));
  }
  EXPECT_GT(context.memory().arenaBytes, 0u);
  EXPECT_EQ(context.memory().constantBytes, 256u);
}

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

TEST_F(ContextTest, refusesExtentsThatContradictOneAnother) {
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

TEST_F(ContextTest, relationsOfExtents) {
  struct {
    Relation relation;
    int64_t left, right;
    bool holds;
  } cases[] = {{Relation::equal, 3, 3, true},      {Relation::equal, 1, 3, false},
               {Relation::oneOrEqual, 1, 3, true}, {Relation::oneOrEqual, 3, 1, false},
               {Relation::atLeast, 4, 3, true},    {Relation::atLeast, 2, 3, false},
               {Relation::divides, 3, 6, true},    {Relation::divides, 4, 6, false},
               {Relation::divides, 0, 0, true},    {Relation::divides, 0, 6, false}};
  for (const auto &[relation, left, right, expected] : cases) {
    Context context(twoSymbols(relation).model());
    context.setInput(0, ramp(right));
    context.setInput(1, ramp(left));
    EXPECT_EQ(errorOf([&] { context.outputDims(0); }) == "no error", expected)
        << int(relation) << " of " << left << " and " << right;
  }
}

TEST_F(ContextTest, checksElementsThatKernelsTakeForGranted) {
  TestPlan p;
  uint32_t lengths = p.input("lengths", {"2"}, ElementType::i32), x = p.input("x", {"T"}), out = p.output("out", {"T"});
  p.plan().outputs = {out};
  p.relay(
      [](void *const *buffers, const int64_t *, int64_t, int64_t, void *) { static_cast<float *>(buffers[2])[0] = 7; },
      {lengths, x, out}, "1", "1");
  auto range = std::make_unique<plan::ElementRangeT>();
  range->buffer = 1; // after the address of the kernel
  range->max = "T";
  range->operand = "lengths";
  auto &call = *p.plan().blocks[0]->instructions[0]->operation.AsCallKernel();
  call.element_ranges.push_back(std::move(range));
  Context context(p.model());
  auto run = [&](int32_t first, int32_t second) {
    int32_t values[] = {first, second};
    context.setInput(0, Tensor::borrow(ElementType::i32, {2}, values));
    context.setInput(1, ramp(3));
    return errorOf([&] { context.run(); });
  };
  EXPECT_EQ(run(0, 3), "no error");
  EXPECT_THAT(run(0, 4), HasSubstr("lengths[1] is 4, expected a number from 0 to 3"));
  EXPECT_THAT(run(-1, 3), HasSubstr("lengths[0] is -1, expected a number from 0 to 3"));
  call.element_ranges[0]->buffer = 2;
  EXPECT_THAT(errorOf([&] { p.model(); }), HasSubstr("has a range for buffer 2, expected one of type i32 among 4"));
}

TEST_F(ContextTest, refusesRulesItCannotCheck) {
  TestPlan unknown = twoSymbols();
  unknown.plan().rules[0]->relation = relationCount;
  EXPECT_EQ(errorOf([&] { unknown.model(); }), "test.lathe: malformed plan: rule of 'node 'sum'': relation 4");
  TestPlan unbound = twoSymbols();
  unbound.plan().rules[0]->left = "K";
  EXPECT_EQ(errorOf([&] { unbound.model(); }),
            "test.lathe: malformed plan: the rule of node 'sum' needs 'K', which nothing binds");
}

/// out = half of the nonnegative elements of x, whose number must equal the extent of y.
TEST_F(ContextTest, checksRulesOverExtentsThatReferencesReturn) {
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

/// A view with extents of its own of a value that turns out to be smaller.
TEST_F(ContextTest, refusesViewsBeyondWhatAReferenceReturns) {
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

TEST_F(ContextTest, sameResultsForAnyNumberOfThreads) {
  TestPlan p;
  uint32_t x = p.input("x", {"N", "37"});
  uint32_t out = p.output("out", {"N"});
  p.rowsum(x, out, "N", "37");
  auto model = p.model();
  Tensor data(ElementType::f32, {101, 37});
  for (int64_t i = 0; i < data.elements(); ++i)
    data.as<float>()[i] = std::sin(float(i)) * 1e3f;
  std::vector<float> expected;
  for (int threads : {1, 2, 3, 7, 64}) {
    Context context(model, {.threads = threads});
    std::vector<float> got = floats(context.run(std::vector<Value>{data})[0]);
    if (expected.empty())
      expected = got;
    EXPECT_EQ(got, expected) << threads << " threads";
  }
}

TEST_F(ContextTest, splitsStatically) {
  TestPlan p;
  uint32_t out = p.output("out", {"10"}, ElementType::i64);
  p.units(out, "10");
  auto model = p.model();
  for (int repeat = 0; repeat < 50; ++repeat) {
    Context context(model, {.threads = 3});
    context.run();
    const int64_t *got = context.output(0).tensor().as<int64_t>();
    EXPECT_THAT(std::vector<int64_t>(got, got + 10), ElementsAre(0, 0, 0, 3, 3, 3, 6, 6, 6, 6));
  }
}

TEST_F(ContextTest, scratchLiesWhereNothingIsAlive) {
  for (bool kept : {false, true}) { // whether `big` is read again behind the kernel with scratch
    TestPlan p;
    uint32_t x = p.input("x", {"N", "64"}), big = p.temporary("big", {"N", "64"}), sums = p.temporary("sums", {"N"});
    p.half(x, big, "N*64");
    if (!kept)
      p.half(big, p.output("quarter", {"N", "64"}), "N*64");
    p.rowsum(x, sums, "N", "64");
    p.half(sums, p.output("halves", {"N"}), "N");
    if (kept)
      p.half(big, p.output("quarter", {"N", "64"}), "N*64");
    auto model = p.model();
    for (uint64_t threads : {1, 2, 3, 8}) {
      Context context(model, {.threads = int(threads)});
      constexpr int64_t rows = 1024;
      Tensor data = ramp(rows * 64);
      context.setInput(0, Tensor::borrow(ElementType::f32, {rows, 64}, data.data()));
      context.run();
      std::vector<float> halves = floats(context.output(kept ? 0 : 1)), quarter = floats(context.output(kept ? 1 : 0));
      for (int64_t i : {int64_t(0), rows / 2, rows - 1}) {
        float sum = 0;
        for (int64_t c = 0; c < 64; ++c)
          sum += float(i * 64 + c);
        EXPECT_EQ(halves[i], sum * 0.5f);
        EXPECT_EQ(quarter[i * 64], float(i * 64) * 0.25f);
      }
      constexpr uint64_t bigBytes = rows * 64 * 4, sumBytes = rows * 4;
      MemoryUse use = context.memory();
      EXPECT_EQ(use.scratchBytes, threads * 4096);
      EXPECT_EQ(use.liveBytes, kept ? bigBytes + sumBytes : bigBytes);
      EXPECT_EQ(use.arenaBytes, kept ? bigBytes + sumBytes + use.scratchBytes : bigBytes) << threads << " threads";
    }
  }
}

/// What `stages` stages of TestPlan::waves over `width` units leave.
static std::vector<int64_t> wavesAfter(int stages, size_t width) {
  std::vector<int64_t> numbers(width);
  std::iota(numbers.begin(), numbers.end(), 0);
  for (int stage = 1; stage < stages; ++stage) {
    std::vector<int64_t> from = numbers;
    for (size_t i = 0; i < width; ++i)
      numbers[i] = (from[(i + 1) % width] * 3 + from[(i + width - 1) % width]) % 10007;
  }
  return numbers;
}

TEST_F(ContextTest, stagesWaitForEachOtherAndShareScratch) {
  for (const char *width : {"1", "2", "13"}) {
    TestPlan p;
    uint32_t out = p.output("out", {width}, ElementType::i64);
    p.waves(out, width, "100");
    auto model = p.model();
    std::vector<int64_t> expected = wavesAfter(100, std::stoul(width));
    for (int threads : {1, 2, 3, 8}) {
      Context context(model, {.threads = threads});
      context.run();
      const int64_t *got = context.output(0).tensor().as<int64_t>();
      EXPECT_EQ(std::vector<int64_t>(got, got + expected.size()), expected)
          << width << " units, " << threads << " threads";
    }
  }
  TestPlan odd;
  odd.waves(odd.output("out", {"3"}, ElementType::i64), "3", "4");
  odd.plan().blocks[0]->instructions[0]->operation.AsCallKernel()->units = "13";
  Context context(odd.model());
  try {
    context.run();
    ADD_FAILURE();
  } catch (const Error &error) {
    EXPECT_EQ(std::string(error.what()), "test.lathe: malformed plan: 13 units in 4 stages");
  }
}

TEST_F(ContextTest, readsConstantsInsideTheCode) {
  TestPlan p;
  p.table(p.output("out", {"6"}), "6");
  Context context(p.model());
  context.run();
  EXPECT_THAT(floats(context.output(0)), ElementsAre(1.5f, 2.5f, 3.5f, 4.5f, 1.5f, 2.5f));
}

TEST_F(ContextTest, flushesDenormalsInsideKernelsOnly) {
  TestPlan p;
  uint32_t x = p.input("x", {"8"});
  p.half(x, p.output("out", {"8"}), "8");
  for (int threads : {1, 2}) {
    Context context(p.model(), {.threads = threads});
    volatile float tiny = std::numeric_limits<float>::min();
    Tensor data(ElementType::f32, {8});
    std::fill_n(data.as<float>(), 8, float(tiny));
    context.setInput(0, data);
    context.run();
    EXPECT_THAT(floats(context.output(0)), Each(0.0f));
    EXPECT_NE(tiny * 0.5f, 0.0f); // the caller's mode is back
  }
}

TEST_F(ContextTest, bindsCallersBuffersWithoutCopies) {
  Context context(chain().model());
  std::vector<float> in(17 + 1), out(17, -1);
  for (int i = 0; i < 18; ++i)
    in[i] = float(i);
  // Aligned to its elements, not to 64 bytes: in place.
  context.setInput(0, Tensor::borrow(ElementType::f32, {17}, in.data() + 1));
  context.setOutput(0, Tensor::borrow(ElementType::f32, {17}, out.data()));
  context.run();
  EXPECT_EQ(out[16], 1.5f * 18);
  EXPECT_EQ(context.output(0).tensor().data(), out.data());
  EXPECT_EQ(context.memory().copiedBytes, 0u);
  EXPECT_EQ(context.memory().outputBytes, 0u);
  in[1] = 100; // a second run sees new contents
  context.run();
  EXPECT_EQ(out[0], 1.5f * 101);
  // Not aligned to its elements: copied.
  std::vector<char> raw(17 * 4 + 1);
  context.setInput(0, Tensor::borrow(ElementType::f32, {17}, raw.data() + 1));
  context.run();
  EXPECT_EQ(out[0], 1.5f);
  EXPECT_EQ(context.memory().copiedBytes, 68u);
}

TEST_F(ContextTest, saysWhatIsWrongWithInputs) {
  Context context(chain().model("m.lathe"));
  EXPECT_EQ(errorOf([&] { context.run(); }), "m.lathe: input 'x' is not set");
  EXPECT_EQ(errorOf([&] { context.setInput(0, Tensor(ElementType::f64, {4})); }),
            "m.lathe: input 'x': expected f32 N, got f64 4");
  EXPECT_EQ(errorOf([&] { context.setInput(0, Tensor(ElementType::f32, {4, 4})); }),
            "m.lathe: input 'x': expected f32 N, got f32 4x4");
  EXPECT_EQ(errorOf([&] { context.setInput(3, Tensor(ElementType::f32, {4})); }), "m.lathe: input 3 of 1");
  EXPECT_EQ(errorOf([&] { context.setInput(0, Sequence{}); }), "m.lathe: input 'x': expected f32 N, got a sequence");
  context.setInput(0, ramp(65));
  EXPECT_EQ(errorOf([&] { context.run(); }), "m.lathe: 'N' is 65, compiled for 1 to 64");
  context.setInput(0, ramp(4));
  context.setOutput(0, Tensor(ElementType::f32, {5}));
  EXPECT_EQ(errorOf([&] { context.run(); }), "m.lathe: output 'out': expected f32 4, got f32 5");
  EXPECT_THAT(errorOf([&] { context.output(0); }), HasSubstr("before a run"));
  context.setOutput(0, {});
  context.run(); // all is well again
  EXPECT_EQ(floats(context.output(0))[3], 6.0f);
}

TEST_F(ContextTest, extentsOfInputsMustAgree) {
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

TEST_F(ContextTest, aliasesShareBytes) {
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

TEST_F(ContextTest, partsLieInsideAnother) {
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
  // What a kernel writes are the bytes nobody touched before.
  EXPECT_EQ(context.instruction(0).outputs, std::vector<uint32_t>{low});
  EXPECT_EQ(context.instruction(1).outputs, std::vector<uint32_t>{high});
  EXPECT_EQ(context.instruction(3).outputs, std::vector<uint32_t>{b});
  EXPECT_EQ(context.instruction(4).outputs, std::vector<uint32_t>{sum});
  EXPECT_EQ(context.memory().arenaBytes, 128u);
  context.setInput(0, ramp(12)); // N*4 is no multiple of 64
  EXPECT_EQ(errorOf([&] { context.run(); }),
            "test.lathe: malformed plan: 'high' has 48 bytes and lies at byte 48 of 96");
}

TEST_F(ContextTest, partsBeyondTheWholeAreRefusedWhenExtentsAreBound) {
  TestPlan p;
  uint32_t x = p.input("x", {"N"}), out = p.output("out", {"N"});
  p.half(x, p.alias("part", {"N"}, p.temporary("t", {"N"}), "N*4"), "N");
  p.half(x, out, "N");
  Context context(p.model());
  context.setInput(0, ramp(16));
  EXPECT_EQ(errorOf([&] { context.run(); }),
            "test.lathe: malformed plan: 'part' has 64 bytes and lies at byte 64 of 64");
}

TEST_F(ContextTest, partsOfLateValues) { // extents that a reference's result gives
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
  context.setInput(0, ramp(32, -15)); // 17 of them: no multiple of 64 bytes
  EXPECT_EQ(errorOf([&] { context.run(); }),
            "test.lathe: malformed plan: 'high' has 68 bytes and lies at byte 68 of 136");
}

TEST_F(ContextTest, outputsThatAreNotComputedIntoAreCopied) {
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

TEST_F(ContextTest, specialisedPlansComeFirst) {
  TestPlan p;
  auto build = [&](const std::string &n, bool twice) {
    uint32_t x = p.input("x", {n}), out = p.output("out", {n});
    if (twice)
      p.add(x, x, out, n);
    else
      p.half(x, out, n);
  };
  build("8", true);
  auto kernels = std::move(TestPlan().program.plans[0]);
  p.program.plans.push_back(std::move(kernels));
  build("N", false);
  Context context(p.model());
  context.setInput(0, ramp(8));
  context.run();
  EXPECT_EQ(floats(context.output(0))[7], 14.0f);
  context.setInput(0, ramp(9));
  context.run();
  EXPECT_EQ(floats(context.output(0))[7], 3.5f);
}

TEST_F(ContextTest, callsReferences) {
  TestPlan p;
  uint32_t x = p.input("x", {"N"}), t = p.temporary("t", {"N"}), out = p.output("out", {"N"});
  p.reference("negate", {int32_t(x)}, {t});
  p.half(t, out, "N");
  for (int threads : {1, 3}) {
    Context context(p.model(), {.threads = threads});
    context.setInput(0, ramp(5));
    context.run();
    EXPECT_THAT(floats(context.output(0)), ElementsAre(0, -0.5f, -1, -1.5f, -2));
  }
}

TEST_F(ContextTest, referencesThatFailNameTheNode) {
  TestPlan p;
  uint32_t x = p.input("x", {"N"}), out = p.output("out", {"N"});
  p.reference("fail", {int32_t(x)}, {out});
  for (int threads : {1, 4}) {
    Context context(p.model("m.lathe"), {.threads = threads});
    context.setInput(0, ramp(5));
    EXPECT_EQ(errorOf([&] { context.run(); }), "m.lathe: 'node_fail' (fail): broken on purpose");
  }
  TestPlan q;
  uint32_t y = q.input("y", {"N"});
  q.reference("no_such_thing", {int32_t(y)}, {q.output("out", {"N"})});
  EXPECT_EQ(errorOf([&] { q.model("m.lathe"); }),
            "m.lathe: operator 'no_such_thing': unknown operator 'no_such_thing'");
}

TEST_F(ContextTest, extentsThatDependOnData) {
  TestPlan p;
  uint32_t x = p.input("x", {"N"});
  uint32_t kept = p.dynamic("kept", {"?0"});
  uint32_t late = p.temporary("late", {"?0"}); // written by a kernel once ?0 is known
  uint32_t out = p.output("out", {"?0"});
  p.reference("nonnegative", {int32_t(x)}, {kept});
  p.half(kept, late, "?0");
  p.add(kept, late, out, "?0");
  p.instruction(plan::ReleaseT{{}, kept});
  Context context(p.model());
  context.setInput(0, Tensor::of<float>({5}, {1, -1, 2, -2, 3}));
  EXPECT_THAT(errorOf([&] { context.outputDims(0); }), HasSubstr("depends on data"));
  context.run();
  EXPECT_THAT(floats(context.output(0)), ElementsAre(1.5f, 3, 4.5f));
  context.setInput(0, Tensor::of<float>({5}, {1, -1, -2, -2, -3}));
  context.run();
  EXPECT_THAT(floats(context.output(0)), ElementsAre(1.5f));
  context.setInput(0, Tensor::of<float>({4}, {1, 2, 4, 8}));
  float mine[4];
  context.setOutput(0, Tensor::borrow(ElementType::f32, {4}, mine));
  context.run();
  EXPECT_THAT(mine, ElementsAre(1.5f, 3, 6, 12));
}

TEST_F(ContextTest, shapesComputedFromValues) {
  TestPlan p;
  uint32_t shape = p.input("shape", {"1"}, ElementType::i64);
  uint32_t out = p.output("out", {"M"});
  plan::ComputeShapeT compute;
  compute.from = shape;
  compute.symbols = {"M"};
  p.instruction(compute);
  p.table(out, "M");
  Context context(p.model("m.lathe"));
  for (int64_t m : {3, 0, 5}) {
    context.setInput(0, Tensor::of<int64_t>({1}, {m}));
    context.run();
    EXPECT_EQ(context.output(0).tensor().dims(), std::vector<int64_t>{m});
  }
  EXPECT_EQ(floats(context.output(0))[4], 1.5f);
  context.setInput(0, Tensor::of<int64_t>({1}, {-3}));
  EXPECT_NE(errorOf([&] { context.run(); }), "no error");
  context.setInput(0, Tensor::of<int64_t>({1}, {int64_t(1) << 61}));
  EXPECT_NE(errorOf([&] { context.run(); }), "no error");
}

TEST_F(ContextTest, branches) {
  TestPlan p;
  uint32_t condition = p.input("condition", {}, ElementType::boolean);
  uint32_t x = p.input("x", {"N"}), out = p.output("out", {"N"});
  plan::IfT branch;
  branch.condition = condition;
  branch.then_block = 1;
  branch.else_block = 2;
  p.instruction(branch);
  p.add(x, x, out, "N", 1);
  p.half(x, out, "N", 2);
  Context context(p.model());
  context.setInput(1, ramp(3));
  for (bool taken : {true, false, true}) {
    context.setInput(0, Tensor::of<bool>({}, {taken}));
    context.run();
    EXPECT_EQ(floats(context.output(0))[2], taken ? 4.0f : 1.0f);
  }
}

/// Runs x -> x + x `trips` times while the counter is below `limit`; scans every x; also appends to a growing vector.
TestPlan loopPlan() {
  TestPlan p;
  uint32_t trips = p.input("trips", {}, ElementType::i64), limit = p.input("limit", {}, ElementType::i64);
  uint32_t x = p.input("x", {"2"});
  uint32_t iteration = p.temporary("i", {}, ElementType::i64), go = p.temporary("go", {}, ElementType::boolean);
  uint32_t carried = p.temporary("carried", {"2"}), twice = p.temporary("twice", {"2"});
  uint32_t grown = p.dynamic("grown", {"?g"}), longer = p.dynamic("longer", {"?h"});
  uint32_t next = p.temporary("next", {}, ElementType::i64), more = p.temporary("more", {}, ElementType::boolean);
  uint32_t last = p.output("last", {"2"}), all = p.output("all", {"?l"}), scan = p.output("scan", {"?s", "2"});
  plan::LoopT loop;
  loop.trip_count = int32_t(trips);
  loop.body = 1;
  loop.body_inputs = {iteration, go, carried, grown};
  loop.body_outputs = {more, twice, longer, twice};
  loop.initial = {x, x};
  loop.results = {last, all, scan};
  p.instruction(loop);
  p.add(carried, carried, twice, "2", 1);
  p.reference("append", {int32_t(grown), int32_t(twice)}, {longer}, 1);
  p.reference("increment", {int32_t(iteration)}, {next}, 1);
  p.reference("less", {int32_t(next), int32_t(limit)}, {more}, 1);
  return p;
}

TEST_F(ContextTest, loops) {
  Context context(loopPlan().model());
  auto run = [&](int64_t trips, int64_t limit) {
    context.setInput(0, Tensor::of<int64_t>({}, {trips}));
    context.setInput(1, Tensor::of<int64_t>({}, {limit}));
    context.setInput(2, Tensor::of<float>({2}, {1, 3}));
    context.run();
  };
  run(2, 100);
  EXPECT_THAT(floats(context.output(0)), ElementsAre(4, 12));
  EXPECT_THAT(floats(context.output(1)), ElementsAre(1, 3, 2, 6, 4, 12));
  EXPECT_THAT(floats(context.output(2)), ElementsAre(2, 6, 4, 12));
  EXPECT_EQ(context.output(2).tensor().dims(), (std::vector<int64_t>{2, 2}));
  run(100, 3); // the condition ends it
  EXPECT_THAT(floats(context.output(0)), ElementsAre(8, 24));
  run(0, 3); // no iteration
  EXPECT_THAT(floats(context.output(0)), ElementsAre(1, 3));
  EXPECT_THAT(floats(context.output(1)), ElementsAre(1, 3));
  EXPECT_EQ(context.output(2).tensor().dims(), (std::vector<int64_t>{0, 2}));
}

TEST_F(ContextTest, strings) {
  TestPlan p;
  uint64_t count;
  std::string words[] = {"a", "bc", ""};
  uint64_t offset = p.constants.addStrings(words, count);
  uint32_t c = p.constant("words", {"3"}, ElementType::string, {});
  p.plan().values[c]->offset = offset;
  p.plan().values[c]->bytes = std::to_string(count);
  uint32_t t = p.temporary("t", {"3"}, ElementType::string);
  p.reference("upper", {int32_t(c)}, {t});
  p.reference("upper", {int32_t(t)}, {p.output("out", {"3"}, ElementType::string)});
  Context context(p.model());
  context.run();
  EXPECT_THAT(context.output(0).tensor().strings(), ElementsAre("A", "BC", ""));
  Tensor mine(ElementType::string, {3});
  context.setOutput(0, mine);
  context.run();
  EXPECT_THAT(mine.strings(), ElementsAre("A", "BC", ""));
}

TEST_F(ContextTest, profilesAndStops) {
  Context context(chain().model());
  context.setInput(0, ramp(40));
  context.run({.profile = true});
  const RunProfile &profile = context.profile();
  ASSERT_EQ(profile.times.size(), 3u);
  uint64_t sum = profile.overhead;
  for (const InstructionTime &time : profile.times)
    sum += time.end - time.begin;
  EXPECT_EQ(sum, profile.end - profile.begin);
  ASSERT_EQ(context.instructionCount(), 3u);
  InstructionInfo info = context.instruction(1);
  EXPECT_STREQ(info.kind, "kernel");
  EXPECT_EQ(info.name, "half");
  EXPECT_EQ(info.flops, 100);
  EXPECT_THAT(info.nodes, ElementsAre("node_half"));
  ASSERT_THAT(info.outputs, ElementsAre(3u));

  context.run({.until = 1});
  EXPECT_THAT(floats(context.readValue(info.outputs[0]))[4], 2.5f);
  std::vector<uint32_t> seen;
  RunOptions options;
  options.observe = [&](uint32_t instruction) {
    seen.push_back(instruction);
    EXPECT_EQ(floats(context.readValue(context.instruction(instruction).outputs[0])).size(), 40u);
  };
  context.run(options);
  EXPECT_THAT(seen, ElementsAre(0, 1, 2));
}

/// out = (x / 2 + x / 4) + x, late = (x / 2 + x / 4) / 2; N images of 40960 elements, all but the last kernel by
/// images. With `stages`, 100 stages of 13 N units, called by images as well, stand in the middle of them.
TestPlan batches(bool stages = false) {
  TestPlan p;
  const std::vector<std::string> image = {"N", "40960"};
  uint32_t x = p.input("x", image), half = p.temporary("half", image), quarter = p.temporary("quarter", image);
  uint32_t sum = p.temporary("sum", image), out = p.output("out", image), late = p.output("late", image);
  p.half(x, half, "N*40960");
  p.half(half, quarter, "N*40960");
  if (stages)
    p.waves(p.output("waves", {"13*N"}, ElementType::i64), "13*N", "100");
  p.add(half, quarter, sum, "N*40960");
  p.add(sum, x, out, "N*40960");
  for (auto &instruction : p.plan().blocks[0]->instructions)
    instruction->operation.AsCallKernel()->images = "N";
  p.half(sum, late, "N*40960");
  return p;
}

TEST_F(ContextTest, callsInStagesRunWholeBesideImages) {
  auto model = batches(true).model();
  for (int threads : {1, 2, 3, 8}) {
    constexpr int64_t images = 16;
    Context context(model, {.threads = threads});
    Tensor x = ramp(images * 40960);
    context.setInput(0, Tensor::borrow(ElementType::f32, {images, 40960}, x.data()));
    context.run();
    const int64_t *got = context.output(2).tensor().as<int64_t>();
    EXPECT_EQ(std::vector<int64_t>(got, got + 13 * images), wavesAfter(100, 13 * images)) << threads << " threads";
    int64_t last = images * 40960 - 1;
    EXPECT_EQ(floats(context.output(0))[static_cast<size_t>(last)],
              float(last) * 0.5f + float(last) * 0.25f + float(last));
  }
}

TEST_F(ContextTest, batchesPassImageByImage) {
  auto model = batches().model();
  for (int threads : {1, 2, 3, 8})
    for (int64_t images : {1, 2, 7, 8, 16}) {
      Context context(model, {.threads = threads});
      Tensor x = ramp(images * 40960);
      context.setInput(0, Tensor::borrow(ElementType::f32, {images, 40960}, x.data()));
      context.run();
      std::vector<float> out = floats(context.output(0)), late = floats(context.output(1));
      uint64_t arena = context.memory().arenaBytes;
      for (int64_t i : {int64_t(0), images * 40960 / 2, images * 40960 - 1}) {
        EXPECT_EQ(out[i], float(i) * 0.5f + float(i) * 0.25f + float(i)) << threads << " threads, image " << i / 40960;
        EXPECT_EQ(late[i], (float(i) * 0.5f + float(i) * 0.25f) * 0.5f);
      }
      // Observed, every value is there after every instruction; the results are the same.
      int seen = 0;
      RunOptions observed;
      observed.observe = [&](uint32_t instruction) {
        if (instruction == 1) {
          EXPECT_EQ(floats(context.readValue(2)).back(), float(images * 40960 - 1) * 0.25f);
        }
        ++seen;
      };
      context.run(observed);
      EXPECT_EQ(seen, 5);
      EXPECT_EQ(floats(context.output(0)), out);
      EXPECT_EQ(floats(context.output(1)), late);
      if (images >= 7 && threads < images / 2) {
        EXPECT_LT(arena, context.memory().arenaBytes) << images << " images, " << threads << " threads";
      }
      context.run({.profile = true});
      EXPECT_EQ(context.profileRows().size(), 5u);
      EXPECT_EQ(floats(context.output(0)), out);
    }
}

TEST_F(ContextTest, thePlanSaysWhichBatchesPassImageByImage) {
  auto arena = [](const std::string &least, int threads) {
    TestPlan p = batches();
    p.plan().image_loop_bytes = least;
    Context context(p.model(), {.threads = threads});
    Tensor x = ramp(16 * 40960);
    context.setInput(0, Tensor::borrow(ElementType::f32, {16, 40960}, x.data()));
    context.run();
    return context.memory().arenaBytes;
  };
  // Two values inside hand on 16 * 40960 * 4 bytes each.
  uint64_t looped = arena("", 1), whole = arena("100000000", 1);
  EXPECT_LT(looped, whole);
  EXPECT_EQ(arena("5000000*threads", 1), looped);
  EXPECT_GT(arena("5000000*threads", 2), arena("5000000", 2));
  EXPECT_THROW(arena("5000000*M", 1), Error);
}

TEST_F(ContextTest, undoesBlocks) {
  TestPlan p;
  uint32_t x = p.input("x", {"40"}); // 1x5x2x2 in blocks of 4 channels: 2 x 4 pixels x 4 channels, plus 8 spare
  uint32_t t = p.temporary("t", {"1", "5", "2", "2"});
  plan::ValueT &blocked = *p.plan().values[t];
  blocked.block_axis = 1;
  blocked.block = 4;
  blocked.bytes = "160";
  p.half(x, t, "40");
  p.table(p.output("out", {"1"}), "1");
  Context context(p.model());
  Tensor data(ElementType::f32, {40});
  for (int block = 0; block < 2; ++block)
    for (int pixel = 0; pixel < 4; ++pixel)
      for (int lane = 0; lane < 4; ++lane)
        if (int at = (block * 4 + pixel) * 4 + lane; at < 40)
          data.as<float>()[at] = float(2 * ((block * 4 + lane) * 4 + pixel));
  context.setInput(0, data);
  context.run({.until = 0});
  std::vector<float> got = floats(context.readValue(t));
  ASSERT_EQ(got.size(), 20u);
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(got[i], float(i));
}

TEST_F(ContextTest, twoContextsOnTwoThreads) {
  auto model = chain().model();
  auto work = [&](float first) {
    Context context(model, {.threads = 2});
    for (int repeat = 0; repeat < 200; ++repeat) {
      int64_t n = 1 + repeat % 64;
      context.setInput(0, ramp(n, first));
      context.run();
      EXPECT_EQ(floats(context.output(0))[n - 1], 1.5f * (first + float(n)));
    }
  };
  std::thread other(work, 5.0f);
  work(9.0f);
  other.join();
}

} // namespace
