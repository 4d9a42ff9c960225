// Predictions of random legal schedules of random kernels of all families are sound, and follow facts of the problem,
// schedule and machine. `study rank` measures how well they order schedules (docs/notes/predicting.md).
//
// LATHE_SEED repeats a run.
#include "codegen/cost/Cost.h"
#include "codegen/testing/FactsTesting.h"
#include "codegen/testing/RandomKernels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <set>

namespace lathe {
namespace {

struct Read : TextFacts {
  using TextFacts::TextFacts;

  double cost(const std::string &schedule) const { return prediction(schedule).total(); }
  Prediction prediction(const std::string &text) const {
    Schedule schedule = readSchedule(text);
    Legality legality = legal(*facts, schedule);
    EXPECT_TRUE(bool(legality)) << text << ": " << legality.reason;
    return legality ? facts->predict(schedule) : Prediction();
  }
};

TEST(Cost, isFinitePositiveAndTheSumOfItsPartsForAnyLegalSchedule) {
  const std::vector<Target> targets = {Target::parse("znver4"), Target::parse("sapphirerapids"),
                                       Target::parse("x86-64-v3"), Target::parse("aarch64-linux-gnu,cpu=cortex-a76")};
  const std::vector<std::string> families = {"contraction", "contraction", "contraction", "contraction", "attention",
                                             "recurrent",   "softmax",     "normalize",   "elementwise", "pool",
                                             "reduction",   "lrn",         "resize",      "scan",        "selection",
                                             "indexed",     "movement"};
  std::set<std::string> algorithmsSeen, declared;
  for (const Algorithm &algorithm : algorithms())
    if (*algorithm.family)
      declared.insert(algorithm.name);
  int predicted = 0;
  for (uint64_t number = 0; predicted < 2000 || (algorithmsSeen.size() < declared.size() && number < 20000); ++number) {
    Random random(baseSeed() + number);
    const Target &target = targets[random.in(0, int64_t(targets.size()) - 1)];
    std::string text = randomKernel(random, families[number % families.size()], target);
    Read read(text, target, random.chance(2) ? 1 : 4);
    ASSERT_TRUE(read.module) << text;
    for (int i = 0; read.facts && i < 8; ++i) {
      Schedule schedule = randomSchedule(random, *read.facts);
      if (!legal(*read.facts, schedule))
        continue;
      Prediction prediction = read.facts->predict(schedule);
      std::string what =
          fmt::format("LATHE_SEED={}: {} {}\n{}", baseSeed() + number, target.str(), schedule.str(), text);
      double sum = prediction.compute + prediction.start + prediction.forkJoin;
      for (double level : prediction.levels) {
        ASSERT_TRUE(std::isfinite(level) && level >= 0) << what;
        sum += level;
      }
      ASSERT_TRUE(std::isfinite(sum)) << what;
      ASSERT_GT(prediction.compute, 0) << what;
      ASSERT_EQ(prediction.levels.size(), target.machine.caches.size()) << what;
      ASSERT_NEAR(prediction.total(), sum, 1e-9 * sum) << what;
      ASSERT_EQ(prediction.forkJoin > 0, read.facts->threads > 1) << what;
      algorithmsSeen.insert(schedule.algorithm);
      ++predicted;
    }
  }
  EXPECT_EQ(algorithmsSeen, declared) << "algorithms were not drawn, LATHE_SEED=" << baseSeed();
}

TEST(Cost, growsWithTheWork) {
  Target target = Target::parse("znver4");
  const char *direct = "direct/1 px=7 oc=2 unroll=8";
  double once = Read(conv3x3(64, 64, 28), target).cost(direct), twice = Read(conv3x3(128, 64, 28), target).cost(direct);
  EXPECT_GT(twice, 1.7 * once);
  EXPECT_LT(twice, 2.3 * once);
  EXPECT_GT(Read(product(64, 512, 256), target).cost("gemm/2 mr=8 vectors=2"),
            1.6 * Read(product(32, 512, 256), target).cost("gemm/2 mr=8 vectors=2"));
  EXPECT_GT(Read(elementwise("exp", 1 << 16), target).cost("map/2"),
            1.8 * Read(elementwise("exp", 1 << 15), target).cost("map/2"));
  EXPECT_GT(Read(elementwise("exp", 1 << 12), target).cost("map/2"),
            1.5 * Read(elementwise("relu", 1 << 12), target).cost("map/2"));
}

TEST(Cost, aSlowerMemoryIsFelt) {
  Target fast = Target::parse("znver4"), slow = fast;
  slow.machine.memoryBytesPerCycle /= 4;
  const char *gemm = "gemm/2 mr=1 vectors=8";
  std::string text = product(1, 2048, 2048); // 16 MiB of weights, each used once
  Read far(text, slow), near(text, fast);
  EXPECT_GT(far.cost(gemm), 2 * near.cost(gemm));
  EXPECT_EQ(far.prediction(gemm).bound(), "memory");
  EXPECT_EQ(far.prediction(gemm).compute, near.prediction(gemm).compute);
  EXPECT_GT(Read(elementwise("relu", 1 << 24), slow).cost("map/2"),
            2.5 * Read(elementwise("relu", 1 << 24), fast).cost("map/2"));
}

TEST(Cost, fewChainsWaitForTheirSums) {
  Target target = Target::parse("znver4");
  Read conv(conv3x3(256, 16, 16), target);
  double one = conv.cost("direct/1 px=1 oc=1 unroll=1"), eight = conv.cost("direct/1 px=8 oc=1 unroll=1");
  EXPECT_GT(one, 3 * eight);
  Read gemm(product(64, 16, 512), target);
  EXPECT_GT(gemm.cost("gemm/2 mr=1 vectors=1 unroll=1"), 3 * gemm.cost("gemm/2 mr=8 vectors=1 unroll=1"));
  // Several sums per result replace several rows.
  EXPECT_GT(gemm.cost("gemm/2 mr=1 vectors=1 unroll=1"), 1.5 * gemm.cost("gemm/2 mr=1 vectors=1 unroll=8"));
}

TEST(Cost, weighsWeightsFromMemoryAgainstMultiplications) {
  // Measured with weights from memory: F(2x2) 2.0 to 2.6 ms, direct 1.5 ms. The weights of F(2x2) are 16 / 9 as large.
  Read conv(conv3x3(512, 512, 7), Target::parse("sapphirerapids"));
  double direct = conv.cost("direct/1 px=7 oc=4 unroll=8 prefetch=1");
  double winograd = INFINITY;
  for (int64_t rows = 1; rows <= 16; ++rows)
    for (int64_t oc : {1, 2, 4})
      if (rows * oc <= 24)
        winograd = std::min(winograd, conv.cost(fmt::format("winograd/2 m=2 mr={} mc={} oc={} unroll=8 prefetch=1",
                                                            rows, (16 + rows - 1) / rows, oc)));
  EXPECT_GT(winograd, direct);
  // For large planes the order is reversed.
  Read large(conv3x3(64, 64, 56), Target::parse("sapphirerapids"));
  EXPECT_LT(large.cost("winograd/2 m=4 mr=14 mc=2 oc=2 unroll=8 prefetch=1"),
            large.cost("direct/1 px=14 oc=2 unroll=8 prefetch=1"));
}

TEST(Cost, isFiniteWithoutElements) {
  // An extent that is 0 where symbols count as 1.
  for (const char *op : {"transpose %x {perm = array<i64: 0, 2, 1>}", "transpose %x {perm = array<i64: 1, 0, 2>}",
                         "transpose %x {perm = array<i64: 2, 1, 0>}", "softmax %x {axis = 1 : i64}", "relu %x"}) {
    const char *family = *op == 't' ? "movement" : *op == 's' ? "softmax" : "elementwise";
    TextFacts read(
        fmt::format("func.func private @k(%x: tensor<?x?x?xf32> {{nn.dims = [\"floordiv(N, 24)\", "
                    "\"floordiv(N, 24)\", \"floordiv(N, 24)\"]}}) -> tensor<?x?x?xf32> attributes {{nn.family = "
                    "\"{}\"}} {{\n  %y = nn.{} : (tensor<?x?x?xf32>) -> tensor<?x?x?xf32>\n  return %y : "
                    "tensor<?x?x?xf32>\n}}\n",
                    family, op),
        Target::parse("znver4"));
    ASSERT_TRUE(read.facts) << op << ": " << read.reason;
    double cycles = read.facts->predict(*priorSchedule(*read.facts)).total();
    EXPECT_TRUE(std::isfinite(cycles) && cycles >= 0) << op << ": " << cycles;
  }
}

TEST(Cost, isPositiveWhereExtentsWouldBeBelowZero) {
  // Behind a window of 5 an extent is -3 where symbols count as 1.
  std::string x = "tensor<1x1x?x4xf32>", dims = "{nn.dims = [\"1\", \"1\", \"H + -4\", \"4\"]}";
  TextFacts read("func.func private @k(%x: " + x + " " + dims + ", %y: " + x + " " + dims + ") -> " + x +
                     " attributes {nn.family = \"movement\"} {\n  %z = nn.concat %x, %y {axis = 2 : i64} : (" + x +
                     ", " + x + ") -> " + x + "\n  return %z : " + x + "\n}\n",
                 Target::parse("znver4"));
  ASSERT_TRUE(read.facts) << read.reason;
  EXPECT_GT(read.facts->predict(*priorSchedule(*read.facts)).total(), 0);
  EXPECT_EQ(valueOf(Dim::parse("H + -4")), 1);
  EXPECT_EQ(valueOf(Dim::parse("floordiv(H, N + -1)")), 1); // no division by zero, either
  EXPECT_EQ(valueOf(0), 0);
}

TEST(Cost, workItemsDivideOverThreads) {
  Target target = Target::parse("znver4");
  std::string text = conv3x3(128, 128, 28);
  Read one(text, target, 1), two(text, target, 2);
  const char *even = "direct/1 px=14 oc=2 unroll=8 rows=14", *whole = "direct/1 px=7 oc=3 unroll=8 rows=28 outer=rows";
  EXPECT_LT(two.prediction(even).compute, 0.55 * one.prediction(even).compute);
  // Three tiles of channels on two threads: one has two of them.
  EXPECT_GT(two.prediction(whole).compute, 0.6 * one.prediction(whole).compute);
  EXPECT_GT(two.prediction(even).forkJoin, 0);
}

} // namespace
} // namespace lathe
