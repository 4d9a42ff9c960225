#include "runtime/testing/ContextTesting.h"

#include <gmock/gmock.h>

#include <limits>
#include <thread>

using namespace lathe;
using namespace lathe::runtime;
using namespace lathe::runtime::testing;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace {

using ContextTest = WithTestReferences;

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
  for (bool kept : {false, true}) { // whether `big` is read again after the kernel with scratch
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
  EXPECT_EQ(errorOf([&] { context.run(); }), "m.lathe: input 'x' (f32 N): expected N from 1 to 64, got 65");
  context.setInput(0, ramp(4));
  context.setOutput(0, Tensor(ElementType::f32, {5}));
  EXPECT_EQ(errorOf([&] { context.run(); }), "m.lathe: output 'out': expected f32 4, got f32 5");
  EXPECT_THAT(errorOf([&] { context.output(0); }), HasSubstr("before a run"));
  context.setOutput(0, {});
  context.run(); // all is well again
  EXPECT_EQ(floats(context.output(0))[3], 6.0f);
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

/// A prediction holds for the extents for which it was made: symbols count as 1.
TEST_F(ContextTest, predictionsHoldForTheirExtents) {
  TestPlan plan = chain();
  plan.program.threads = 3;
  plan.plan().kernels[1]->bytes = "N*8";
  Context context(plan.model());
  EXPECT_EQ(context.model().plannedThreads(), 3);
  for (int64_t n : {1, 40}) {
    context.setInput(0, ramp(n));
    context.run();
    EXPECT_EQ(context.instruction(0).predictedCycles, 250); // its traffic does not depend on N
    EXPECT_EQ(context.instruction(1).predictedCycles, n == 1 ? 250 : 0);
    EXPECT_EQ(context.instruction(1).origin, "the prior");
  }
}

/// A nonsensical prediction, which a package of an older compiler may hold, is ignored: the package runs.
TEST_F(ContextTest, predictionsWithoutMeaningAreNone) {
  for (double cycles : {-36.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    TestPlan plan = chain();
    plan.program.threads = 1;
    plan.plan().kernels[0]->predicted_cycles = cycles;
    Context context(plan.model());
    context.setInput(0, ramp(8));
    context.run();
    EXPECT_EQ(floats(context.output(0))[7], 12.0f);
    EXPECT_EQ(context.instruction(0).predictedCycles, 0);
  }
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
