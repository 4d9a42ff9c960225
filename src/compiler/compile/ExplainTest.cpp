#include "compile/Explain.h"

#include "ir/Context.h"

#include "mlir/Parser/Parser.h"

#include <gmock/gmock.h>

namespace lathe {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class ExplainTest : public testing::Test {
protected:
  std::unique_ptr<mlir::MLIRContext> context = makeContext();
  CompileOptions options;

  void SetUp() override { options.target = "x86-64-v3"; }

  Explanation ask(const std::string &node, const std::string &batch = "1", size_t most = 10) {
    std::string text = fmt::format(
        R"(func.func @main(%x: tensor<{0}x8x6x6xf32> {{nn.name = "x", nn.dims = ["{1}", "8", "6", "6"]}}) -> tensor<{0}x8xf32> {{
      %w = nn.constant {{value = dense<0.5> : tensor<8x8x3x3xf32>}} : tensor<8x8x3x3xf32> loc("w")
      %half = nn.mul %w, %w : (tensor<8x8x3x3xf32>, tensor<8x8x3x3xf32>) -> tensor<8x8x3x3xf32> loc("squared")
      %0 = nn.conv %x, %half {{strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>}} : (tensor<{0}x8x6x6xf32>, tensor<8x8x3x3xf32>) -> tensor<{0}x8x6x6xf32> loc("conv")
      %1 = nn.relu %0 : (tensor<{0}x8x6x6xf32>) -> tensor<{0}x8x6x6xf32> loc("relu")
      %2 = nn.reduce_mean %1 {{axes = array<i64: 2, 3>, keepdims = true}} : (tensor<{0}x8x6x6xf32>) -> tensor<{0}x8x1x1xf32> loc("pool")
      %3 = nn.reshape %2 {{shape = array<i64: 0, 8>}} : (tensor<{0}x8x1x1xf32>) -> tensor<{0}x8xf32> loc("flatten")
      %4 = nn.tanh %3 : (tensor<{0}x8xf32>) -> tensor<{0}x8xf32> loc("tanh")
      %5 = nn.det %1 : (tensor<{0}x8x6x6xf32>) -> tensor<{0}x8xf32> loc("det")
      %6 = nn.add %4, %5 : (tensor<{0}x8xf32>, tensor<{0}x8xf32>) -> tensor<{0}x8xf32> loc("sum")
      return %6 : tensor<{0}x8xf32>
    }})",
        batch == "1" ? "1" : "?", batch);
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, context.get());
    EXPECT_TRUE(module);
    return explain(*module, options, node, most);
  }

  std::string complaint(const std::string &node) {
    try {
      ask(node);
    } catch (const Error &error) {
      return error.what();
    }
    return "";
  }
};

TEST_F(ExplainTest, saysWhatComputesANode) {
  EXPECT_EQ(ask("conv").answer, "the kernel conv_relu computes conv and relu");
  EXPECT_EQ(ask("conv_relu").kernel->kernel, "conv_relu");
  EXPECT_EQ(ask("relu").answer, "it is fused into the kernel of conv: the kernel conv_relu computes conv and relu");
  EXPECT_EQ(ask("relu").kernel->kernel, "conv_relu");
  EXPECT_EQ(ask("pool").answer, "the kernel pool computes it");
  for (auto [node, says] :
       {std::pair("flatten", "this reshape is a view"), std::pair("det", "the reference of det runs it"),
        std::pair("squared", "folded into constants")}) {
    Explanation none = ask(node);
    EXPECT_FALSE(none.kernel) << node;
    EXPECT_THAT(none.answer, AllOf(HasSubstr("no kernel computes it"), HasSubstr(says)));
  }
  EXPECT_EQ(complaint("rellu"), "--explain rellu: the model has no node or kernel of that name (did you mean 'relu'?)");
}

TEST_F(ExplainTest, comparesAllCandidates) {
  Explanation explanation = ask("conv", "1", 1000000);
  const KernelExplanation &kernel = *explanation.kernel;
  EXPECT_EQ(kernel.family, "contraction");
  EXPECT_THAT(kernel.origin, testing::AnyOf("the prior's rule", "the prior's model"));
  EXPECT_FALSE(kernel.openExtents);
  EXPECT_EQ(kernel.best.size(), kernel.candidates);
  EXPECT_GT(kernel.variations, 0u);
  size_t chosen = 0, cheaper = 0;
  std::set<std::string> texts;
  for (size_t i = 0; i < kernel.best.size(); ++i) {
    const Candidate &candidate = kernel.best[i];
    EXPECT_TRUE(texts.insert(candidate.schedule.str()).second) << candidate.schedule.str();
    if (i)
      EXPECT_LE(kernel.best[i - 1].prediction.total(), candidate.prediction.total());
    if (candidate.chosen) {
      ++chosen;
      EXPECT_TRUE(candidate.byPrior);
      EXPECT_TRUE(kernel.origin == "the prior's rule" ? candidate.byRule : candidate.byModel);
      for (const Candidate &other : kernel.best)
        cheaper += other.prediction.total() < candidate.prediction.total();
    }
  }
  EXPECT_EQ(chosen, 1u);
  EXPECT_EQ(kernel.rank, 1 + cheaper);
  std::set<std::string> names;
  bool legal = false, declined = false;
  for (const ExploredAlgorithm &explored : kernel.algorithms) {
    names.insert(explored.algorithm->name);
    int64_t points = explored.size.legal;
    for (const DeclinedPoints &entry : explored.declined) {
      EXPECT_GT(entry.points, 0);
      EXPECT_NE(entry.reason, "");
      points += entry.points;
    }
    EXPECT_EQ(points, explored.size.tried) << explored.algorithm->name;
    legal |= explored.size.legal > 0;
    declined |= !explored.declined.empty();
  }
  EXPECT_TRUE(legal && declined);
  EXPECT_TRUE(names.contains("direct") && names.contains("winograd") && names.contains("gemm"));
}

TEST_F(ExplainTest, alwaysShowsWhatWasChosenAndTheChoicesOfThePrior) {
  options.schedule.text = "# by hand\nrelu: direct/1 px=1 oc=1 unroll=1 rows=1\n";
  options.schedule.name = "mine.txt";
  const KernelExplanation kernel = *ask("conv", "1", 0).kernel;
  EXPECT_EQ(kernel.origin, "mine.txt, line 2");
  int priors = 0, rules = 0, models = 0, chosen = 0;
  for (const Candidate &candidate : kernel.best) {
    EXPECT_TRUE(candidate.notable());
    EXPECT_FALSE(candidate.chosen && candidate.byPrior);
    priors += candidate.byPrior;
    rules += candidate.byRule;
    models += candidate.byModel;
    chosen += candidate.chosen;
    if (candidate.chosen) {
      EXPECT_EQ(candidate.schedule.algorithm, "direct");
      EXPECT_EQ(candidate.schedule.number("px"), 1);
    }
  }
  EXPECT_TRUE(priors == 1 && rules == 1 && models == 1 && chosen == 1);
  options.schedule.text = "nowhere: direct/1\n";
  EXPECT_THAT(complaint("conv"), HasSubstr("mine.txt: line 1"));
}

TEST_F(ExplainTest, roundsOnlyWhereThePrecisionAsksForIt) {
  options.target = "znver4";
  for (Precision precision : {Precision::fp32, Precision::bf16}) {
    options.precision = precision;
    const KernelExplanation kernel = *ask("conv", "1", 1000000).kernel;
    size_t rounding = 0, declined = 0;
    for (const Candidate &candidate : kernel.best)
      rounding += candidate.schedule.str().find("type=bf16") != std::string::npos;
    for (const ExploredAlgorithm &explored : kernel.algorithms)
      for (const DeclinedPoints &entry : explored.declined)
        declined += std::string_view(entry.constraint->id) == "precision";
    EXPECT_EQ(rounding > 0, precision == Precision::bf16);
    EXPECT_EQ(declined > 0, precision == Precision::fp32);
  }
}

TEST_F(ExplainTest, countsOpenExtentsAsOne) { EXPECT_TRUE(ask("conv", "N").kernel->openExtents); }

} // namespace
} // namespace lathe
