// The algorithm amx against the references, on any machine with AVX-512: its instructions are emulated
// (codegen/testing/TileEmulation.h). FormatTest runs it on tile registers where there are some.
#include "codegen/contraction/common/ContractionFacts.h"
#include "codegen/testing/KernelEmulation.h"
#include "codegen/testing/KernelTesting.h"
#include "codegen/testing/RandomContractions.h"
#include "codegen/testing/RandomKernels.h"
#include "codegen/testing/TileEmulation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lathe {
namespace {

Target withTiles() { return Target::parse("native,+amx-tile,+amx-int8,+amx-bf16"); }

/// "" where the rest of the instructions of a format are there, otherwise what to print.
std::string missingHere(const char *format) {
  Target target = withTiles();
  std::string reason = formatNamed(format, ElementType::i32).obstacle(target);
  if (reason.empty() && target.lanes(32) != 16)
    reason = target.str() + " has no vectors of 512 bits";
  return reason.empty() ? "" : "KERNELS OF AMX ARE NOT TESTED HERE: " + reason;
}

Tensor unchanged(Tensor x, size_t) { return x; }
Tensor roundedToBf16(Tensor x, size_t) { return x.convertedTo(ElementType::bf16).convertedTo(x.type()); }

/// The schedule that ran, or "" if this one is declined; fails if results differ.
std::string check(const KernelText &text, const char *format, Random &random, uint64_t seed) {
  Target target = withTiles();
  bool isByte = std::string_view(format) == "i8";
  KernelUnderTest kernel(text.str(), target, seed);
  kernel.change = emulateTiles;
  Outcome<std::unique_ptr<KernelFacts>> facts = readFacts(kernel.problem());
  if (!facts.done())
    return "";
  std::string schedule = randomSchedule(random, **facts, "amx", {{"type", format}}).str();
  if (!kernel.declined(schedule).empty())
    return "";
  std::vector<Tensor> inputs =
      isByte ? kernel.randomInputs(-128, 255, text.symbols) : kernel.randomInputs(-1, 1, text.symbols);
  std::vector<Tensor> got = kernel.run(inputs, schedule);
  std::vector<Tensor> expected = kernel.evaluated(inputs, isByte ? unchanged : roundedToBf16).results;
  double magnitude = isByte ? 0 : kernel.largestSum(inputs) + 1; // a bias is at most 1
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_EQ(difference(got[i], expected[i], isByte ? 2e-7 : 2e-5, magnitude), "")
        << "'" << schedule << "', LATHE_SEED=" << seed << "\n"
        << text.str();
  return schedule;
}

TEST(Tiles, bytesMatchReference) {
  if (std::string missing = missingHere("i8"); !missing.empty())
    GTEST_SKIP() << missing;
  int ran[2] = {}; // products, convolutions
  // Few random schedules suit tiles, so the number of draws depends on how many ran. One in ten does on average: if
  // 11 of either kind are not among 2000 draws, something declines them.
  auto enough = [&] { return ran[0] > 10 && ran[1] > 10; };
  for (int i = 0; (i < 240 || (i < 2000 && !enough())) && !HasFailure(); ++i) {
    uint64_t seed = baseSeed() + i;
    Random random(seed * 8 + 5);
    KernelText text = seed % 2 ? randomConvInteger(random, 16) : randomMatMulInteger(random);
    ran[seed % 2] += !check(text, "i8", random, seed).empty();
  }
  EXPECT_GT(ran[0], 10) << "nearly every product is declined, LATHE_SEED=" << baseSeed();
  EXPECT_GT(ran[1], 10) << "nearly every convolution is declined, LATHE_SEED=" << baseSeed();
}

TEST(Tiles, bf16MatchesReferenceOnRoundedOperands) {
  if (std::string missing = missingHere("bf16"); !missing.empty())
    GTEST_SKIP() << missing;
  int ran = 0;
  for (int i = 0; (i < 60 || (i < 600 && ran <= 10)) && !HasFailure(); ++i) {
    uint64_t seed = baseSeed() + i;
    Random random(seed * 8 + 6);
    KernelText text = seed % 2 ? randomConv(random, withTiles(), Grouping::dense) : randomGemm(random);
    ran += !check(text, "bf16", random, seed).empty();
  }
  EXPECT_GT(ran, 10) << "nearly every schedule is declined, LATHE_SEED=" << baseSeed();
}

/// A volume of depth 1 is a plane to kernels of depth 1 only: taps of deeper ones read padding.
TEST(Tiles, declinesDeepKernels) {
  auto declined = [](const char *depth, const char *pad) {
    KernelUnderTest kernel(
        fmt::format(
            "func.func private @k(%x: tensor<1x32x1x5x5xf32, #nn.blocked<1, 16>>, %w: tensor<32x32x{0}x3x3xf32> "
            "{{nn.constant}}) -> tensor<1x32x1x3x3xf32, #nn.blocked<1, 16>> attributes {{nn.family = "
            "\"contraction\"}} {{\n  %0 = nn.conv %x, %w {{strides = array<i64: 1, 1, 1>, dilations = array<i64: "
            "1, 1, 1>, pads = array<i64: {1}, 0, 0, 0, 0, 0>, group = 1 : i64}} : (tensor<1x32x1x5x5xf32, "
            "#nn.blocked<1, 16>>, tensor<32x32x{0}x3x3xf32>) -> tensor<1x32x1x3x3xf32, #nn.blocked<1, 16>>\n  "
            "return %0 : tensor<1x32x1x3x3xf32, #nn.blocked<1, 16>>\n}}\n",
            depth, pad),
        withTiles(), 1);
    return kernel.declined("amx/1 rows=2 type=bf16");
  };
  if (std::string missing = missingHere("bf16"); !missing.empty())
    GTEST_SKIP() << missing;
  EXPECT_EQ(declined("1", "0"), "");
  EXPECT_THAT(declined("2", "1"), testing::HasSubstr("one group over planes"));
}

/// A convolution in the middle of a quantised network, as priors choose it for a machine with AMX.
std::string convolution(const char *input, const char *zero) {
  return fmt::format(
      "func.func private @k(%x: tensor<1x72x9x9x{0}, #nn.blocked<1, 16>>, %w: tensor<40x72x3x3xi8> {{nn.constant}}, "
      "%z: "
      "tensor<{0}>, %p: tensor<i8> {{nn.constant}}) -> tensor<1x40x9x9xi32, #nn.blocked<1, 16>> attributes "
      "{{nn.family = \"contraction\"}} {{\n"
      "  %0 = nn.conv_integer %x, %w, %z{1} {{strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = "
      "array<i64: 1, "
      "1, 1, 1>, operandSegmentSizes = array<i32: 1, 1, 1, {2}>}} : (tensor<1x72x9x9x{0}, #nn.blocked<1, 16>>, "
      "tensor<40x72x3x3xi8>, tensor<{0}>{3}) -> tensor<1x40x9x9xi32, #nn.blocked<1, 16>>\n"
      "  return %0 : tensor<1x40x9x9xi32, #nn.blocked<1, 16>>\n}}\n",
      input, *zero ? ", %p" : "", *zero ? 1 : 0, *zero ? ", tensor<i8>" : "");
}

TEST(Tiles, priorsTakeTilesForBytes) {
  auto prior = [](const char *target, const char *zero) {
    KernelUnderTest kernel(convolution("ui8", zero), Target::parse(target), 1);
    Outcome<Schedule> schedule = priorSchedule(kernel.problem());
    return schedule.done() ? schedule->str() : schedule.reason();
  };
  EXPECT_THAT(prior("sapphirerapids", ""), testing::AllOf(testing::StartsWith("amx/1"), testing::HasSubstr("type=i8")));
  EXPECT_THAT(prior("sapphirerapids,-amx-int8", ""),
              testing::AllOf(testing::StartsWith("direct/1"), testing::HasSubstr("type=i8")));
  // A zero point of the weights is multiplied by the sum of each position's inputs. `direct` adds these up, `amx` does not.
  EXPECT_THAT(prior("sapphirerapids", "zero"), testing::StartsWith("direct/1"));
}

/// The instructions, of code that does not run here.
TEST(Tiles, codeForTileRegistersMultipliesBytes) {
  Target target = Target::parse("sapphirerapids");
  KernelUnderTest kernel(convolution("i8", ""), target, 1);
  Outcome<Schedule> schedule = priorSchedule(kernel.problem());
  ASSERT_TRUE(schedule.done()) << schedule.reason();
  Outcome<GeneratedKernel> generated = generate(kernel.problem(), *schedule);
  ASSERT_TRUE(generated.done()) << generated.reason();
  std::string text = emitText(*generated->module, target, EmitStage::assembly);
  for (const char *instruction : {"ldtilecfg", "tilezero", "tileloadd", "tdpbusd", "tilestored", "tilerelease"})
    EXPECT_THAT(text, testing::HasSubstr(instruction));
}

} // namespace
} // namespace lathe
