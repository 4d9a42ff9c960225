// Softmax and LRN kernels against the references.
#include "codegen/KernelTesting.h"
#include "ops/Lowerings.h"

#include <gtest/gtest.h>

namespace lathe {
namespace {

class Norm : public testing::Test {
protected:
  void SetUp() override { registerLowerings(); }
  Target target = Target::parse("native");
  int64_t block = target.channelBlock();
  std::mt19937_64 random;

  int64_t upTo(int64_t n) { return 1 + static_cast<int64_t>(random() % static_cast<uint64_t>(n)); }
  std::string tensor(const std::vector<int64_t> &dims, const std::string &type, bool blocked) {
    return fmt::format("tensor<{}x{}{}>", fmt::join(dims, "x"), type, blocked ? fmt::format(", #nn.blocked<1, {}>", block) : "");
  }
};

TEST_F(Norm, softmax) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
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
    std::string type = std::vector<std::string>{"f32", "f32", "f64", "f16"}[random() % 4], x = tensor(dims, type, blocked);
    std::string text = fmt::format("func.func @k(%x: {0}) -> {0} attributes {{nn.family = \"softmax\"}} {{\n"
                                   "  %y = nn.{1}softmax %x {{axis = {2} : i64}} : ({0}) -> {0}\n  return %y : {0}\n}}",
                                   x, random() % 3 ? "" : "log_", random() % 2 ? axis : axis - static_cast<int64_t>(dims.size()));
    std::string schedule = random() % 2 ? "" : fmt::format("softmax/1 grain={}", upTo(2000));
    EXPECT_EQ(checkKernel(text, target, seed, type == "f16" ? 5e-3 : type == "f32" ? 1e-6 : 1e-13, -8, 8, schedule), "") << "seed " << seed;
  }
}

TEST_F(Norm, softmaxOfLargeNumbers) {
  EXPECT_EQ(checkKernel("func.func @k(%x: tensor<5x77xf32>) -> tensor<5x77xf32> attributes {nn.family = \"softmax\"} {\n"
                        "  %y = nn.softmax %x : (tensor<5x77xf32>) -> tensor<5x77xf32>\n  return %y : tensor<5x77xf32>\n}",
                        target, 1, 1e-6, 5e4, 5.0001e4), "");
}

TEST_F(Norm, softmaxOverBlockedChannelsDeclines) {
  std::string x = tensor({1, 20, 3}, "f32", true);
  KernelUnderTest kernel(fmt::format("func.func @k(%x: {0}) -> {0} attributes {{nn.family = \"softmax\"}} {{\n"
                                     "  %y = nn.softmax %x {{axis = 1 : i64}} : ({0}) -> {0}\n  return %y : {0}\n}}", x), target);
  EXPECT_EQ(kernel.declined(), "softmax over blocked channels");
}

TEST_F(Norm, lrn) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    random.seed(seed);
    bool blocked = random() % 2;
    std::vector<int64_t> dims{upTo(2), upTo(50)};
    for (size_t i = 0; i < (blocked ? 1 : 0) + seed % 3; ++i)
      dims.push_back(upTo(25));
    std::string type = random() % 4 ? "f32" : "f64", x = tensor(dims, type, blocked);
    double beta = std::vector<double>{0.75, 0.5, 1, 0.6}[random() % 4];
    std::string text = fmt::format("func.func @k(%x: {0}) -> {0} attributes {{nn.family = \"lrn\"}} {{\n"
                                   "  %y = nn.lrn %x {{size = {1} : i64, alpha = 0.3, beta = {2:e}, bias = 1.5}} : ({0}) -> {0}\n"
                                   "  %z = nn.relu %y : ({0}) -> {0}\n  return %z : {0}\n}}", x, upTo(9), beta);
    std::string schedule = random() % 2 ? "" : fmt::format("lrn/1 grain={}", upTo(1000));
    EXPECT_EQ(checkKernel(text, target, seed, type == "f32" ? 5e-7 : 1e-14, -5, 5, schedule), "") << "seed " << seed;
  }
}

} // namespace
} // namespace lathe
