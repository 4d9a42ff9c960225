// Features of random legal schedules of random kernels of all families.
#include "tune/Features.h"
#include "codegen/testing/FactsTesting.h"
#include "codegen/testing/RandomKernels.h"
#include "tune/Space.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <set>

namespace lathe::tune {
namespace {

/// The feature of this name; fails for an unknown one.
float valueOf(const Example &example, FeatureSet set, const std::string &feature) {
  const std::vector<std::string> &names = featureNames(set);
  auto found = std::find(names.begin(), names.end(), feature);
  EXPECT_NE(found, names.end()) << feature;
  return found == names.end() ? NAN : example.features.at(size_t(found - names.begin()));
}

/// Compares bits, so that NaN equals itself.
std::vector<uint32_t> bitsOf(const std::vector<float> &values) {
  std::vector<uint32_t> bits;
  for (float value : values)
    bits.push_back(std::isnan(value) ? 0x7fc00000u : std::bit_cast<uint32_t>(value));
  return bits;
}

TEST(Features, haveANameEachThatNoOtherHas) {
  for (FeatureSet set : featureSets) {
    const std::vector<std::string> &names = featureNames(set);
    EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size()) << name(set);
    EXPECT_THAT(names, testing::IsSupersetOf({"problem.flops", "machine.l2_bytes", "cost.compute_share",
                                              "cost.total_over_best", "algorithm.winograd", "knob.prefetch"}));
  }
  EXPECT_THAT(featureNames(FeatureSet::knob), testing::IsSupersetOf({"knob.px", "knob.outer=channels"}));
  EXPECT_THAT(featureNames(FeatureSet::itervar), testing::Contains("loop.0.extent"));
  EXPECT_THAT(featureNames(FeatureSet::itervar), testing::Not(testing::Contains("knob.px")));
  EXPECT_THAT(featureNames(FeatureSet::curve), testing::Contains("curve.l1.passing"));
}

TEST(Features, areAsManyAsTheirNamesNeverInfiniteAndDistinctForDistinctSchedulesOfEveryFamily) {
  const std::vector<std::string> families = {
      "contraction", "contraction", "contraction", "attention", "recurrent", "softmax",   "normalize", "elementwise",
      "pool",        "reduction",   "lrn",         "resize",    "scan",      "selection", "indexed",   "movement"};
  const char *targets[] = {"znver4", "x86-64-v3", "aarch64-linux-gnu,cpu=cortex-a76"};
  int kernels = 0;
  Random engine(baseSeed());
  for (uint64_t number = 0; kernels < 60; ++number) {
    lathe::Random random(baseSeed() + number);
    const char *target = targets[number % 3];
    std::string text = randomKernel(random, families[number % families.size()], Target::parse(target));
    TextFacts kernel(text, Target::parse(target), 1 + int(number % 2));
    if (!kernel.facts)
      continue;
    ++kernels;
    Space space(*kernel.facts);
    for (FeatureSet set : featureSets) {
      Features features(*kernel.facts, set), again(*kernel.facts, set);
      std::map<std::vector<uint32_t>, Point> seen;
      for (int i = 0; i < 8; ++i) {
        std::optional<Point> point = space.draw(engine);
        if (!point)
          continue;
        Schedule schedule = space.schedule(*point);
        std::string what =
            fmt::format("LATHE_SEED={}: {} {} {}\n{}", baseSeed() + number, name(set), target, schedule.str(), text);
        Example example = features.example(schedule, 7);
        ASSERT_EQ(example.features.size(), featureNames(set).size()) << what;
        for (size_t f = 0; f < example.features.size(); ++f)
          ASSERT_FALSE(std::isinf(example.features[f])) << featureNames(set)[f] << "\n" << what;
        EXPECT_EQ(example.task, 7u);
        EXPECT_EQ(example.cycles, kernel.facts->predict(schedule).total());
        EXPECT_EQ(bitsOf(example.features), bitsOf(again.example(schedule).features)) << what;
        if (set == FeatureSet::knob) {
          auto [found, added] = seen.try_emplace(bitsOf(example.features), *point);
          EXPECT_TRUE(added || found->second == *point) << space.schedule(found->second).str() << " and " << what;
        }
      }
    }
  }
}

TEST(Features, ofAKnownSchedule) {
  TaskFacts kernel(conv3x3(64, 64, 28), Target::parse("znver4"));
  Schedule direct = readSchedule("direct/1 px=14 oc=2 unroll=8 rows=7 width=28 outer=channels");
  Example knob = Features(*kernel.facts, FeatureSet::knob).example(direct);
  auto ofKnob = [&](const char *feature) { return valueOf(knob, FeatureSet::knob, feature); };
  EXPECT_EQ(ofKnob("knob.px"), 14);
  EXPECT_EQ(ofKnob("knob.outer=channels"), 1);
  EXPECT_EQ(ofKnob("knob.outer=rows"), 0);
  EXPECT_EQ(ofKnob("knob.kc"), 0); // the declared default
  EXPECT_TRUE(std::isnan(ofKnob("knob.mr")));
  EXPECT_EQ(ofKnob("algorithm.direct"), 1);
  EXPECT_EQ(ofKnob("algorithm.winograd"), 0);
  EXPECT_FLOAT_EQ(ofKnob("problem.taps"), std::log2(9.0f));
  EXPECT_FLOAT_EQ(ofKnob("problem.flops"), std::log2(2.0f * 28 * 28 * 64 * 64 * 9));
  EXPECT_FLOAT_EQ(ofKnob("machine.vector_bits"), 512);
  EXPECT_GE(ofKnob("cost.total_over_best"), 1);
  EXPECT_EQ(valueOf(Features(*kernel.facts, FeatureSet::knob).example(readSchedule("direct/1 px=14 oc=2")),
                    FeatureSet::knob, "knob.rows"),
            -1); // left out, and the default depends on the problem

  Example loops = Features(*kernel.facts, FeatureSet::itervar).example(direct);
  auto ofLoop = [&](const char *feature) { return valueOf(loops, FeatureSet::itervar, feature); };
  EXPECT_EQ(ofLoop("loop.0.extent"), 4); // 16 lanes
  EXPECT_EQ(ofLoop("loop.1.extent"), 1); // 2 vectors
  EXPECT_FLOAT_EQ(ofLoop("loop.2.extent"), std::log2(14.0f));
  EXPECT_EQ(ofLoop("loop.2.kind"), 1);
  EXPECT_FLOAT_EQ(ofLoop("loop.2.input_bytes"), std::log2(14.0f * 4));
  EXPECT_FLOAT_EQ(ofLoop("loop.2.input_reuse"), 5); // 32 products of each element
  EXPECT_FLOAT_EQ(ofLoop("loop.2.weights_reuse"), std::log2(14.0f));
  EXPECT_TRUE(std::isnan(ofLoop("loop.2.scratch_bytes")));

  Example curve = Features(*kernel.facts, FeatureSet::curve).example(direct);
  auto ofCurve = [&](const char *feature) { return valueOf(curve, FeatureSet::curve, feature); };
  // With a larger memory fewer bytes pass, but every operand passes at least once.
  EXPECT_GE(ofCurve("curve.registers.passing"), ofCurve("curve.l1.passing"));
  EXPECT_GE(ofCurve("curve.l1.passing"), ofCurve("curve.l2.passing"));
  EXPECT_GE(ofCurve("curve.l2.passing"), std::log2(4.0f * (2 * 64 * 28 * 28 + 64 * 64 * 9)) - 0.01f);
}

} // namespace
} // namespace lathe::tune
