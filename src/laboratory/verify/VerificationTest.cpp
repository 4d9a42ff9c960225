// A package is judged by the graph it was compiled from, by a graph with another weight, and by one with other ports.
#include "verify/Verification.h"

#include "compile/Compile.h"
#include "ir/Context.h"
#include "runtime/References.h"

#include "mlir/Parser/Parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lathe::verify {
namespace {

using testing::HasSubstr;

/// "product" of x and w, "soft" of "product", and "biased", which is y.
std::string network(const std::string &bias = "0.5", const std::string &input = "x") {
  return "func.func @main(%x: tensor<2x3xf32> {nn.name = \"" + input + R"("}) -> (tensor<2x3xf32> {nn.name = "y"}) {
    %w = nn.constant {value = dense<[[1.0, -2.0, 0.5], [0.25, 1.0, -1.0], [2.0, 1.5, 1.0]]> : tensor<3x3xf32>} : tensor<3x3xf32> loc("w")
    %b = nn.constant {value = dense<[0.25, )" +
         bias + R"(, 1.0]> : tensor<3xf32>} : tensor<3xf32> loc("b")
    %0 = nn.matmul %x, %w : (tensor<2x3xf32>, tensor<3x3xf32>) -> tensor<2x3xf32> loc("product")
    %1 = nn.softmax %0 {axis = 1 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32> loc("soft")
    %2 = nn.add %1, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32> loc("biased")
    return %2 : tensor<2x3xf32> })";
}

class VerificationTest : public testing::Test {
protected:
  std::unique_ptr<mlir::MLIRContext> context = makeContext();
  std::vector<Value> inputs{Value(Tensor::of<float>({2, 3}, {1, 2, 3, -4, 5, -6}))};

  void SetUp() override { runtime::registerReferences(); }

  mlir::OwningOpRef<mlir::ModuleOp> parse(const std::string &text) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, context.get());
    EXPECT_TRUE(module);
    return module;
  }
  std::shared_ptr<const runtime::Model> compiled(const std::string &text, int level = 0,
                                                 LayoutChoice layout = LayoutChoice::automatic) {
    std::vector<char> bytes;
    CompileOptions options;
    options.level = level; // 0: every node is a value of the plan
    options.layout = layout;
    compileToBytes(*parse(text), options, bytes);
    return runtime::Model::fromBytes(bytes, "m.lathe");
  }
};

TEST_F(VerificationTest, RightPackagePasses) {
  auto module = parse(network());
  Verification verification(compiled(network()), *module, {.nodes = {"product"}, .all = true});
  SetResult result = verification.run(inputs);
  EXPECT_EQ(result.failed(), nullptr);
  EXPECT_FALSE(result.divergence);
  EXPECT_EQ(result.mistrust, "");
  std::vector<std::string> values;
  for (const Comparison &one : result.comparisons)
    values.push_back(one.value);
  EXPECT_EQ(values, (std::vector<std::string>{"y", "product", "product", "soft", "y"}));
  Verdict verdict;
  verdict.add("these inputs", result);
  EXPECT_TRUE(verdict.passed());
  EXPECT_THAT(verdict.summary(Precision::fp32),
              testing::MatchesRegex("relative error .* on 1 input set \\(bounds 2e-05 and 0.0001\\)"));
  EXPECT_THAT(verdict.summary(Precision::bf16), HasSubstr("operands rounded to bf16"));
}

TEST_F(VerificationTest, FirstDivergingNodeIsNamed) {
  auto module = parse(network());
  std::string other = network();
  other.replace(other.find("-2.0"), 4, "-2.5");
  int searched = 0;
  Verification verification(compiled(other), *module, {.onMismatch = [&] { ++searched; }});
  SetResult result = verification.run(inputs);
  ASSERT_NE(result.failed(), nullptr);
  EXPECT_EQ(result.failed()->value, "y");
  ASSERT_TRUE(result.divergence);
  EXPECT_EQ(searched, 1);
  EXPECT_EQ(result.divergence->value, "product");
  // The worst element is in column 1: row 1, -4 * -2.5 + 5 - 9 instead of -4 * -2 + 5 - 9.
  EXPECT_EQ(result.divergence->difference.worst, 4);
  EXPECT_THAT(result.divergence->str(), HasSubstr("element 4 is 6, the reference has 4"));
  auto cut = cutAround(*module, *result.divergence, {});
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->from, std::vector<std::string>{"product"});
  EXPECT_EQ(cut->to, std::vector<std::string>{"product"});
  EXPECT_FALSE(cutAround(*module, {"nowhere", "k", {"gone"}, {}}, {}));
  Verdict verdict;
  verdict.add("these inputs", result);
  EXPECT_THAT(verdict.failure, testing::StartsWith("y (these inputs): relative error"));
  EXPECT_FALSE(verdict.passed());
}

/// The bias comes after the softmax: product and soft are right, the sum is not.
TEST_F(VerificationTest, NodesBeforeTheMistakeAreRight) {
  auto module = parse(network());
  Verification verification(compiled(network("0.75")), *module, {});
  SetResult result = verification.run(inputs);
  ASSERT_TRUE(result.divergence);
  EXPECT_EQ(result.divergence->value, "y");
}

TEST_F(VerificationTest, BoundsCanBeGiven) {
  auto module = parse(network());
  auto wrong = compiled(network("0.500244140625")); // 2^-12 more
  EXPECT_NE(Verification(wrong, *module, {}).run(inputs).failed(), nullptr);
  SetResult lax = Verification(wrong, *module, {.relative = 0.01, .maximum = 0.01}).run(inputs);
  EXPECT_EQ(lax.failed(), nullptr);
  EXPECT_EQ(lax.tolerance.relative, 0.01);
}

/// Two convolutions, a sum and a mean as TFLite and Keras write them, with the channels last: nodes of several
/// operators. Height equals width and rows equal columns, so extents alone do not tell the order of the axes.
std::string nodesOfSeveralOperators(const std::string &first = "0.5", const std::string &second = "0.25") {
  auto weights = [](const std::string &one) {
    std::string text;
    for (int i = 0; i < 36; ++i)
      text += (text.empty() ? "" : ", ") + (i == 7 ? one : std::to_string((7 * i % 13 - 6) * 0.1));
    return "dense<[" + text + "]> : tensor<36xf32>";
  };
  auto conv = [&](const std::string &node, const std::string &from, const std::string &weight) {
    std::string image = "tensor<1x4x4x4xf32>";
    return fmt::format(R"(
    %{0}_c = nn.constant {{value = {2}}} : tensor<36xf32> loc("{0}_w")
    %{0}_r = nn.reshape %{0}_c {{shape = array<i64: 4, 1, 3, 3>}} : (tensor<36xf32>) -> tensor<4x1x3x3xf32> loc("{0}")
    %{0}_t = nn.transpose %{1} {{perm = array<i64: 0, 3, 1, 2>}} : ({3}) -> {3} loc("{0}")
    %{0}_y = nn.conv %{0}_t, %{0}_r {{group = 4 : i64, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>}} : ({3}, tensor<4x1x3x3xf32>) -> {3} loc("{0}")
    %{0}_a = nn.relu %{0}_y : ({3}) -> {3} loc("{0}")
    %{0} = nn.transpose %{0}_a {{perm = array<i64: 0, 2, 3, 1>}} : ({3}) -> {3} loc("{0}"))",
                       node, from, weights(weight), image);
  };
  return R"(func.func @main(%x: tensor<1x4x4x4xf32> {nn.name = "x"}) -> (tensor<1x4xf32> {nn.name = "y"}) {)" +
         conv("first", "x", first) + conv("second", "first", second) + R"(
    %sum = nn.add %first, %second : (tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32> loc("sum")
    %mean = nn.reduce_mean %sum {axes = array<i64: 1, 2>, keepdims = false} : (tensor<1x4x4x4xf32>) -> tensor<1x4xf32> loc("mean")
    %soft = nn.softmax %mean {axis = 1 : i64} : (tensor<1x4xf32>) -> tensor<1x4xf32> loc("soft")
    return %soft : tensor<1x4xf32> })";
}

TEST_F(VerificationTest, ResultsAreComparedInAnyLayout) {
  auto module = parse(nodesOfSeveralOperators());
  Tensor image(ElementType::f32, {1, 4, 4, 4});
  for (int i = 0; i < 64; ++i)
    image.as<float>()[i] = static_cast<float>(i * 37 % 64) / 32 - 0.9f;
  std::vector<Value> given{Value(image)};
  using enum LayoutChoice;
  for (auto [level, layout] : {std::pair{0, automatic},
                               {1, automatic},
                               {2, automatic},
                               {3, automatic},
                               {3, planes},
                               {3, channelsLast},
                               {3, blocked}}) {
    SCOPED_TRACE(fmt::format("-O {}, layout {}", level, name(layout)));
    SetResult right =
        Verification(compiled(nodesOfSeveralOperators(), level, layout), *module, {.all = true}).run(given);
    EXPECT_EQ(right.failed(), nullptr);
    EXPECT_GE(right.kernels, 3u);
    EXPECT_TRUE(right.leftOut.empty()) << right.leftOut[0].value << " " << right.leftOut[0].reason;
    for (const char *node : {"first", "second"}) {
      bool early = node == std::string("first");
      auto package =
          compiled(early ? nodesOfSeveralOperators("2.5") : nodesOfSeveralOperators("0.5", "2.5"), level, layout);
      SetResult wrong = Verification(package, *module, {.nodes = {node}}).run(given);
      ASSERT_TRUE(wrong.divergence);
      EXPECT_THAT(wrong.divergence->nodes, testing::Contains(node));
      EXPECT_FALSE(wrong.comparisons.back().passed);
    }
  }
}

/// The compiler replaces several nodes by one operator. The operator's value is the result of the last node.
TEST_F(VerificationTest, RecognizedActivationsHaveTheNameOfTheirResult) {
  std::string text = R"(func.func @main(%x: tensor<4xf32> {nn.name = "x"}) -> (tensor<f32> {nn.name = "y"}) {
    %six = nn.constant {value = dense<6.0> : tensor<f32>} : tensor<f32>
    %three = nn.constant {value = dense<3.0> : tensor<f32>} : tensor<f32>
    %0 = nn.add %x, %three : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32> loc("inner")
    %1 = nn.clip %0 {min = 0.0 : f64, max = 6.0 : f64, operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<4xf32>) -> tensor<4xf32> loc("clip")
    %2 = nn.div %x, %six : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32> loc("sixth")
    %3 = nn.mul %2, %1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("swish")
    %4 = nn.reduce_sum %3 {axes = array<i64: 0>, keepdims = false} : (tensor<4xf32>) -> tensor<f32> loc("sum")
    %5 = nn.sqrt %4 : (tensor<f32>) -> tensor<f32> loc("root")
    return %5 : tensor<f32> })";
  auto module = parse(text);
  SetResult result = Verification(compiled(text, 1), *module, {.all = true})
                         .run(std::vector<Value>{Value(Tensor::of<float>({4}, {1, 2, -3, 4}))});
  EXPECT_EQ(result.failed(), nullptr) << result.failed()->value;
  EXPECT_TRUE(std::any_of(result.comparisons.begin(), result.comparisons.end(),
                          [](const Comparison &one) { return one.value == "swish"; }));
}

/// The second part has no reader, but the kernel computes it.
TEST_F(VerificationTest, UnusedResultsAreCompared) {
  std::string text = R"(func.func @main(%x: tensor<4xf32> {nn.name = "x"}) -> (tensor<2xf32> {nn.name = "y"}) {
    %0:2 = nn.split %x {axis = 0 : i64, sizes = array<i64: 2, 2>} : (tensor<4xf32>) -> (tensor<2xf32>, tensor<2xf32>) loc("parts")
    %1 = nn.relu %0#0 : (tensor<2xf32>) -> tensor<2xf32> loc("relu")
    return %1 : tensor<2xf32> })";
  auto module = parse(text);
  SetResult result = Verification(compiled(text), *module, {.all = true})
                         .run(std::vector<Value>{Value(Tensor::of<float>({4}, {1, 2, 3, 4}))});
  EXPECT_EQ(result.failed(), nullptr) << result.failed()->value;
  EXPECT_THAT(result.leftOut, testing::IsEmpty());
  EXPECT_EQ(std::count_if(result.comparisons.begin(), result.comparisons.end(),
                          [](const Comparison &one) { return one.value == "parts"; }),
            2);
}

/// If the run computes the weights, a separate kernel subtracts their zero points.
TEST_F(VerificationTest, OperandsLessTheirZeroPointAreCompared) {
  std::string text = R"(
  func.func @main(%x: tensor<1x1x2x2xi8> {nn.name = "x"}, %w: tensor<1x1x1x1xi8> {nn.name = "w"}) -> (tensor<1x1x2x2xi32> {nn.name = "y"}) {
    %z = nn.constant {value = dense<-5> : tensor<i8>} : tensor<i8> loc("z")
    %0 = nn.conv_integer %x, %w, %z {operandSegmentSizes = array<i32: 1, 1, 1, 0>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>} : (tensor<1x1x2x2xi8>, tensor<1x1x1x1xi8>, tensor<i8>) -> tensor<1x1x2x2xi32> loc("conv")
    return %0 : tensor<1x1x2x2xi32> })";
  auto module = parse(text);
  std::vector<Value> given{Value(Tensor::of<int8_t>({1, 1, 2, 2}, {1, 2, 3, 4})),
                           Value(Tensor::of<int8_t>({1, 1, 1, 1}, {3}))};
  SetResult right = Verification(compiled(text), *module, {.all = true}).run(given);
  EXPECT_EQ(right.failed(), nullptr);
  EXPECT_GE(right.kernels, 2u);
  EXPECT_THAT(right.leftOut, testing::IsEmpty());
  std::string other = text;
  other.replace(other.find("dense<-5>"), 9, "dense<-6>");
  SetResult wrong = Verification(compiled(other), *module, {.all = true}).run(given);
  ASSERT_TRUE(wrong.divergence);
  EXPECT_FALSE(wrong.leftOut.empty()); // no value of the model has 6 subtracted
}

/// The terms of the mean cancel: the rest is as small as their rounding errors.
TEST_F(VerificationTest, SumsOfTermsThatCancelAreJudgedByTheirTerms) {
  auto text = [](const std::string &shift) {
    return "func.func @main(%x: tensor<1x4096xf32> {nn.name = \"x\"}) -> (tensor<1x4096xf32> {nn.name = \"y\"}) {\n"
           "  %s = nn.constant {value = dense<" +
           shift +
           "> : tensor<1xf32>} : tensor<1xf32> loc(\"s\")\n"
           "  %0 = nn.add %x, %s : (tensor<1x4096xf32>, tensor<1xf32>) -> tensor<1x4096xf32> loc(\"shifted\")\n"
           "  %1 = nn.reduce_mean %0 {axes = array<i64: 1>} : (tensor<1x4096xf32>) -> tensor<1x1xf32> loc(\"mean\")\n"
           "  %2 = nn.sub %0, %1 : (tensor<1x4096xf32>, tensor<1x1xf32>) -> tensor<1x4096xf32> loc(\"centred\")\n"
           "  return %2 : tensor<1x4096xf32> }";
  };
  Tensor x(ElementType::f32, {1, 4096});
  for (int64_t i = 0; i < 4096; ++i) // 2048 values and their negatives, in another order
    x.as<float>()[i] = (i < 2048 ? 1.0f : -1.0f) * (1 + float((i * 1103 % 2048) * 7919 % 2048) / 3000);
  inputs = {Value(x)};
  auto meanOf = [&](const std::string &shift, const std::string &expected) {
    auto module = parse(text(expected));
    SetResult result = Verification(compiled(text(shift)), *module, {.all = true}).run(inputs);
    auto mean = std::find_if(result.comparisons.begin(), result.comparisons.end(),
                             [](const Comparison &one) { return one.value == "mean"; });
    EXPECT_NE(mean, result.comparisons.end());
    return *mean;
  };
  for (const char *shift : {"1.0e-7", "1.0e-6", "-3.0e-6", "1.0e-5"})
    EXPECT_TRUE(meanOf(shift, shift).passed) << shift << ": " << meanOf(shift, shift).difference.str();
  EXPECT_FALSE(meanOf("1.0e-3", "1.1e-3").passed); // an error as large as the bound relative to the terms
}

TEST_F(VerificationTest, OutputsThatSayNothingAreMistrusted) {
  std::string text = R"(func.func @main(%x: tensor<4xf32> {nn.name = "x"}) -> (tensor<4xf32> {nn.name = "y"}) {
    %0 = nn.sub %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("gone")
    return %0 : tensor<4xf32> })";
  auto module = parse(text);
  SetResult result =
      Verification(compiled(text), *module, {}).run(std::vector<Value>{Value(Tensor::of<float>({4}, {1, 2, 3, 4}))});
  EXPECT_EQ(result.failed(), nullptr);
  Verdict verdict;
  verdict.add("seed 1", result);
  EXPECT_FALSE(verdict.passed());
  EXPECT_EQ(verdict.summary(Precision::fp32),
            "mistrusted: output 'y' (seed 1) is all zero: first all zero in node 'gone' (sub)");
}

TEST_F(VerificationTest, OtherPortsAndUnknownNodesAreErrors) {
  auto module = parse(network("0.5", "other"));
  EXPECT_THAT(
      [&] { Verification(compiled(network()), *module, {}); },
      testing::ThrowsMessage<Error>(HasSubstr("m.lathe: input 0 is 'x' f32 2x3, the model has 'other' f32 2x3")));
  auto same = parse(network());
  Verification verification(compiled(network()), *same, {.nodes = {"nowhere"}});
  EXPECT_THAT([&] { verification.run(inputs); },
              testing::ThrowsMessage<Error>(HasSubstr("--output nowhere: no kernel computes it")));
}

} // namespace
} // namespace lathe::verify
