// Softmax, LRN and row normalisation kernels against the references.
#include "codegen/testing/KernelEmulation.h"
#include "codegen/testing/KernelTesting.h"
#include "codegen/testing/RandomTesting.h"

#include <gtest/gtest.h>

#include <numeric>

namespace lathe {
namespace {

class Norm : public testing::Test {
protected:
  Target target = testTarget();
  int64_t block = target.channelBlock();
  std::mt19937_64 random;

  int64_t upTo(int64_t n) { return 1 + static_cast<int64_t>(random() % static_cast<uint64_t>(n)); }
  std::string tensor(const std::vector<int64_t> &dims, const std::string &type, bool blocked) {
    return fmt::format("tensor<{}x{}{}>", fmt::join(dims, "x"), type,
                       blocked ? fmt::format(", #nn.blocked<1, {}>", block) : "");
  }
};

TEST_F(Norm, softmax) {
  for (uint64_t seed : randomSeeds(100)) {
    random.seed(seed);
    bool blocked = random() % 3 == 0;
    std::vector<int64_t> dims;
    for (size_t i = 0; i < (blocked ? 3 : 1) + seed % 3; ++i)
      dims.push_back(upTo(random() % 2 ? 150 : 9));
    if (blocked && dims[0] > 9)
      dims[0] = 2;
    int64_t axis = static_cast<int64_t>(random() % dims.size());
    if (blocked && axis == 1)
      axis = 2;
    std::string type = std::vector<std::string>{"f32", "f32", "f64", "f16"}[random() % 4],
                x = tensor(dims, type, blocked);
    std::string text =
        fmt::format("func.func @k(%x: {0}) -> {0} attributes {{nn.family = \"softmax\"}} {{\n"
                    "  %y = nn.{1}softmax %x {{axis = {2} : i64}} : ({0}) -> {0}\n  return %y : {0}\n}}",
                    x, random() % 3 ? "" : "log_", random() % 2 ? axis : axis - static_cast<int64_t>(dims.size()));
    bool innermost = !blocked && std::all_of(dims.begin() + axis + 1, dims.end(), [](int64_t n) { return n == 1; });
    std::string schedule =
        random() % 2
            ? ""
            : fmt::format(
                  "softmax/2 grain={} interleave={}", upTo(2000),
                  innermost ? std::min<int64_t>(int64_t(1) << random() % 3, target.lanes(type == "f64" ? 64 : 32)) : 1);
    EXPECT_EQ(checkKernel(text, target, seed,
                          type == "f16"   ? 5e-3
                          : type == "f32" ? 1e-6
                                          : 1e-13,
                          -8, 8, schedule),
              "")
        << "seed " << seed;
  }
}

TEST_F(Norm, softmaxOfLargeNumbers) {
  EXPECT_EQ(
      checkKernel("func.func @k(%x: tensor<5x77xf32>) -> tensor<5x77xf32> attributes {nn.family = \"softmax\"} {\n"
                  "  %y = nn.softmax %x : (tensor<5x77xf32>) -> tensor<5x77xf32>\n  return %y : tensor<5x77xf32>\n}",
                  target, 1, 1e-6, 5e4, 5.0001e4),
      "");
}

/// A row gives the same bits alone and beside other rows, because the division into work items depends on the threads.
TEST_F(Norm, rowsBesideOthers) {
  for (const char *family : {"softmax", "normalize"})
    for (int64_t length : {3, 16, 77, 200}) {
      std::string x = tensor({11, length}, "f32", false), parameter = tensor({length}, "f32", false);
      bool softmax = std::string_view(family) == "softmax";
      std::string argument = softmax ? "" : fmt::format(", %s: {}", parameter);
      std::string row = softmax ? fmt::format("nn.softmax %x : ({})", x)
                                : fmt::format("nn.layer_norm %x, %s : ({}, {})", x, parameter);
      std::string text = fmt::format("func.func @k(%x: {0}{1}) -> {0} attributes {{nn.family = \"{2}\"}} {{\n"
                                     "  %y = {3} -> {0}\n  return %y : {0}\n}}",
                                     x, argument, family, row);
      KernelUnderTest kernel(text, target);
      std::vector<Tensor> inputs = kernel.randomInputs(-8, 8);
      for (int64_t rows : {1, 2, 4}) {
        std::string version = softmax ? "softmax/2" : "normalize/2 hold=8";
        Tensor alone = kernel.run(inputs, fmt::format("{} grain=1 interleave={}", version, rows))[0];
        Tensor together = kernel.run(inputs, fmt::format("{} grain=100000 interleave={}", version, rows))[0];
        EXPECT_EQ(difference(together, alone, 0), "") << family << " of " << length << ", rows " << rows;
      }
    }
}

TEST_F(Norm, softmaxOverBlockedChannelsDeclines) {
  std::string x = tensor({1, 20, 3}, "f32", true);
  KernelUnderTest kernel(fmt::format("func.func @k(%x: {0}) -> {0} attributes {{nn.family = \"softmax\"}} {{\n"
                                     "  %y = nn.softmax %x {{axis = 1 : i64}} : ({0}) -> {0}\n  return %y : {0}\n}}",
                                     x),
                         target);
  EXPECT_EQ(kernel.declined(), "softmax over blocked channels");
}

TEST_F(Norm, lrn) {
  for (uint64_t seed : randomSeeds(100)) {
    random.seed(seed);
    bool blocked = random() % 2;
    std::vector<int64_t> dims{upTo(2), upTo(50)};
    for (size_t i = 0; i < (blocked ? 1 : 0) + seed % 3; ++i)
      dims.push_back(upTo(25));
    std::string type = random() % 4 ? "f32" : "f64", x = tensor(dims, type, blocked);
    double beta = std::vector<double>{0.75, 0.5, 1, 0.6}[random() % 4];
    std::string text =
        fmt::format("func.func @k(%x: {0}) -> {0} attributes {{nn.family = \"lrn\"}} {{\n"
                    "  %y = nn.lrn %x {{size = {1} : i64, alpha = 0.3, beta = {2:e}, bias = 1.5}} : ({0}) -> {0}\n"
                    "  %z = nn.relu %y : ({0}) -> {0}\n  return %z : {0}\n}}",
                    x, upTo(9), beta);
    std::string schedule = random() % 2 ? "" : fmt::format("lrn/1 grain={}", upTo(1000));
    EXPECT_EQ(checkKernel(text, target, seed, type == "f32" ? 5e-7 : 1e-14, -5, 5, schedule), "") << "seed " << seed;
  }
}

/// A kernel of one normalisation, sometimes with an epilogue.
TEST_F(Norm, normalizations) {
  for (uint64_t seed : randomSeeds(240)) {
    random.seed(seed);
    int64_t kind = static_cast<int64_t>(random() % 5); // layer, rms, lp, instance, group
    bool perChannel = kind >= 3, blocked = perChannel && random() % 2, symbolic = random() % 4 == 0;
    std::vector<int64_t> dims;
    for (size_t i = 0; i < (perChannel ? 2 : 1) + random() % 3 + (blocked ? 1 : 0); ++i)
      dims.push_back(upTo(random() % 3 ? 9 : i == 0 ? 20 : 150));
    auto rank = static_cast<int64_t>(dims.size());
    std::string type = blocked ? "f32" : std::vector<std::string>{"f32", "f32", "f64", "f16"}[random() % 4];
    std::string attributes, operands, types, arguments;
    std::vector<int64_t> parameter;
    int64_t groups = 1;
    if (kind == 4) {
      groups = upTo(6);
      int64_t of = std::vector<int64_t>{1, 2, 4, 8, block, 2 * block, 3, 5}[random() % (blocked ? 6 : 8)];
      dims[1] = groups * of;
      attributes = fmt::format("num_groups = {} : i64, ", groups);
    }
    int64_t axis = static_cast<int64_t>(random() % dims.size());
    if (perChannel)
      parameter = {dims[1]};
    else
      parameter.assign(dims.begin() + axis, dims.end());
    if (!perChannel)
      attributes = fmt::format("axis = {} : i64, ", random() % 2 ? axis : axis - rank);
    if (kind == 2)
      attributes += fmt::format("p = {} : i64, ", upTo(2));
    else if (!perChannel && random() % 3 == 0)
      for (int64_t &extent : parameter)
        extent = random() % 2 ? extent : 1;
    // If a few numbers are almost equal, their deviations are as uncertain as their rounded mean, and they are divided
    // by little more than the root of epsilon.
    int64_t first = kind == 4 ? 1 : kind == 3 ? 2 : axis;
    int64_t normalized = std::accumulate(dims.begin() + first, dims.end(), int64_t(1), std::multiplies<>()) / groups;
    attributes += normalized < 8 ? "epsilon = 1.0" : "epsilon = 1.0e-3";
    std::string x = tensor(dims, type, blocked), p = tensor(parameter, type, false), symbols;
    if (symbolic && (kind >= 2 || axis > 0)) { // parameters do not vary with the batch
      if (kind == 2 || dims[0] == 1)
        dims[0] = 3;
      auto texts = std::vector<std::string>{"\"N\""};
      for (int64_t i = 1; i < rank; ++i)
        texts.push_back(fmt::format("\"{}\"", dims[i]));
      symbols = fmt::format(" {{nn.dims = [{}]}}", fmt::join(texts, ", "));
      x = "tensor<?" + x.substr(x.find('x'));
    }
    int64_t parameters = kind == 2 ? 0 : kind == 1 ? 1 : perChannel ? 2 : upTo(2);
    for (int64_t i = 0; i < parameters; ++i) {
      operands += fmt::format(", %p{}", i);
      types += ", " + p;
      arguments += fmt::format(", %p{}: {}", i, p);
    }
    const char *names[] = {"layer_norm", "rms_norm", "lp_normalize", "instance_norm", "group_norm"};
    int64_t epilogue = static_cast<int64_t>(random() % 3); // none, activation, residual and activation
    std::string text = fmt::format("func.func @k(%x: {0}{1}{2}{3}) -> {0} attributes {{nn.family = \"normalize\"}} {{\n"
                                   "  %y = nn.{4} %x{5} {{{6}}} : ({0}{7}) -> {0}\n",
                                   x, symbols, arguments, epilogue == 2 ? fmt::format(", %r: {}{}", x, symbols) : "",
                                   names[kind], operands, attributes, types);
    if (epilogue == 2)
      text += fmt::format("  %s = nn.add %y, %r : ({0}, {0}) -> {0}\n", x);
    if (epilogue)
      text += fmt::format("  %z = nn.relu %{1} : ({0}) -> {0}\n", x, epilogue == 2 ? "s" : "y");
    text += fmt::format("  return %{} : {}\n}}", epilogue ? "z" : "y", x);
    int64_t together = std::min<int64_t>(int64_t(1) << random() % 3, target.lanes(type == "f64" ? 64 : 32));
    std::string schedule = random() % 2 ? ""
                                        : fmt::format("normalize/2 grain={} hold={} interleave={}", upTo(2000),
                                                      random() % 20, blocked || kind == 2 ? 1 : together);
    constexpr double largest = 8; // of the values and of the scales
    double tolerance = type == "f16" ? 5e-3 : type == "f32" ? 2e-6 + largest * largest * 0x1p-24 : 1e-13;
    EXPECT_EQ(checkKernel(text, target, seed, tolerance, -3, largest, schedule, {{"N", dims[0]}}), "")
        << "seed " << seed << "\n"
        << text;
  }
}

TEST_F(Norm, normalizationOfAlmostEqualNumbers) {
  // Deviations of a few thousandths around a mean of a thousand.
  EXPECT_EQ(checkKernel("func.func @k(%x: tensor<5x777xf32>, %s: tensor<777xf32>) -> tensor<5x777xf32> attributes "
                        "{nn.family = \"normalize\"} {\n"
                        "  %y = nn.layer_norm %x, %s {epsilon = 1.0e-12} : (tensor<5x777xf32>, tensor<777xf32>) -> "
                        "tensor<5x777xf32>\n"
                        "  return %y : tensor<5x777xf32>\n}",
                        target, 1, 2e-3, 1000, 1000.5),
            "");
}

TEST_F(Norm, normalizationsOfConstantParameters) {
  EXPECT_EQ(checkKernel(
                "func.func @k(%x: tensor<2x3x77xf32>) -> tensor<2x3x77xf32> attributes {nn.family = \"normalize\"} {\n"
                "  %s = nn.constant {value = dense<2.0> : tensor<3xf32>} : tensor<3xf32>\n"
                "  %b = nn.constant {value = dense<0.5> : tensor<3xf32>} : tensor<3xf32>\n"
                "  %y = nn.instance_norm %x, %s, %b : (tensor<2x3x77xf32>, tensor<3xf32>, tensor<3xf32>) -> "
                "tensor<2x3x77xf32>\n"
                "  return %y : tensor<2x3x77xf32>\n}",
                target, 1, 2e-6),
            "");
}

TEST_F(Norm, normalizationsDecline) {
  auto reason = [&](const std::string &text) { return KernelUnderTest(text, target).declined(); };
  std::string x = tensor({1, 3 * block, 3}, "f32", true), p = fmt::format("tensor<{}xf32>", 3 * block);
  EXPECT_EQ(
      reason(fmt::format(
          "func.func @k(%x: {0}, %s: {1}) -> {0} attributes {{nn.family = \"normalize\"}} {{\n"
          "  %y = nn.group_norm %x, %s, %s {{num_groups = {2} : i64}} : ({0}, {1}, {1}) -> {0}\n  return %y : {0}\n}}",
          x, p, block)),
      fmt::format("groups of 3 channels in blocks of {}", block));
  EXPECT_EQ(
      reason(fmt::format("func.func @k(%x: {0}, %s: tensor<3xf32>) -> {0} attributes {{nn.family = \"normalize\"}} {{\n"
                         "  %y = nn.layer_norm %x, %s : ({0}, tensor<3xf32>) -> {0}\n  return %y : {0}\n}}",
                         x)),
      "normalises over blocked channels");
}

} // namespace
} // namespace lathe
