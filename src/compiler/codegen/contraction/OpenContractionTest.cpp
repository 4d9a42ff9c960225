// Convolutions whose height and width only a run knows: one kernel at several sizes against the references.
#include "codegen/space/ContractionFormat.h"
#include "codegen/testing/KernelEmulation.h"
#include "codegen/testing/KernelTesting.h"
#include "codegen/testing/RandomContractions.h"
#include "codegen/testing/RandomKernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lathe {
namespace {

struct Family {
  const char *name;
  Grouping grouping;
  std::string algorithm; // whose schedules are tried
};

const std::vector<Family> &families() {
  static const std::vector<Family> all = {{"dense", Grouping::dense, "direct"},
                                          {"grouped", Grouping::grouped, "direct"},
                                          {"depthwise", Grouping::depthwise, "lanewise"},
                                          {"winograd", Grouping::winograd, "winograd"},
                                          {"gathered", Grouping::gathered, "lanewise"}};
  return all;
}

double toleranceOf(const Schedule &schedule) {
  int64_t m = schedule.algorithm == "winograd" ? schedule.number("m") : 0;
  return m > 4 ? 1e-5 : m > 2 ? 8e-6 : 1e-6; // as in ContractionTest
}

/// The least extents, a little more, and what is drawn: tiles and taps beyond the row, and rows of several tiles.
std::vector<std::map<std::string, int64_t>> sizesOf(Random &random, const KernelText &text) {
  std::vector<std::map<std::string, int64_t>> sizes(4, text.symbols);
  for (auto &[symbol, least] : text.least) {
    sizes[0][symbol] = least;
    sizes[1][symbol] = random.in(least, least + 4);
    sizes[2][symbol] = random.in(least, least + (text.least.size() > 2 ? 8 : 40));
  }
  return sizes;
}

/// "" or how the kernel by `schedule` misses its references at one of several sizes. Sums of bytes are exact, one rounding
/// of a scale that may follow is not.
std::string check(const KernelText &text, const Target &target, uint64_t seed, const std::string &schedule,
                  bool bytes = false) {
  KernelUnderTest kernel(text.str(), target, seed);
  Schedule used = schedule.empty() ? *priorSchedule(kernel.problem()) : Schedule::parse(schedule);
  Random random(seed);
  for (const std::map<std::string, int64_t> &size : sizesOf(random, text)) {
    std::vector<Tensor> inputs = bytes ? kernel.randomInputs(-128, 255, size) : kernel.randomInputs(-1, 1, size);
    std::vector<Tensor> got = kernel.run(inputs, schedule), expected = kernel.expected(inputs);
    std::string what = bytes ? difference(got[0], expected[0], 2e-7)
                             : difference(got[0], expected[0], toleranceOf(used), kernel.largestSum(inputs) + 1);
    if (!what.empty())
      return fmt::format("'{}' on {}: {}", used.str(), fmt::join(inputs[0].dims(), "x"), what);
  }
  return "";
}

/// Kernels to draw. LATHE_KERNELS=3 draws three times as many.
int wanted(int standard) {
  const char *times = std::getenv("LATHE_KERNELS");
  return times ? standard * std::stoi(times) : standard;
}

void sweep(const std::string &targetName, int count) {
  Target target = Target::parse(targetName), native = Target::parse("native");
  if ((native.featureBits & target.featureBits) != target.featureBits)
    GTEST_SKIP() << "this CPU does not run code for " << targetName;
  for (const Family &family : families())
    for (int i = 0; i < count; ++i) {
      uint64_t seed = baseSeed() + i;
      Random random(seed * 4 + (&family - families().data()));
      KernelText text = randomOpenConv(random, target, family.grouping);
      Outcome<Schedule> prior = priorSchedule(KernelUnderTest(text.str(), target, seed).problem());
      ASSERT_TRUE(prior.done()) << prior.reason() << "\n" << text.str();
      ASSERT_EQ(check(text, target, seed, ""), "")
          << family.name << " on " << targetName << ", LATHE_SEED=" << seed << " reproduces it as the first case\n"
          << text.str();
    }
}

TEST(OpenContraction, priorMatchesReferenceNative) { sweep(testTargetName(), wanted(5)); }
TEST(OpenContraction, priorMatchesReferenceAvx2) { sweep("x86-64-v3", wanted(3)); }
TEST(OpenContraction, priorMatchesReferenceSse) { sweep("x86-64-v2", wanted(2)); }

TEST(OpenContraction, everyScheduleMatchesReference) {
  Target target = testTarget();
  std::map<std::string, int> ran; // by algorithm
  for (const Family &family : families())
    for (int i = 0; i < wanted(14) || (i < 10 * wanted(14) && ran[family.algorithm] <= 4); ++i) {
      uint64_t seed = baseSeed() + i;
      Random random(seed * 4 + 2 + (&family - families().data()));
      KernelText text = randomOpenConv(random, target, family.grouping);
      KernelUnderTest kernel(text.str(), target, seed);
      Outcome<std::unique_ptr<KernelFacts>> facts = readFacts(kernel.problem());
      ASSERT_TRUE(facts.done()) << facts.reason() << "\n" << text.str();
      std::map<std::string, std::string> exact;
      if (family.algorithm != "lanewise")
        exact["type"] = "f32";
      std::string schedule = randomSchedule(random, **facts, family.algorithm, exact).str();
      if (!kernel.declined(schedule).empty())
        continue;
      ++ran[family.algorithm];
      ASSERT_EQ(check(text, target, seed, schedule), "")
          << family.name << " '" << schedule << "', LATHE_SEED=" << seed << "\n"
          << text.str();
    }
  for (const char *algorithm : {"direct", "lanewise", "winograd"})
    EXPECT_GT(ran[algorithm], 4) << "nearly every schedule is declined, LATHE_SEED=" << baseSeed();
}

TEST(OpenContraction, priorMultipliesBytes) {
  Target native = Target::parse("native");
  for (const std::string &name : {testTargetName(), std::string("x86-64-v3"), std::string("x86-64-v2")}) {
    Target target = Target::parse(name);
    if (!needsEmulator(target) && (native.featureBits & target.featureBits) != target.featureBits)
      continue;
    for (const Family &family : families())
      for (int i = 0; i < wanted(2); ++i) {
        uint64_t seed = baseSeed() + i;
        Random random(seed * 8 + 3 + (&family - families().data()));
        KernelText text = randomOpenConvInteger(random, target, family.grouping);
        Outcome<Schedule> prior = priorSchedule(KernelUnderTest(text.str(), target, seed).problem());
        ASSERT_TRUE(prior.done()) << prior.reason() << "\n" << text.str();
        ASSERT_EQ(check(text, target, seed, "", /*bytes=*/true), "")
            << family.name << " '" << prior->str() << "' on " << name << ", LATHE_SEED=" << seed << "\n"
            << text.str();
      }
  }
}

TEST(OpenContraction, everyScheduleMultipliesBytes) {
  Target target = testTarget();
  for (const std::string kind : {"i8", "i16", "i32", "lanewise"}) { // formats of direct, or the other algorithm
    bool direct = kind != "lanewise";
    if (direct && !formatNamed(kind, ElementType::i32).obstacle(target).empty())
      continue;
    int ran = 0;
    for (int i = 0; i < 1000 && ran < wanted(4); ++i) { // most draws are declined
      const Family &family = families()[size_t(i) % families().size()];
      if (family.grouping == Grouping::winograd || direct != (family.algorithm == "direct"))
        continue;
      uint64_t seed = baseSeed() + i;
      Random random(seed * 8 + 4);
      KernelText text = randomOpenConvInteger(random, target, family.grouping);
      KernelUnderTest kernel(text.str(), target, seed);
      Outcome<std::unique_ptr<KernelFacts>> facts = readFacts(kernel.problem());
      ASSERT_TRUE(facts.done()) << facts.reason() << "\n" << text.str();
      std::map<std::string, std::string> words;
      if (direct)
        words["type"] = kind;
      std::string schedule = randomSchedule(random, **facts, family.algorithm, words).str();
      if (!kernel.declined(schedule).empty())
        continue; // with a reason: legal schedules run, others say why not
      ++ran;
      ASSERT_EQ(check(text, target, seed, schedule, /*bytes=*/true), "")
          << family.name << " '" << schedule << "', LATHE_SEED=" << seed << "\n"
          << text.str();
    }
    EXPECT_GT(ran, 0) << kind << ": every schedule is declined, LATHE_SEED=" << baseSeed();
  }
}

TEST(OpenContraction, otherElementTypes) {
  Target target = testTarget();
  for (const Typed &typed : {Typed{"f16", 2e-3}, Typed{"bf16", 2e-2}})
    for (int i = 0; i < wanted(3); ++i) {
      uint64_t seed = baseSeed() + i;
      Random random(seed);
      KernelText text = randomOpenConv(random, target, Grouping(random.in(0, 2)), typed);
      ASSERT_EQ(checkKernel(text.str(), target, seed, typed.tolerance, -1, 1, "", text.symbols), "")
          << "LATHE_SEED=" << seed << "\n"
          << text.str();
    }
}

/// A convolution of `type`, 32 channels in two groups or one.
std::string openConv(const char *type, const char *layout, const char *weights, int64_t group) {
  std::string x = fmt::format("tensor<1x32x?x?x{}{}>", type, layout), w = fmt::format("tensor<{}x{}>", weights, type);
  return fmt::format("func.func private @k(%x: {0} {{nn.dims = [\"1\", \"32\", \"H\", \"W\"]}}, %w: {1} "
                     "{{nn.constant}}) -> {0} attributes {{nn.family = \"contraction\"}} {{\n"
                     "  %0 = nn.conv %x, %w {{strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, "
                     "pads = array<i64: 1, 1, 1, 1>, group = {2} : i64}} : ({0}, {1}) -> {0}\n  return %0 : {0}\n}}\n",
                     x, w, group);
}

/// A convolution of 32 channels of bytes in blocks.
std::string openBytes() {
  std::string text = openConv("i32", ", #nn.blocked<1, 16>", "32x32x3x3", 1);
  auto replace = [&](const std::string &from, const std::string &to) {
    for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
      text.replace(at, from.size(), to);
  };
  replace("%x: tensor<1x32x?x?xi32", "%x: tensor<1x32x?x?xui8");
  replace("(tensor<1x32x?x?xi32", "(tensor<1x32x?x?xui8");
  replace("32x32x3x3xi32", "32x32x3x3xi8");
  replace("nn.conv ", "nn.conv_integer ");
  replace("group = 1 : i64", "group = 1 : i64, operandSegmentSizes = array<i32: 1, 1, 0, 0>");
  return text;
}

TEST(OpenContraction, illegalSchedulesDeclineWithAReason) {
  auto reason = [](const std::string &text, const char *schedule) {
    return KernelUnderTest(text, Target::parse("znver4"), 1).declined(schedule);
  };
  std::string dense = openConv("f32", ", #nn.blocked<1, 16>", "32x32x3x3", 1);
  EXPECT_EQ(reason(dense, "direct/1 px=14 oc=2 unroll=8"), "");
  EXPECT_EQ(reason(dense, "winograd/2 m=4 mr=7 mc=3 oc=2"), "");
  EXPECT_THAT(reason(dense, "direct/1 px=14 oc=2 unroll=8 kc=16"), testing::HasSubstr("kc=16: with open extents"));
  EXPECT_THAT(reason(dense, "direct/1 px=14 oc=2 unroll=8 outer=channels"), testing::HasSubstr("outer=channels"));
  EXPECT_THAT(reason(dense, "direct/1 px=14 oc=2 unroll=8 width=448"), testing::HasSubstr("width=448"));
  EXPECT_THAT(reason(dense, "direct/1 px=14 unroll=8 type=bf16"), testing::HasSubstr("not converted"));
  EXPECT_THAT(reason(dense, "winograd/2 m=4 mr=7 oc=2 pointsplit=2"), testing::HasSubstr("pointsplit=2"));
  EXPECT_THAT(reason(openConv("f32", "", "32x1x3x3", 32), "lanewise/1 px=7"), testing::HasSubstr("their own block"));
  EXPECT_EQ(reason(openConv("i32", "", "32x32x3x3", 1), ""), "");
  EXPECT_THAT(reason(openBytes(), "direct/1 px=14 type=i16add unroll=2"), testing::HasSubstr("nor added"));
  EXPECT_THAT(reason(openBytes(), "winograd/2 m=2 mr=7 mc=3 oc=2 type=i16"), testing::HasSubstr("static spatial"));
  EXPECT_THAT(reason(openBytes(), "amx/1"), testing::HasSubstr("static spatial"));
}

} // namespace
} // namespace lathe
