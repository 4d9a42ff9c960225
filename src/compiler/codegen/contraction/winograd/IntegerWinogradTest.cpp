// Winograd's transforms of bytes against the references: exact, in every schedule.
#include "codegen/space/ContractionFormat.h"
#include "codegen/testing/KernelEmulation.h"
#include "codegen/testing/KernelTesting.h"
#include "codegen/testing/RandomContractions.h"
#include "codegen/testing/RandomKernels.h"

#include <gtest/gtest.h>

namespace lathe {
namespace {

/// A 3x3 convolution of bytes in blocks, with a zero point and a bias if a chance says so.
KernelText bytesForWinograd(Random &random, int64_t block) {
  KernelText text;
  int64_t in = random.in(1, 40), out = random.in(1, 50), height = random.in(1, 13), width = random.in(1, 13);
  std::vector<int64_t> pads;
  for (int64_t extent : {height, width, height, width})
    pads.push_back(random.in(extent < 3 ? 1 : 0, 2));
  std::string type = random.of<std::string>({"i8", "ui8"});
  auto blocked = [&](int64_t channels, int64_t rows, int64_t columns, const std::string &of) {
    return fmt::format("tensor<2x{}x{}x{}x{}, #nn.blocked<1, {}>>", channels, rows, columns, of, block);
  };
  std::string x = blocked(in, height, width, type), w = fmt::format("tensor<{}x{}x3x3xi8>", out, in);
  text.type = blocked(out, height + pads[0] + pads[2] - 2, width + pads[1] + pads[3] - 2, "i32");
  std::string operands = text.argument(x, false) + ", " + text.argument(w, true), types = x + ", " + w;
  bool zero = random.chance(2);
  if (zero) {
    std::string zeroType = fmt::format("tensor<{}>", type);
    operands += ", " + text.argument(zeroType, false);
    types += ", " + zeroType;
  }
  text.op(fmt::format("conv_integer {} {{strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: "
                      "{}>, group = 1 : i64, operandSegmentSizes = array<i32: 1, 1, {}, 0>}}",
                      operands, fmt::join(pads, ", "), zero ? 1 : 0),
          types);
  if (random.chance(2)) {
    std::string bias = fmt::format("tensor<1x{}x1x1xi32>", out), argument = text.argument(bias, true);
    text.op("add " + text.last + ", " + argument, text.type + ", " + bias);
  }
  return text;
}

/// The format of products at points.
const char *formatOf(const Target &target) {
  return formatNamed("i16", ElementType::i32).obstacle(target).empty() ? "i16" : "i32";
}

TEST(IntegerWinograd, everyScheduleMatchesReference) {
  Target target = testTarget();
  int ran = 0;
  for (int i = 0; ran < 30 && i < 300; ++i) {
    uint64_t seed = baseSeed() + i;
    Random random(seed * 8 + 3);
    std::string format = i % 3 ? formatOf(target) : "i32";
    KernelText text = bytesForWinograd(random, target.channelBlock());
    KernelUnderTest kernel(text.str(), target, seed);
    Outcome<std::unique_ptr<KernelFacts>> facts = readFacts(kernel.problem());
    ASSERT_TRUE(facts.done()) << facts.reason() << "\n" << text.str();
    std::string schedule = randomSchedule(random, **facts, "winograd", {{"type", format}}).str();
    if (!kernel.declined(schedule).empty())
      continue; // of other tiles than m=2, or with too large register blocks
    ++ran;
    ASSERT_EQ(checkKernel(text.str(), target, seed, 0, -128, 255, schedule, text.symbols), "")
        << "'" << schedule << "', LATHE_SEED=" << seed << "\n"
        << text.str();
  }
  EXPECT_EQ(ran, 30) << "nearly every random schedule is declined, LATHE_SEED=" << baseSeed();
}

/// The largest sums of bytes at Winograd's points: with weights of one sign, and with two signs for the differences.
TEST(IntegerWinograd, extremesAtPointsAreExact) {
  Target target = testTarget();
  std::string layout = fmt::format("#nn.blocked<1, {}>", target.channelBlock());
  std::string text = fmt::format(
      "func.func private @k(%a: tensor<1x64x6x6xui8, {0}>, %b: tensor<16x64x3x3xi8> {{nn.constant}}, %z: tensor<ui8>) "
      "-> tensor<1x16x4x4xi32, {0}> attributes {{nn.family = \"contraction\"}} {{\n"
      "  %0 = nn.conv_integer %a, %b, %z {{strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: "
      "0, "
      "0, 0, 0>, group = 1 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 0>}} : (tensor<1x64x6x6xui8, {0}>, "
      "tensor<16x64x3x3xi8>, tensor<ui8>) -> tensor<1x16x4x4xi32, {0}>\n"
      "  return %0 : tensor<1x16x4x4xi32, {0}>\n}}\n",
      layout);
  for (auto [a, b, zero] : {std::tuple(255, 127, 0), {255, -128, 0}, {0, 127, 255}, {0, -128, 255}})
    for (bool alternates : {false, true}) {
      KernelUnderTest kernel(text, target, 1);
      std::vector<Tensor> inputs = kernel.randomInputs(0, 0);
      for (int64_t i = 0; i < inputs[0].elements(); ++i)
        inputs[0].as<uint8_t>()[i] = uint8_t(alternates && i % 2 ? zero : a);
      for (int64_t i = 0; i < inputs[1].elements(); ++i)
        inputs[1].as<int8_t>()[i] = int8_t(alternates && i % 2 ? -1 - b : b);
      inputs[2].as<uint8_t>()[0] = uint8_t(zero);
      std::vector<Tensor> got =
          kernel.run(inputs, fmt::format("winograd/2 m=2 mr=2 mc=2 oc=1 unroll=1 type={}", formatOf(target)));
      EXPECT_EQ(difference(got[0], kernel.expected(inputs)[0], 0, 1), "") << a << " " << b << " " << zero;
    }
}

/// What the prior chooses: fewer products where they take two steps at once, not where they take four.
TEST(IntegerWinograd, priorTransformsWhereProductsTakePairs) {
  for (auto [name, algorithm] : {std::pair("x86-64-v3", "winograd"), {"znver4", "direct"}}) {
    Target target = Target::parse(name);
    std::string type = fmt::format("tensor<1x128x28x28x{{}}, #nn.blocked<1, {}>>", target.channelBlock());
    std::string x = fmt::format(fmt::runtime(type), "ui8"), y = fmt::format(fmt::runtime(type), "i32");
    KernelText text;
    text.type = y;
    std::string a = text.argument(x, false), b = text.argument("tensor<128x128x3x3xi8>", true);
    text.op(
        fmt::format("conv_integer {}, {} {{strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: "
                    "1, 1, 1, 1>, group = 1 : i64, operandSegmentSizes = array<i32: 1, 1, 0, 0>}}",
                    a, b),
        x + ", tensor<128x128x3x3xi8>");
    Outcome<Schedule> schedule = priorSchedule(KernelUnderTest(text.str(), target, 1).problem());
    ASSERT_TRUE(schedule.done()) << schedule.reason();
    EXPECT_EQ(schedule->algorithm, algorithm) << name;
  }
}

} // namespace
} // namespace lathe
