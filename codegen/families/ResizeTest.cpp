// Resize kernels against the references, over modes, extents, layouts and types.
#include "codegen/testing/KernelEmulation.h"
#include "codegen/testing/KernelTesting.h"
#include "codegen/testing/RandomTesting.h"
#include "ops/Lowerings.h"

#include <gtest/gtest.h>

namespace lathe {
namespace {

TEST(Resize, randomExtents) {
  registerLowerings();
  Target target = testTarget();
  int64_t block = target.channelBlock();
  const char *modes[] = {"nearest", "linear", "cubic"};
  const char *coordinates[] = {"half_pixel",    "half_pixel_symmetric", "pytorch_half_pixel",
                               "align_corners", "asymmetric",           "tf_half_pixel_for_nn"};
  const char *rounding[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};
  int run = 0;
  for (uint64_t seed : randomSeeds(120)) {
    std::mt19937_64 random(seed);
    auto upTo = [&](int64_t n) { return 1 + static_cast<int64_t>(random() % static_cast<uint64_t>(n)); };
    bool blocked = random() % 2, antialias = random() % 8 == 0;
    std::string mode = modes[seed % 3];
    std::vector<int64_t> in{upTo(2), upTo(35)}, out = in;
    std::vector<double> scales{1, 1};
    for (size_t i = 0; i < 1 + random() % 2; ++i) {
      in.push_back(upTo(20));
      scales.push_back(std::vector<double>{1, 2, 0.5, 1.7, 3}[random() % 5]);
      out.push_back(
          std::max<int64_t>(1, static_cast<int64_t>(std::floor(static_cast<double>(in.back()) * scales.back()))));
      if (static_cast<double>(in.back()) * scales.back() < 1)
        scales.back() = 1, out.back() = in.back();
    }
    bool bySizes = random() % 2;
    std::string type = mode == "nearest" ? std::vector<std::string>{"f32", "i8", "f64", "f16"}[random() % 4]
                                         : std::vector<std::string>{"f32", "f32", "f64", "bf16"}[random() % 4];
    auto tensor = [&](const std::vector<int64_t> &dims) {
      return fmt::format("tensor<{}x{}{}>", fmt::join(dims, "x"), type,
                         blocked ? fmt::format(", #nn.blocked<1, {}>", block) : "");
    };
    std::vector<std::string> scaleTexts;
    for (double scale : scales)
      scaleTexts.push_back(fmt::format("{:e}", scale));
    std::string text =
        fmt::format("func.func @k(%x: {0}) -> {1} attributes {{nn.family = \"resize\"}} {{\n"
                    "  %y = nn.resize %x {{operandSegmentSizes = array<i32: 1, 0, 0, 0>, mode = \"{2}\", "
                    "coordinate_mode = \"{3}\", nearest_mode = \"{4}\", {5}{6}{7}}} : ({0}) -> {1}\n"
                    "  return %y : {1}\n}}",
                    tensor(in), tensor(out), mode, coordinates[random() % std::size(coordinates)],
                    rounding[random() % std::size(rounding)],
                    bySizes ? fmt::format("sizes = array<i64: {}>", fmt::join(out, ", "))
                            : fmt::format("scales = array<f64: {}>", fmt::join(scaleTexts, ", ")),
                    antialias && mode != "nearest" ? ", antialias = true" : "",
                    random() % 4 == 0 ? ", exclude_outside = true" : "");
    std::string schedule = random() % 2 ? "" : fmt::format("resize/1 grain={}", upTo(1000));
    // Two legal reasons to decline: every axis is shifted by half an element, and a kernel widened too far.
    std::string reason = KernelUnderTest(text, target).declined(schedule);
    if (reason == "resize of blocked channels" || reason == "more than eight taps along an axis")
      continue;
    ++run;
    EXPECT_EQ(checkKernel(text, target, seed,
                          mode == "nearest" ? 0
                          : type == "bf16"  ? 1e-2
                                            : 1e-6,
                          -8, 8, schedule),
              "")
        << "seed " << seed;
  }
  EXPECT_GE(run, 90);
}

} // namespace
} // namespace lathe
