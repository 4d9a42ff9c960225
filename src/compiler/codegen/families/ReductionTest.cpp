// Reductions against the references.
#include "codegen/testing/KernelEmulation.h"
#include "codegen/testing/KernelTesting.h"
#include "codegen/testing/RandomTesting.h"

#include <gtest/gtest.h>

namespace lathe {
namespace {

class Reduction : public testing::Test {
protected:
  Target target = testTarget();
  int64_t block = target.channelBlock();
};

TEST_F(Reduction, randomAxes) {
  const char *names[] = {"sum", "mean", "max", "min", "prod", "l1", "l2", "sum_square", "log_sum", "log_sum_exp"};
  for (uint64_t seed : randomSeeds(200)) {
    std::mt19937_64 random(seed);
    auto upTo = [&](int64_t n) { return 1 + static_cast<int64_t>(random() % static_cast<uint64_t>(n)); };
    std::string name = names[seed % std::size(names)];
    bool blocked = random() % 2, keepdims = random() % 2, symbolic = random() % 3 == 0,
         integers = seed % 10 < 5 && seed % 10 != 1 && random() % 4 == 0;
    if (seed % 10 == 1 || seed % 10 > 4)
      integers = false;
    size_t rank = blocked ? 3 + random() % 3 : 1 + random() % 5;
    const char *type = integers ? (name == "prod" ? "i64" : std::vector<const char *>{"i32", "i64"}[random() % 2])
                                : std::vector<const char *>{"f32", "f32", "f64", "f16"}[random() % 4];
    std::vector<int64_t> in, axes, out;
    for (size_t i = 0; i < rank; ++i)
      in.push_back(i == 0 ? upTo(4) : upTo(i + 1 == rank ? 150 : i == 1 ? 40 : 7));
    std::vector<bool> reduced(rank);
    for (size_t i = 0; i < rank; ++i)
      reduced[i] = (random() % 2) && !(blocked && i == 1);
    if (std::find(reduced.begin(), reduced.end(), true) == reduced.end() && !(blocked && rank == 1))
      reduced[blocked ? rank - 1 : 0] = true;
    for (size_t i = 0; i < rank; ++i) {
      if (reduced[i])
        axes.push_back(random() % 2 ? static_cast<int64_t>(i) : static_cast<int64_t>(i) - static_cast<int64_t>(rank));
      if (!reduced[i] || keepdims)
        out.push_back(reduced[i] ? 1 : in[i] * (i == 0 && symbolic ? -1 : 1));
    }
    std::vector<int64_t> inText = in;
    if (symbolic)
      inText[0] = -1;
    auto tensor = [&](const std::vector<int64_t> &dims, bool inBlocks) {
      std::string result = "tensor<";
      for (int64_t extent : dims)
        result += (extent < 0 ? std::string("?") : std::to_string(extent)) + "x";
      return result + type + (inBlocks ? fmt::format(", #nn.blocked<1, {}>>", block) : ">");
    };
    std::string dims;
    if (symbolic) {
      dims = " {nn.dims = [\"N\"";
      for (size_t i = 1; i < in.size(); ++i)
        dims += fmt::format(", \"{}\"", in[i]);
      dims += "]}";
    }
    bool xBlocked = blocked && random() % 4, yBlocked = blocked && keepdims && random() % 2;
    std::string x = tensor(inText, xBlocked), y = tensor(out, yBlocked);
    bool epilogue = random() % 2;
    std::string text = fmt::format(
        "func.func @k(%x: {0}{2}{5}) -> {1} attributes {{nn.family = \"reduction\"}} {{\n"
        "  %p = nn.reduce_{3} %x {{axes = array<i64: {4}>, keepdims = {6}}} : ({0}) -> {1}\n",
        x, y, dims, name, fmt::join(axes, ", "), epilogue ? fmt::format(", %b: tensor<{}>", type) : "", keepdims);
    if (epilogue)
      text += fmt::format("  %s = nn.mul %p, %b : ({0}, tensor<{1}>) -> {0}\n  return %s : {0}\n}}", y, type);
    else
      text += fmt::format("  return %p : {}\n}}", y);
    std::string schedule = random() % 2 ? "" : fmt::format("reduce/2 grain={} interleave={}", upTo(1000), upTo(16));
    bool positive = name == "log_sum" || name == "prod";
    double tolerance = integers ? 0 : std::string(type) == "f16" ? 1e-2 : std::string(type) == "f32" ? 4e-6 : 1e-12;
    EXPECT_EQ(checkKernel(text, target, seed, tolerance, positive && !integers ? 0.9 : -1, integers ? 2 : 1.1, schedule,
                          {{"N", in[0]}}),
              "")
        << "seed " << seed;
  }
}

TEST_F(Reduction, extremesKeepNaN) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  for (const char *name : {"max", "min"})
    for (int64_t axis : {0, 1}) {
      std::string result = axis == 0 ? "tensor<1x83xf32>" : "tensor<70x1xf32>";
      KernelUnderTest kernel(
          fmt::format(
              "func.func @k(%x: tensor<70x83xf32>) -> {1} attributes {{nn.family = \"reduction\"}} {{\n"
              "  %p = nn.reduce_{0} %x {{axes = array<i64: {2}>, keepdims = true}} : (tensor<70x83xf32>) -> {1}\n"
              "  return %p : {1}\n}}",
              name, result, axis),
          target);
      Tensor x(ElementType::f32, {70, 83});
      std::vector<bool> lost(static_cast<size_t>(axis == 0 ? 83 : 70));
      for (int64_t row = 0; row < 70; ++row)
        for (int64_t column = 0; column < 83; ++column) {
          float &value = x.as<float>()[row * 83 + column];
          value = static_cast<float>((row * 31 + column * 17) % 101) - 50;
          if ((row * 83 + column) % 97 == 5)
            value = row % 2 ? infinity : -infinity;
          if ((row * 83 + column) % 211 == 7) {
            value = nan;
            lost[static_cast<size_t>(axis == 0 ? column : row)] = true;
          }
        }
      std::vector<Tensor> inputs = {x};
      Tensor got = kernel.run(inputs)[0], expected = kernel.expected(inputs)[0];
      int64_t nans = 0;
      for (int64_t i = 0; i < got.elements(); ++i) {
        bool isNan = std::isnan(got.as<float>()[i]);
        nans += isNan;
        EXPECT_EQ(isNan, lost[static_cast<size_t>(i)]) << name << " " << axis << " " << i;
        if (!isNan)
          EXPECT_EQ(got.as<float>()[i], expected.as<float>()[i]) << name << " " << axis << " " << i;
      }
      EXPECT_GT(nans, 5);
      EXPECT_LT(nans, got.elements());
    }
}

} // namespace
} // namespace lathe
