#include "lab/providers/graph/ModelProblems.h"

#include "ir/Context.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

namespace lathe::lab {
namespace {

/// Two calls of one kernel, a kernel with a residual addition and one that scales by a broadcast factor.
const char *kernels = R"(
  func.func private @k0(%x: tensor<?x8xf32> {nn.dims = ["N", "8"]}, %w: tensor<8x8xf32> {nn.constant}) -> tensor<?x8xf32> attributes {nn.family = "contraction"} {
    %0 = nn.matmul %x, %w : (tensor<?x8xf32>, tensor<8x8xf32>) -> tensor<?x8xf32> loc("fc1")
    %1 = nn.relu %0 : (tensor<?x8xf32>) -> tensor<?x8xf32> loc("act")
    return %1 : tensor<?x8xf32>
  }
  func.func private @k1(%x: tensor<4x8xf32>, %w: tensor<8x8xf32> {nn.constant}, %r: tensor<4x8xf32>, %f: tensor<8xf32>) -> tensor<4x8xf32> attributes {nn.family = "contraction"} {
    %0 = nn.matmul %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32> loc("fc3")
    %1 = nn.add %0, %r : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %2 = nn.mul %1, %f : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    return %2 : tensor<4x8xf32>
  }
  func.func @main(%x: tensor<?x8xf32> {nn.name = "x", nn.dims = ["N", "8"]}, %y: tensor<4x8xf32> {nn.name = "y"}, %f: tensor<8xf32> {nn.name = "f"}) -> (tensor<?x8xf32> {nn.name = "a"}, tensor<4x8xf32> {nn.name = "b"}) {
    %w = nn.constant {value = dense<1.0> : tensor<8x8xf32>} : tensor<8x8xf32>
    %0 = call @k0(%x, %w) : (tensor<?x8xf32>, tensor<8x8xf32>) -> tensor<?x8xf32>
    %1 = call @k0(%0, %w) : (tensor<?x8xf32>, tensor<8x8xf32>) -> tensor<?x8xf32>
    %2 = call @k1(%y, %w, %y, %f) : (tensor<4x8xf32>, tensor<8x8xf32>, tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    return %1, %2 : tensor<?x8xf32>, tensor<4x8xf32>
  }
)";

TEST(ModelProblems, CountsDistinctOperatorsWithTheirEpilogues) {
  auto context = makeContext();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(kernels, context.get());
  ASSERT_TRUE(module);
  ModelProblems found = problemsOf(*module);
  ASSERT_EQ(found.problems.size(), 2u);
  const ListedProblem &twice = found.problems[0], &once = found.problems[1];
  EXPECT_EQ(twice.count, 2);
  EXPECT_EQ(twice.name, "fc1");
  EXPECT_EQ(twice.kind, "matmul");
  EXPECT_EQ(twice.problem.epilogue, std::vector<std::string>{"relu"});
  EXPECT_EQ(twice.problem.operands.at(0).dims, (std::vector<int64_t>{1, 8})) << "symbolic extents are 1";
  EXPECT_FALSE(twice.problem.operands[0].constant);
  EXPECT_TRUE(twice.problem.operands.at(1).constant);
  EXPECT_EQ(once.count, 1);
  EXPECT_EQ(once.problem.epilogue, std::vector<std::string>{"add"});
  // An epilogue cannot express a broadcast factor.
  EXPECT_EQ(found.besides, (std::vector<std::pair<std::string, int64_t>>{{"mul", 1}}));
}

} // namespace
} // namespace lathe::lab
