// Resize kernels against the references, over modes, extents, layouts and types.
#include "codegen/testing/KernelEmulation.h"
#include "codegen/testing/KernelTesting.h"
#include "codegen/testing/RandomTesting.h"

#include <gtest/gtest.h>

namespace lathe {
namespace {

TEST(Resize, randomExtents) {
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
    bool bySizes = random() % 2, rounded = !bySizes && random() % 3 == 0; // sizes beside scales
    for (size_t i = 2; rounded && i < in.size(); ++i)
      out[i] = static_cast<int64_t>(std::floor(static_cast<double>(in[i]) * scales[i] + 0.5));
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
                    (bySizes || rounded ? fmt::format("sizes = array<i64: {}>", fmt::join(out, ", ")) : "") +
                        (rounded ? ", " : "") +
                        (bySizes ? "" : fmt::format("scales = array<f64: {}>", fmt::join(scaleTexts, ", "))),
                    antialias && mode != "nearest" ? ", antialias = true" : "",
                    random() % 4 == 0 ? ", exclude_outside = true" : "");
    std::string schedule = random() % 2 ? "" : fmt::format("resize/1 grain={}", upTo(1000));
    // The only valid reason to decline: every axis is shifted by half an element.
    if (KernelUnderTest(text, target).declined(schedule) == "resize of blocked channels")
      continue;
    ++run;
    EXPECT_EQ(checkKernel(text, target, seed,
                          mode == "nearest" ? 0
                          : type == "bf16"  ? 1e-2
                          : antialias       ? 3e-6 // sums of many products
                                            : 1e-6,
                          -8, 8, schedule),
              "")
        << "seed " << seed;
  }
  EXPECT_GE(run, 90);
}

/// A kernel whose extents are symbols, and sizes or scales as operands.
struct OpenResize {
  std::mt19937_64 random;
  std::string mode, type, text;
  int64_t channels = 1;
  size_t spatial = 2;
  bool byScales = false, antialias = false;

  int64_t upTo(int64_t n) { return 1 + static_cast<int64_t>(random() % static_cast<uint64_t>(n)); }
  std::string oneOf(std::vector<std::string> words) { return words[random() % words.size()]; }

  OpenResize(uint64_t seed, const Target &target) : random(seed) {
    bool blocked = random() % 2;
    mode = oneOf({"nearest", "linear", "linear", "cubic"});
    type = mode == "nearest" ? oneOf({"f32", "i8", "f64", "f16"}) : oneOf({"f32", "f32", "f64", "bf16"});
    antialias = mode != "nearest" && random() % 3 == 0;
    byScales = random() % 2;
    spatial = 1 + random() % 3;
    channels = upTo(35);
    std::string shape = fmt::format("?x{}x", channels);
    std::vector<std::string> in = {"N", std::to_string(channels)}, out = in, names;
    for (size_t i = 0; i < spatial; ++i) {
      shape += "?x";
      in.push_back(fmt::format("I{}", i));
      out.push_back(fmt::format("O{}", i));
      names.push_back(out.back());
    }
    auto list = [](const std::vector<std::string> &words) {
      return fmt::format("[\"{}\"]", fmt::join(words, "\", \""));
    };
    std::string tensor = fmt::format("tensor<{}{}{}>", shape, type,
                                     blocked ? fmt::format(", #nn.blocked<1, {}>", target.channelBlock()) : ""),
                rank = std::to_string(2 + spatial),
                marks = spatial == 1   ? "?"
                        : spatial == 2 ? "?x?"
                                       : "?x?x?",
                known = "1., 1.";
    for (size_t i = 0; i < spatial; ++i)
      known += ", 0.";
    text = fmt::format(
        "func.func @k(%x: {0} {{nn.dims = {1}}}, %s: tensor<{2}xi64> {{nn.contents = {3}}}, %f: tensor<{2}xf32>, "
        "%u: tensor<{4}xf32> {{nn.dims = {5}}}) -> {0} attributes {{nn.family = \"resize\"}} {{\n"
        "  %y = nn.resize %x, {6}%s {{operandSegmentSizes = array<i32: 1, 0, {7}, 1>, mode = \"{8}\", coordinate_mode "
        "= "
        "\"{9}\", nearest_mode = \"{10}\"{11}{12}{13}}} : ({0}, {14}tensor<{2}xi64>) -> {0}\n  return %y : {0}\n}}",
        tensor, list(in), rank, list(out), marks, list(names), byScales ? "%f, " : "", byScales ? 1 : 0, mode,
        oneOf({"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric"}),
        oneOf({"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}), antialias ? ", antialias = true" : "",
        random() % 4 == 0 ? ", exclude_outside = true" : "",
        byScales ? fmt::format(", scales = array<f64: {}>", known) : "",
        byScales ? fmt::format("tensor<{}xf32>, ", rank) : "");
  }

  /// Operands with new extents for every call.
  std::vector<Tensor> operands(KernelUnderTest &kernel) {
    std::map<std::string, int64_t> symbols = {{"N", random() % 8 ? upTo(2) : 0}};
    std::vector<int64_t> sizes = {symbols["N"], channels};
    std::vector<float> scales = {1, 1};
    for (size_t i = 0; i < spatial; ++i) {
      int64_t in = upTo(spatial == 3 ? 9 : random() % 4 ? 24 : 3), out = upTo(spatial == 3 ? 9 : 40);
      float scale = static_cast<float>(out) / static_cast<float>(in) * (random() % 2 ? 1.0F : 1.07F);
      if (byScales)
        out = static_cast<int64_t>( // rounded down, or to the nearest
            std::floor(static_cast<double>(in) * static_cast<double>(scale) + (random() % 2 ? 0.5 : 0)));
      if (out < 1) { // where the quotient is rounded down
        scale = 1;
        out = in;
      }
      symbols[fmt::format("I{}", i)] = in;
      symbols[fmt::format("O{}", i)] = out;
      sizes.push_back(out);
      scales.push_back(scale);
    }
    std::vector<Tensor> inputs = kernel.randomInputs(-8, 8, symbols);
    auto rank = static_cast<int64_t>(sizes.size());
    inputs[1] = Tensor::of<int64_t>({rank}, std::span<const int64_t>(sizes));
    inputs[2] = Tensor::of<float>({rank}, std::span<const float>(scales));
    return inputs;
  }
};

TEST(Resize, oneKernelForAllExtents) {
  Target target = testTarget();
  for (uint64_t seed : randomSeeds(60)) {
    OpenResize open(seed, target);
    KernelUnderTest kernel(open.text, target, seed, 1 + static_cast<int>(seed % 2));
    std::string schedule = seed % 3 ? "" : fmt::format("resize/1 grain={}", open.upTo(1000));
    ASSERT_EQ(kernel.declined(schedule), "") << "seed " << seed << "\n" << open.text;
    for (int time = 0; time < 3; ++time) {
      std::vector<Tensor> inputs = open.operands(kernel);
      Tensor got = kernel.run(inputs, schedule).at(0);
      double tolerance = open.mode == "nearest" ? 0 : open.type == "bf16" ? 1e-2 : open.antialias ? 3e-6 : 1e-6;
      ASSERT_EQ(difference(got, kernel.expected(inputs).at(0), tolerance), "") << "seed " << seed << "\n" << open.text;
      ASSERT_EQ(difference(kernel.run(inputs, schedule).at(0), got, 0), "") << "other slots, seed " << seed;
    }
  }
}

} // namespace
} // namespace lathe
