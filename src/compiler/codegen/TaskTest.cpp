#include "codegen/Task.h"

#include "codegen/testing/KernelTesting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lathe {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

/// A convolution with an epilogue; `layout`: of input and result.
std::string kernel(const std::string &epilogue, const std::string &layout = "", const std::string &name = "kernel",
                   int pad = 1) {
  int out = 6 + 2 * pad;
  return fmt::format(R"(
    func.func private @{0}(%x: tensor<1x16x8x8xf32{1}>, %w: tensor<16x16x3x3xf32> {{nn.constant}}) -> tensor<1x16x{4}x{4}xf32{1}>
        attributes {{nn.family = "contraction"}} {{
      %0 = nn.conv %x, %w {{strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: {3}, {3}, {3}, {3}>}} : (tensor<1x16x8x8xf32{1}>, tensor<16x16x3x3xf32>) -> tensor<1x16x{4}x{4}xf32{1}>
      %1 = nn.{2} : (tensor<1x16x{4}x{4}xf32{1}>) -> tensor<1x16x{4}x{4}xf32{1}>
      return %1 : tensor<1x16x{4}x{4}xf32{1}>
    }})",
                     name, layout, epilogue, pad, out);
}

struct Task : testing::Test {
  Target v3 = Target::parse("x86-64-v3"), v2 = Target::parse("x86-64-v2");

  std::string of(const std::string &text, const Target &target, int threads = 1, bool exactMath = false,
                 Precision precision = Precision::fp32, bool relaxedMath = false) {
    KernelUnderTest kernel(text, target, 1);
    KernelProblem problem{
        {.threads = threads, .exactMath = exactMath, .precision = precision, .relaxedMath = relaxedMath},
        kernel.problem().function,
        target};
    return taskOf(problem);
  }
};

TEST_F(Task, saysWhatIsToBeDone) {
  std::string task = of(kernel("relu %0", ", #nn.blocked<1, 8>"), v3, 2);
  EXPECT_THAT(task, StartsWith("task/2 | conv "));
  EXPECT_THAT(task, HasSubstr("pads=[1, 1, 1, 1]"));
  EXPECT_THAT(task,
              HasSubstr(" | f32 1x16x8x8 blocked 1,8; f32 16x16x3x3 constant -> f32 1x16x8x8 blocked 1,8 | relu | "
                        "2 threads | x86-64-v3 "));
}

TEST_F(Task, saysWhatIsAssumedOfOpenExtents) {
  std::string x = "tensor<?x16x?x?xf32>";
  KernelUnderTest conv(
      fmt::format(
          "func.func private @k(%x: {0} {{nn.dims = [\"N\", \"16\", \"H\", \"2*W\"]}}, %w: tensor<16x16x1x1xf32> "
          "{{nn.constant}}) -> {0} attributes {{nn.family = \"contraction\"}} {{\n  %0 = nn.conv %x, %w {{strides = "
          "array<i64: 2, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>}} : ({0}, "
          "tensor<16x16x1x1xf32>) -> {0}\n  return %0 : {0}\n}}\n",
          x),
      v3, 1);
  KernelProblem problem = conv.problem();
  EXPECT_THAT(taskOf(problem), HasSubstr("f32 ?x16x?224x?448; f32 16x16x1x1 constant -> f32 ?x16x?112x?448 |"));
  problem.typical = {{"H", 60}};
  EXPECT_THAT(taskOf(problem), HasSubstr("f32 ?x16x?60x?448; f32 16x16x1x1 constant -> f32 ?x16x?30x?448 |"));
}

TEST_F(Task, isTheSameForWhatMayUseTheSameSchedule) {
  std::string task = of(kernel("leaky_relu %0 {alpha = 0.1 : f64}"), v3);
  EXPECT_EQ(task, of(kernel("leaky_relu %0 {alpha = 0.3 : f64}", "", "conv17_leaky3"), v3));
  EXPECT_EQ(task, of(kernel("leaky_relu %0 {alpha = 0.1 : f64}"), v3, 1, true));
}

TEST_F(Task, hasPartsThatCanBeReadAgain) {
  std::string plain = of(kernel("relu %0"), v3, 2), other = of(kernel("relu %0"), v2, 16, false, Precision::bf16, true);
  std::optional<TaskParts> parts = partsOfTask(plain);
  ASSERT_TRUE(parts);
  EXPECT_THAT(parts->kernel, AllOf(StartsWith("task/2 | conv "), EndsWith(" | relu")));
  EXPECT_EQ(parts->threads, 2);
  EXPECT_EQ(parts->target, v3.key());
  EXPECT_EQ(parts->precision, Precision::fp32);
  EXPECT_FALSE(parts->relaxedMath);
  std::optional<TaskParts> same = partsOfTask(other);
  ASSERT_TRUE(same);
  EXPECT_EQ(same->kernel, parts->kernel);
  EXPECT_EQ(same->threads, 16);
  EXPECT_EQ(same->target, v2.key());
  EXPECT_EQ(same->precision, Precision::bf16);
  EXPECT_TRUE(same->relaxedMath);
  for (const std::string &text :
       {std::string(), std::string("task/1") + plain.substr(6), std::string("task/2 | conv"),
        std::string("task/2 | conv | 99999999999 threads | x"), std::string("task/2 | conv | 02 threads | x"),
        std::string("autotvm/0.2 | conv2d | 1 thread | llvm"), plain + " | beside relu x=64 by lathe:auto on 1 thread"})
    EXPECT_FALSE(partsOfTask(text)) << text;
}

TEST_F(Task, differsInEachOfItsParts) {
  std::vector<std::string> tasks = {of(kernel("relu %0"), v3),
                                    of(kernel("sigmoid %0"), v3),
                                    of(kernel("relu %0", ", #nn.blocked<1, 8>"), v3),
                                    of(kernel("relu %0", "", "kernel", 0), v3),
                                    of(kernel("relu %0"), v3, 2),
                                    of(kernel("relu %0"), v2),
                                    of(kernel("relu %0"), v3, 1, false, Precision::bf16),
                                    of(kernel("relu %0"), v3, 1, false, Precision::fp32, true)};
  for (size_t i = 0; i < tasks.size(); ++i)
    for (size_t k = 0; k < i; ++k)
      EXPECT_NE(tasks[i], tasks[k]);
}

} // namespace
} // namespace lathe
