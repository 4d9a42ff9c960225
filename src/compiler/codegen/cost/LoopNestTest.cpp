// Loop nests of random legal schedules of random kernels of all families are sound, and nests of known kernels have the
// extents and bytes of their problems.
//
// LATHE_SEED repeats a run.
#include "codegen/cost/LoopNest.h"
#include "codegen/testing/FactsTesting.h"
#include "codegen/testing/RandomKernels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

namespace lathe {
namespace {

struct Read : TextFacts {
  using TextFacts::TextFacts;

  std::vector<LoopNest> nests(const std::string &text) const {
    Schedule schedule = readSchedule(text);
    Legality legality = legal(*facts, schedule);
    EXPECT_TRUE(bool(legality)) << text << ": " << legality.reason;
    return legality ? facts->loopNests(schedule) : std::vector<LoopNest>{{}};
  }
};

double bytes(const LoopNest &nest, OperandClass of) {
  double bytes = nest.element[size_t(of)];
  for (const Loop &loop : nest.loops)
    bytes *= loop.growth[size_t(of)];
  return bytes;
}

TEST(LoopNest, isSoundForAnyLegalScheduleAndHasTheSameLoopsForAllOfAnAlgorithm) {
  const std::vector<Target> targets = {Target::parse("znver4"), Target::parse("sapphirerapids"),
                                       Target::parse("x86-64-v3"), Target::parse("aarch64-linux-gnu,cpu=cortex-a76")};
  const std::vector<std::string> families = {
      "contraction", "contraction", "contraction", "attention", "recurrent", "softmax",   "normalize", "elementwise",
      "pool",        "reduction",   "lrn",         "resize",    "scan",      "selection", "indexed",   "movement"};
  std::map<std::string, std::vector<size_t>> loops; // by algorithm: loops of each nest
  size_t declared = 0;
  for (const Algorithm &algorithm : algorithms())
    declared += *algorithm.family != 0;
  int described = 0;
  for (uint64_t number = 0; described < 1500 || (loops.size() < declared && number < 20000); ++number) {
    Random random(baseSeed() + number);
    const Target &target = targets[random.in(0, int64_t(targets.size()) - 1)];
    std::string text = randomKernel(random, families[number % families.size()], target);
    Read read(text, target, random.chance(2) ? 1 : 4);
    for (int i = 0; read.facts && i < 6; ++i) {
      Schedule schedule = randomSchedule(random, *read.facts);
      if (!legal(*read.facts, schedule))
        continue;
      std::string what =
          fmt::format("LATHE_SEED={}: {} {}\n{}", baseSeed() + number, target.str(), schedule.str(), text);
      std::vector<LoopNest> nests = read.facts->loopNests(schedule);
      ASSERT_FALSE(nests.empty()) << what;
      std::vector<size_t> counts;
      for (const LoopNest &nest : nests) {
        counts.push_back(nest.loops.size());
        ASSERT_TRUE(std::isfinite(nest.iterations())) << what;
        double all = 0;
        for (double one : nest.element)
          all += one;
        ASSERT_TRUE(all > 0 && std::isfinite(all)) << what;
        for (const Loop &loop : nest.loops) {
          ASSERT_TRUE(std::isfinite(loop.extent) && loop.extent >= 1) << what;
          for (double growth : loop.growth)
            ASSERT_TRUE(growth >= 1 && growth <= loop.extent) << what;
        }
      }
      ASSERT_EQ(loops.try_emplace(schedule.algorithm, counts).first->second, counts) << what;
      ++described;
    }
  }
  EXPECT_EQ(loops.size(), declared) << "algorithms were not drawn, LATHE_SEED=" << baseSeed();
}

TEST(LoopNest, aProductTouchesItsMatricesOnceAndMultipliesAllOfThem) {
  Read read(product(96, 512, 256), Target::parse("znver4"));
  for (const char *schedule : {"gemm/2 mr=6 vectors=4", "gemm/2 mr=12 vectors=2 mc=4", "gemm/2 mr=8 vectors=2 kc=64"}) {
    SCOPED_TRACE(schedule);
    LoopNest nest = read.nests(schedule)[0];
    EXPECT_NEAR(nest.iterations(), 96.0 * 512 * 256, 1);
    EXPECT_NEAR(bytes(nest, OperandClass::input), 96 * 256 * 4, 1);
    EXPECT_NEAR(bytes(nest, OperandClass::weights), 512 * 256 * 4, 1);
    EXPECT_NEAR(bytes(nest, OperandClass::output), 96 * 512 * 4, 1);
    EXPECT_NEAR(nest.extent(LoopAxis::rows), 96, 1e-9);
    EXPECT_NEAR(nest.extent(LoopAxis::columns), 512, 1e-9);
    EXPECT_NEAR(nest.extent(LoopAxis::reduction), 256, 1e-9);
  }
  // Partial sums wait in scratch only if there are several passes.
  EXPECT_EQ(read.nests("gemm/2 mr=8 vectors=2")[0].element[size_t(OperandClass::scratch)], 0);
  EXPECT_GT(read.nests("gemm/2 mr=8 vectors=2 kc=64")[0].element[size_t(OperandClass::scratch)], 0);
}

TEST(LoopNest, aRegisterBlockIsUnrolledAndReusesWhatItHolds) {
  Read read(conv3x3(64, 128, 28), Target::parse("znver4"));
  LoopNest nest = read.nests("direct/1 px=14 oc=2 unroll=8 rows=7")[0];
  EXPECT_NEAR(nest.iterations(), 28.0 * 28 * 128 * 64 * 9, 1);
  EXPECT_NEAR(bytes(nest, OperandClass::weights), 128 * 64 * 9 * 4, 1);
  EXPECT_NEAR(bytes(nest, OperandClass::input), 28 * 28 * 64 * 4, 1);
  EXPECT_NEAR(bytes(nest, OperandClass::output), 28 * 28 * 128 * 4, 1);
  EXPECT_EQ(nest.loops[0].kind, LoopKind::vector);
  EXPECT_EQ(nest.loops[0].extent, 16);
  EXPECT_EQ(nest.loops[1].extent, 2);
  EXPECT_EQ(nest.loops[1].growth[size_t(OperandClass::input)], 1); // broadcast to both vectors
  EXPECT_EQ(nest.loops[2].extent, 14);
  EXPECT_EQ(nest.loops[2].growth[size_t(OperandClass::weights)], 1);
  // The next column of taps reads 16 of 3x16 positions again.
  const Loop &taps = nest.loops[5];
  EXPECT_EQ(taps.axis, LoopAxis::taps);
  EXPECT_NEAR(taps.growth[size_t(OperandClass::input)], 3.0 * 16 / 14, 1e-9);
  // Winograd multiplies less.
  EXPECT_LT(read.nests("winograd/2 m=4 mr=7 mc=7 oc=2")[0].iterations(), 0.6 * nest.iterations());
}

TEST(LoopNest, extentsOfProblemsDoNotDependOnTheSchedule) {
  Read read(conv3x3(64, 128, 28), Target::parse("znver4"));
  EXPECT_EQ(read.facts->problemExtents(), (std::array<double, loopAxes>{28 * 28, 128, 64, 9, 1}));
  Read gemm(product(96, 512, 256), Target::parse("znver4"));
  EXPECT_EQ(gemm.facts->problemExtents(), (std::array<double, loopAxes>{96, 512, 256, 1, 1}));
}

} // namespace
} // namespace lathe
