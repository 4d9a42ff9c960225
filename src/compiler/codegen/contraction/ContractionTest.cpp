// Random convolutions and matrix products against the references: shapes, attributes, layouts, epilogues, schedules,
// targets.
#include "codegen/testing/KernelEmulation.h"
#include "codegen/testing/KernelTesting.h"
#include "codegen/testing/RandomContractions.h"
#include "codegen/testing/RandomKernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lathe {
namespace {

/// Of single elements, relative to the largest sum of products' magnitudes: four to six times the largest of some 700
/// random kernels (2.5e-6 of F(6x6), 1.6e-6 of F(4x4), 2.1e-7 of all others). Winograd's larger transforms multiply
/// rounding errors, and a second convolution adds up those of the first, which an epilogue between them may have made
/// large beside what it let through.
double toleranceOf(const Schedule &schedule) {
  if (schedule.algorithm == "separable")
    return 1e-5;
  int64_t m = schedule.algorithm == "winograd" ? schedule.number("m") : 0;
  return m > 4 ? 1e-5 : m > 2 ? 8e-6 : 1e-6;
}

/// "" or how the kernel by `schedule` (empty: the prior's) misses its references.
std::string check(const KernelText &text, const Target &target, uint64_t seed, const std::string &schedule) {
  KernelUnderTest kernel(text.str(), target, seed);
  std::vector<Tensor> inputs = kernel.randomInputs(-1, 1, text.symbols), got = kernel.run(inputs, schedule);
  std::vector<Tensor> expected = kernel.expected(inputs);
  double magnitude = kernel.largestSum(inputs) + 1; // a bias is at most 1
  Schedule used = schedule.empty() ? *priorSchedule(kernel.problem()) : Schedule::parse(schedule);
  for (size_t i = 0; i < expected.size(); ++i)
    if (std::string what = difference(got[i], expected[i], toleranceOf(used), magnitude); !what.empty())
      return fmt::format("'{}', result {}: {}", used.str(), i, what);
  return "";
}

struct Family {
  const char *name;
  std::function<KernelText(Random &, const Target &)> make;
  std::string algorithm; // whose schedules are tried
};

const std::vector<Family> &families() {
  static const std::vector<Family> all = {
      {"dense", [](Random &r, const Target &t) { return randomConv(r, t, Grouping::dense); }, "direct"},
      {"grouped", [](Random &r, const Target &t) { return randomConv(r, t, Grouping::grouped); }, "direct"},
      {"depthwise", [](Random &r, const Target &t) { return randomConv(r, t, Grouping::depthwise); }, "lanewise"},
      {"winograd", [](Random &r, const Target &t) { return randomConv(r, t, Grouping::winograd); }, "winograd"},
      {"gemm", [](Random &r, const Target &) { return randomGemm(r); }, "gemm"},
      {"separable", [](Random &r, const Target &t) { return randomSeparable(r, t); }, "separable"},
  };
  return all;
}

bool runsHere(const Target &target) {
  Target native = Target::parse("native");
  return needsEmulator(target) || (native.featureBits & target.featureBits) == target.featureBits;
}

void sweep(const char *targetName, int count) {
  Target target = Target::parse(targetName);
  if (!runsHere(target))
    GTEST_SKIP() << "this CPU does not run code for " << targetName;
  for (const Family &family : families())
    for (int i = 0; i < count; ++i) {
      uint64_t seed = baseSeed() + i;
      Random random(seed * 8 + (&family - families().data()));
      KernelText text = family.make(random, target);
      Outcome<Schedule> prior = priorSchedule(KernelUnderTest(text.str(), target, seed).problem());
      ASSERT_TRUE(prior.done()) << prior.reason() << "\n" << text.str();
      ASSERT_EQ(check(text, target, seed, ""), "")
          << family.name << " on " << targetName << ", LATHE_SEED=" << seed << " reproduces it as the first case\n"
          << text.str();
    }
}

TEST(Contraction, priorMatchesReferenceNative) { sweep(testTargetName().c_str(), 25); }
TEST(Contraction, priorMatchesReferenceAvx2) { sweep("x86-64-v3", 12); }
TEST(Contraction, priorMatchesReferenceSse) { sweep("x86-64-v2", 6); }

TEST(Contraction, everyScheduleMatchesReference) {
  Target target = testTarget();
  std::map<std::string, int> ran; // by algorithm
  int all = 0;
  for (const Family &family : families())
    for (int i = 0; i < 40; ++i) {
      uint64_t seed = baseSeed() + i;
      Random random(seed * 8 + 4 + (&family - families().data()));
      KernelText text = family.make(random, target);
      KernelUnderTest kernel(text.str(), target, seed);
      Outcome<std::unique_ptr<KernelFacts>> facts = readFacts(kernel.problem());
      ASSERT_TRUE(facts.done()) << facts.reason() << "\n" << text.str();
      std::map<std::string, std::string> exact; // rounded operands have tests of their own
      if (family.algorithm != "lanewise")
        exact["type"] = "f32";
      std::string schedule = randomSchedule(random, **facts, family.algorithm, exact).str();
      if (!kernel.declined(schedule).empty())
        continue; // with a reason: legal schedules run, others say why not
      ++ran[family.algorithm];
      ++all;
      ASSERT_EQ(check(text, target, seed, schedule), "")
          << family.name << " '" << schedule << "', LATHE_SEED=" << seed << "\n"
          << text.str();
    }
  EXPECT_GT(all, 120) << "nearly every random schedule is declined, LATHE_SEED=" << baseSeed();
  EXPECT_GT(ran["separable"], 15) << "nearly every one of separable/1 is declined, LATHE_SEED=" << baseSeed();
}

/// Packings of a constant with equal texts have equal bytes: a program and a tuner keep each form once.
TEST(Contraction, packingsOfOneTextAreOneForm) {
  Target target = testTarget();
  int packed = 0;
  for (const Family &family : families())
    for (int i = 0; i < 10; ++i) {
      Random random((baseSeed() + i) * 8 + (&family - families().data()));
      KernelText text = family.make(random, target);
      KernelUnderTest kernel(text.str(), target, 1);
      std::vector<Tensor> inputs = kernel.randomInputs(-1, 1, text.symbols);
      Outcome<std::unique_ptr<KernelFacts>> facts = readFacts(kernel.problem());
      ASSERT_TRUE(facts.done()) << facts.reason() << "\n" << text.str();
      std::map<std::pair<size_t, std::string>, std::vector<char>> forms; // by argument and text
      for (int j = 0; j < 12; ++j) {
        Schedule schedule = randomSchedule(random, **facts, family.algorithm, {});
        Outcome<GeneratedKernel> generated = generate(kernel.problem(), **facts, schedule);
        for (size_t at = 0; generated && at < inputs.size(); ++at) {
          const std::optional<Packing> &packing = generated->packings.at(at);
          if (!packing)
            continue;
          const Tensor &input = inputs[at];
          std::vector<char> bytes = packing->pack(
              {input.type(), input.dims(), {static_cast<const char *>(input.data()), size_t(input.bytes())}, false});
          auto [known, added] = forms.emplace(std::pair(at, packing->text), bytes);
          ASSERT_TRUE(known->second == bytes) << "two forms are called '" << packing->text << "', one of "
                                              << schedule.str() << ", LATHE_SEED=" << baseSeed() + i << "\n"
                                              << text.str();
          packed += !added;
        }
      }
    }
  EXPECT_GT(packed, 20) << "nearly no two schedules pack alike, LATHE_SEED=" << baseSeed();
}

/// Few sums over many steps are split into several and added up at the end, whatever is left over by unrolling and by
/// blocks.
TEST(Contraction, longReductionsOfFewResults) {
  Target target = testTarget();
  for (const Typed &typed : {Typed{"f32", 2e-5}, Typed{"f64", 1e-12}, Typed{"i32", 0}})
    for (int i = 0; i < 12; ++i) {
      uint64_t seed = baseSeed() + i;
      Random random(seed);
      int64_t rows = random.in(1, 4), columns = random.in(1, 40), depth = random.in(60, 330);
      std::string schedule = i % 4 ? fmt::format("gemm/2 mr={} vectors={} unroll={} kc={} prefetch={}", random.in(1, 3),
                                                 random.in(1, 3), random.of<int64_t>({1, 2, 3, 4, 6, 8}),
                                                 random.of<int64_t>({0, 0, 64, 77}), random.in(0, 1))
                                   : "";
      auto matrix = [&](int64_t m, int64_t n) { return fmt::format("tensor<{}x{}x{}>", m, n, typed.name); };
      KernelText text;
      text.type = matrix(rows, columns);
      std::string a = text.argument(matrix(rows, depth), false), b = text.argument(matrix(depth, columns), true);
      text.op("matmul " + a + ", " + b, matrix(rows, depth) + ", " + matrix(depth, columns));
      double range = typed.name == "i32" ? 9 : 1;
      ASSERT_EQ(checkKernel(text.str(), target, seed, typed.tolerance, -range, range, schedule, text.symbols), "")
          << schedule << ", LATHE_SEED=" << seed << "\n"
          << text.str();
    }
}

TEST(Contraction, otherElementTypes) {
  for (const std::string &targetName : {testTargetName(), std::string("x86-64-v3")}) {
    Target target = Target::parse(targetName);
    if (!runsHere(target))
      continue;
    for (const Typed &typed : {Typed{"f64", 1e-12}, Typed{"f16", 2e-3}, Typed{"bf16", 2e-2}, Typed{"i32", 0}})
      for (int i = 0; i < 10; ++i) {
        uint64_t seed = baseSeed() + i;
        Random random(seed);
        KernelText text =
            i % 2 ? randomGemm(random, typed) : randomConv(random, target, Grouping(random.in(0, 2)), typed);
        double range = typed.name == "i32" ? 9 : 1;
        ASSERT_EQ(checkKernel(text.str(), target, seed, typed.tolerance, -range, range, "", text.symbols), "")
            << targetName << ", LATHE_SEED=" << seed << "\n"
            << text.str();
      }
  }
}

TEST(Contraction, otherTargetsCompileAndLink) {
  for (const char *name : {"aarch64-linux-gnu", "cortex-a76", "znver4", "skylake-avx512"}) {
    Target target = Target::parse(name);
    for (const Family &family : families())
      for (int i = 0; i < 3; ++i) {
        Random random(baseSeed() + i);
        KernelText text = family.make(random, target);
        KernelUnderTest kernel(text.str(), target, 1);
        Outcome<Schedule> schedule = priorSchedule(kernel.problem());
        ASSERT_TRUE(schedule.done()) << schedule.reason() << "\n" << text.str();
        Outcome<GeneratedKernel> generated = generate(kernel.problem(), *schedule);
        ASSERT_TRUE(generated.done()) << generated.reason() << "\n" << text.str();
        std::vector<std::vector<char>> objects{emitObject(*generated->module, target)};
        EXPECT_EQ(linkImage(objects, target).entries.size(), 1u);
      }
  }
}

std::string denseConv(int64_t lanes = 16, int64_t channels = 32, int64_t outChannels = 64, int64_t size = 14) {
  auto blocked = [&](int64_t count) {
    return fmt::format("tensor<1x{0}x{1}x{1}xf32, #nn.blocked<1, {2}>>", count, size, lanes);
  };
  return fmt::format("func.func private @k(%x: {0}, %w: tensor<{2}x{3}x3x3xf32> {{nn.constant}}) -> {1} attributes "
                     "{{nn.family = \"contraction\"}} {{\n"
                     "  %0 = nn.conv %x, %w {{strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, "
                     "pads = array<i64: 1, 1, 1, 1>}} : ({0}, tensor<{2}x{3}x3x3xf32>) -> {1}\n"
                     "  return %0 : {1}\n}}\n",
                     blocked(channels), blocked(outChannels), outChannels, channels);
}

TEST(Contraction, exactMathForbidsWinograd) {
  KernelUnderTest kernel(denseConv(), Target::parse("znver4"), 1);
  KernelProblem problem = kernel.problem();
  EXPECT_EQ(priorSchedule(problem)->algorithm, "winograd");
  problem.exactMath = true;
  EXPECT_EQ(priorSchedule(problem)->algorithm, "direct");
  EXPECT_THAT(generate(problem, Schedule::parse("winograd/2 m=2")).reason(), testing::HasSubstr("exact math"));
}

/// The prior of one algorithm is that of the family where the family chooses the algorithm, and keeps to the algorithm
/// and m where it does not.
TEST(Contraction, priorsOfOneAlgorithm) {
  KernelUnderTest kernel(denseConv(), Target::parse("znver4"), 1);
  KernelProblem problem = kernel.problem();
  Schedule chosen = *priorSchedule(problem);
  ASSERT_EQ(chosen.algorithm, "winograd");
  EXPECT_EQ(priorSchedule(problem, AlgorithmChoice{"winograd"})->str(), chosen.str());
  EXPECT_EQ(priorSchedule(problem, AlgorithmChoice{"winograd", chosen.number("m")})->str(), chosen.str());
  for (int64_t m : {2, 4, 6}) {
    Outcome<Schedule> schedule = priorSchedule(problem, AlgorithmChoice{"winograd", m});
    ASSERT_TRUE(schedule.done()) << schedule.reason();
    EXPECT_EQ(schedule->algorithm, "winograd");
    EXPECT_EQ(schedule->number("m"), m);
  }
  problem.exactMath = true; // which forbids Winograd, and so shows what `direct` is otherwise
  Schedule direct = *priorSchedule(problem);
  EXPECT_THAT(priorSchedule(problem, AlgorithmChoice{"winograd", 4}).reason(), testing::HasSubstr("exact math"));
  problem.exactMath = false;
  EXPECT_EQ(priorSchedule(problem, AlgorithmChoice{"direct"})->str(), direct.str());
  EXPECT_THAT(priorSchedule(problem, AlgorithmChoice{"gemm"}).reason(),
              testing::HasSubstr("does not compute convolutions"));
  EXPECT_THAT(priorSchedule(problem, AlgorithmChoice{"amx"}).reason(), testing::HasSubstr("tile registers"));
}

TEST(Contraction, smallMemoryForbidsWhatGrowsTheWeights) {
  KernelUnderTest kernel(denseConv(), Target::parse("znver4"), 1);
  KernelProblem problem = kernel.problem();
  problem.smallMemory = true;
  EXPECT_EQ(priorSchedule(problem)->algorithm, "direct");
  EXPECT_THAT(generate(problem, Schedule::parse("winograd/2 m=2")).reason(), testing::HasSubstr("--memory small"));
}

TEST(Contraction, illegalSchedulesDeclineWithAReason) {
  KernelUnderTest kernel(denseConv(), Target::parse("znver4"), 1);
  auto reason = [&](const char *schedule) { return kernel.declined(schedule); };
  EXPECT_EQ(reason("direct/1 px=14 oc=2 unroll=8"), "");
  EXPECT_THAT(reason("direct/1 px=14 oc=4"), testing::HasSubstr("registers"));
  EXPECT_THAT(reason("direct/1 px=7 unroll=3"), testing::HasSubstr("unroll=3"));
  EXPECT_THAT(reason("direct/1 px=7 kc=24"), testing::HasSubstr("kc=24"));
  EXPECT_THAT(reason("direct/1 px=7 width=28"), testing::HasSubstr("width=28"));
  EXPECT_EQ(reason("winograd/2 m=4 mr=7 mc=3 oc=2"), "");
  EXPECT_THAT(reason("winograd/2 m=3"), testing::HasSubstr("3 outputs"));
  EXPECT_THAT(reason("winograd/2 oc=3"), testing::HasSubstr("oc=3"));
  EXPECT_THAT(reason("winograd/2 mr=14 oc=4"), testing::HasSubstr("registers"));
  EXPECT_EQ(reason("winograd/2 m=4 mr=8 mc=2 oc=2 pointsplit=6"), "");
  EXPECT_THAT(reason("winograd/2 m=4 mr=8 mc=2 pointsplit=7"), testing::HasSubstr("pointsplit=7"));
  EXPECT_THAT(reason("winograd/2 m=4 mr=8 pointsplit=2"), testing::HasSubstr("all 16 tiles"));
  EXPECT_THAT(reason("winograd/2 m=4 mr=16 split=2 pointsplit=2"), testing::HasSubstr("split=1"));
  EXPECT_THAT(reason("map/2"),
              testing::HasSubstr("map/2 is no algorithm of the family 'contraction', expected direct/1"));
  EXPECT_THAT(reason("gemm/2 mr=4"), testing::HasSubstr("gemm"));
  for (const char *undeclared : {"direct/1 colour=7", "direct/1 px=0", "direct/1 outer=depth", "direct/2 px=7"})
    EXPECT_THROW(reason(undeclared), Error) << undeclared;
}

/// Finer units are the same sums in the same order.
TEST(Contraction, howPointsAreSharedChangesNoBit) {
  Target target = testTarget();
  int64_t lanes = target.lanes(32);
  struct Case {
    int64_t channels, outChannels, size;
    const char *whole;
    std::vector<const char *> shared;
  };
  for (const Case &c :
       {Case{35,
             12,
             8,
             "winograd/2 m=4 mr=4 oc=1 unroll=4",
             {"pointsplit=2", "pointsplit=3", "pointsplit=4", "pointsplit=6"}},
        Case{20, 40, 7, "winograd/2 m=2 mr=2 mc=8 oc=1 unroll=4", {"pointsplit=2", "pointsplit=3", "pointsplit=4"}}}) {
    KernelUnderTest kernel(denseConv(lanes, c.channels, c.outChannels, c.size), target, baseSeed());
    std::vector<Tensor> inputs = kernel.randomInputs(-1, 1);
    Tensor whole = kernel.run(inputs, c.whole)[0];
    for (const char *shared : c.shared) {
      std::string schedule = fmt::format("{} {}", c.whole, shared);
      EXPECT_EQ(difference(kernel.run(inputs, schedule)[0], whole, 0), "") << schedule << ", LATHE_SEED=" << baseSeed();
    }
  }
}

TEST(Contraction, slotsShareThePointsOfFewTiles) {
  auto staged = [](KernelUnderTest &kernel) {
    Outcome<GeneratedKernel> generated = generate(kernel.problem(), *priorSchedule(kernel.problem()));
    return generated.done() && generated->stages == Dim(2);
  };
  for (const char *name : {"znver4", "x86-64-v3"}) {
    Target target = Target::parse(name);
    std::string text = denseConv(target.lanes(32), 436, 12, 8);
    KernelUnderTest one(text, target, 1, 1), two(text, target, 1, 2);
    EXPECT_FALSE(staged(one)) << name;
    EXPECT_TRUE(staged(two)) << name << ": " << priorSchedule(two.problem())->str();
    if (!runsHere(target) || needsEmulator(target))
      continue;
    KernelUnderTest::Lines lines = two.lines(two.randomInputs(-1, 1), 2);
    EXPECT_EQ(lines.shared, 0);
    EXPECT_EQ(lines.most * 2, lines.written);
  }
}

/// A depthwise convolution of 20 channels and `second` on its result, which the function returns where `also` does.
std::string twoConvs(const std::string &first, const std::string &second, const std::string &weights,
                     const char *also = "") {
  std::string x = "tensor<1x20x9x9xf32, #nn.blocked<1, 16>>", w = "tensor<20x1x3x3xf32>";
  std::string returned = *also ? x + ", " + x : x;
  return fmt::format(
      "func.func private @k(%x: {0}, %w: {1} {{nn.constant}}, %v: {2} {{nn.constant}}) -> ({3}) "
      "attributes {{nn.family = \"contraction\"}} {{\n"
      "  %0 = nn.conv %x, %w {{{4}}} : ({0}, {1}) -> {0}\n  %1 = nn.conv %0, %v {{{5}}} : ({0}, {2}) -> {0}\n"
      "  return %1{6} : {3}\n}}\n",
      x, w, weights, returned, first, second, also);
}

std::string convAttributes(int64_t kernel, int64_t groups) {
  return fmt::format("strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: {0}, {0}, {0}, {0}>, "
                     "group = {1} : i64",
                     kernel / 2, groups);
}

TEST(Contraction, whatIsNoSeparablePairDeclinesWithAReason) {
  std::string pointwise = "tensor<20x20x1x1xf32>", depthwise = "tensor<20x1x3x3xf32>";
  auto reason = [](const std::string &text, const char *schedule, const char *target = "znver4") {
    return KernelUnderTest(text, Target::parse(target), 1).declined(schedule);
  };
  std::string pair = twoConvs(convAttributes(3, 20), convAttributes(1, 1), pointwise);
  EXPECT_EQ(reason(pair, ""), "");
  EXPECT_EQ(reason(pair, "separable/1 px=9 oc=2 rows=2 depthwise=9"), "");
  EXPECT_THAT(reason(pair, "separable/1 width=12"), testing::HasSubstr("width=12"));
  EXPECT_THAT(reason(pair, "separable/1 depthwise=31"), testing::HasSubstr("depthwise=31 is more than 30"));
  EXPECT_THAT(reason(pair, "direct/1 px=9"), testing::HasSubstr("two convolutions"));
  EXPECT_THAT(reason(pair, "separable/1 px=9", "x86-64-v3"), testing::HasSubstr("blocks of"));
  EXPECT_THROW(reason(pair, "separable/1 kc=16"), Error);
  EXPECT_THAT(reason(denseConv(), "separable/1 px=7"), testing::HasSubstr("separable is for"));
  EXPECT_THAT(reason(twoConvs(convAttributes(3, 20), convAttributes(3, 20), depthwise), "separable/1"),
              testing::HasSubstr("not pointwise"));
  EXPECT_THAT(reason(twoConvs(convAttributes(3, 20), convAttributes(1, 1), pointwise, ", %0"), "separable/1"),
              testing::HasSubstr("used elsewhere"));
}

} // namespace
} // namespace lathe
