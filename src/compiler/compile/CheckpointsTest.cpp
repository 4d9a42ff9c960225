#include "compile/Checkpoints.h"
#include "ir/Context.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace lathe;

// Three products with a residual connection around the second: two tensors cross a cut after `b`, one after `add`.
static const char *residual = R"(
  func.func @main(%x: tensor<4x8xf32> {nn.name = "x"}) -> (tensor<4x8xf32> {nn.name = "y"}) {
    %w = nn.constant {value = dense<1.0> : tensor<8x8xf32>} : tensor<8x8xf32> loc("w")
    %v = nn.relu %w : (tensor<8x8xf32>) -> tensor<8x8xf32> loc("weights")
    %0 = nn.matmul %x, %v : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32> loc("a")
    %1 = nn.matmul %0, %v : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32> loc("b")
    %2 = nn.add %0, %1 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32> loc("add")
    %3 = nn.matmul %2, %v : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32> loc("c")
    %4 = nn.relu %3 : (tensor<4x8xf32>) -> tensor<4x8xf32> loc("twice")
    %5 = nn.relu %4 : (tensor<4x8xf32>) -> tensor<4x8xf32> loc("twice")
    return %5 : tensor<4x8xf32>
  }
)";

struct Checkpoints : testing::Test {
  std::unique_ptr<mlir::MLIRContext> context = makeContext();
  mlir::OwningOpRef<mlir::ModuleOp> parse(const char *text) {
    return mlir::parseSourceString<mlir::ModuleOp>(text, context.get());
  }
};

TEST_F(Checkpoints, everyNamedOperatorBehindTheInputs) {
  auto module = parse(residual);
  auto all = checkpoints(*module);
  std::vector<std::string> names;
  for (auto &point : all)
    names.push_back(point.node + (point.separates ? "!" : ""));
  // Without operators on weights. A node of several operators is one checkpoint, after its last operator.
  EXPECT_EQ(names, (std::vector<std::string>{"a!", "b", "add!", "c!", "twice!"}));
  EXPECT_DOUBLE_EQ(all[0].flops, 64 + 512); // the weights' relu lies before it
  EXPECT_DOUBLE_EQ(all[3].flops, 64 + 3 * 512 + 32);
}

TEST_F(Checkpoints, theLastOneOfAScope) {
  auto module = parse(R"(
    func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
      %0 = nn.relu %x : (tensor<8xf32>) -> tensor<8xf32> loc("cnn/a/first")
      %1 = nn.tanh %0 : (tensor<8xf32>) -> tensor<8xf32> loc("cnn/a/second")
      %2 = nn.exp %1 : (tensor<8xf32>) -> tensor<8xf32> loc("cnnx/third")
      %3 = nn.neg %2 : (tensor<8xf32>) -> tensor<8xf32> loc("cnn/b")
      %4 = nn.abs %3 : (tensor<8xf32>) -> tensor<8xf32> loc("head.last")
      return %4 : tensor<8xf32> })");
  EXPECT_EQ(lastOfScope(*module, "cnn"), "cnn/b");
  EXPECT_EQ(lastOfScope(*module, "cnn/a"), "cnn/a/second");
  EXPECT_EQ(lastOfScope(*module, "head"), "head.last");
  EXPECT_EQ(lastOfScope(*module, "cnn/b"), ""); // a node
  EXPECT_EQ(lastOfScope(*module, "cn"), "");
}

TEST_F(Checkpoints, spreadOverTheOperations) {
  auto module = parse(residual);
  auto one = spreadCheckpoints(*module, 1);
  ASSERT_EQ(one.size(), 1u);
  EXPECT_TRUE(one[0].separates);
  auto many = spreadCheckpoints(*module, 100);
  ASSERT_EQ(many.size(), 3u); // no operator follows the last checkpoint
  EXPECT_EQ(many[0].node, "a");
  EXPECT_EQ(many[1].node, "add");
  EXPECT_EQ(many[2].node, "c");
}

TEST_F(Checkpoints, inputsThatAreReadFurtherOnDoNotCount) {
  auto module = parse(R"(
    func.func @main(%x: tensor<4xf32> {nn.name = "x"}, %m: tensor<4xf32> {nn.name = "m"}) -> (tensor<4xf32> {nn.name = "y"}) {
      %0 = nn.relu %x : (tensor<4xf32>) -> tensor<4xf32> loc("a")
      %1 = nn.neg %m : (tensor<4xf32>) -> tensor<4xf32> loc("made of m")
      %2 = nn.mul %0, %0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("b")
      %3 = nn.add %2, %1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("c")
      %4 = nn.add %3, %m : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("d")
      return %4 : tensor<4xf32>
    }
  )");
  std::vector<std::string> names;
  for (auto &point : checkpoints(*module))
    names.push_back(point.node + (point.separates ? "!" : ""));
  EXPECT_EQ(names, (std::vector<std::string>{"a!", "made of m", "b", "c!", "d!"}));
}
