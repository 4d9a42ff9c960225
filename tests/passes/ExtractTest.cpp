// Parts of random networks: run on what the whole feeds them they compute what the whole computes, as a graph and as
// the ONNX file written from it.
#include "passes/Extract.h"
#include "export/onnx/Export.h"
#include "import/Import.h"
#include "ir/Context.h"
#include "ir/ModelText.h"
#include "passes/Passes.h"
#include "passes/Twin.h"
#include "passes/interpret/Evaluate.h"
#include "support/Error.h"
#include "tests/passes/RandomGraph.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <random>

namespace lathe {
namespace {

std::vector<std::string> nodesOf(mlir::ModuleOp module) {
  std::vector<std::string> nodes;
  for (mlir::Operation &op : mainFunction(module).getBody().front())
    if (nn::recordOf(&op))
      for (const std::string &node : nn::nodeNames(op.getLoc()))
        if (!llvm::is_contained(nodes, node) && !op.use_empty())
          nodes.push_back(node);
  return nodes;
}

void checkCut(mlir::ModuleOp module, const Cut &cut, uint64_t seed) {
  ASSERT_TRUE(mlir::succeeded(mlir::verify(*cut.module)));
  std::vector<Value> edges = evaluate(*cut.whole, randomInputs(module, seed));
  size_t count = cut.inputs.size();
  ASSERT_EQ(edges.size(), count + cut.outputs.size());
  std::vector<Value> fed(edges.begin(), edges.begin() + count), expected(edges.begin() + count, edges.end());
  TwinResult direct = compareTwins(expected, evaluate(*cut.module, fed));
  EXPECT_EQ(direct.mismatch, "");
  EXPECT_EQ(direct.maxRelative, 0);

  auto context = makeContext();
  auto again = importOnnxBytes(*context, exportOnnx(*cut.module), "cut.onnx");
  mlir::func::FuncOp main = mainFunction(*again);
  ASSERT_EQ(main.getNumArguments(), count);
  for (size_t i = 0; i < count; ++i)
    EXPECT_EQ(main.getArgAttrOfType<mlir::StringAttr>(i, "nn.name").str(), cut.inputs[i]);
  for (size_t i = 0; i < cut.outputs.size(); ++i)
    EXPECT_EQ(main.getResultAttrOfType<mlir::StringAttr>(i, "nn.name").str(), cut.outputs[i]);
  TwinResult written = compareTwins(expected, evaluate(*again, fed));
  EXPECT_EQ(written.mismatch, "");
  EXPECT_EQ(written.maxRelative, 0);
}

TEST(Extract, PartsTakeTheBodiesOfTheirLoops) {
  auto context = makeContext();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(R"(
    module {
      func.func @main(%x: tensor<2xf32> {nn.name = "x"}) -> (tensor<2xf32> {nn.name = "y"}) {
        %n = nn.constant {value = dense<3> : tensor<i64>} : tensor<i64>
        %t = nn.constant {value = dense<true> : tensor<i1>} : tensor<i1>
        %a = nn.relu %x : (tensor<2xf32>) -> tensor<2xf32> loc("before")
        %l = nn.loop %n, %t, %a {body = @double, carried = 1 : i64} : (tensor<i64>, tensor<i1>, tensor<2xf32>) -> tensor<2xf32> loc("loop")
        %y = nn.neg %l : (tensor<2xf32>) -> tensor<2xf32> loc("after")
        return %y : tensor<2xf32>
      }
      module @double {
        func.func @main(%i: tensor<i64>, %c: tensor<i1>, %v: tensor<2xf32>) -> (tensor<i1>, tensor<2xf32>) {
          %w = nn.add %v, %v : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
          return %c, %w : tensor<i1>, tensor<2xf32>
        }
      }
    }
  )",
                                                        context.get());
  auto bodies = [](mlir::ModuleOp part) {
    return llvm::count_if(part.getOps<mlir::ModuleOp>(), [](mlir::ModuleOp) { return true; });
  };
  Cut behind = cutGraph(*module, {.from = {"before:0"}, .to = {"after"}});
  checkCut(*module, behind, 1);
  EXPECT_EQ(bodies(*behind.module), 1);
  EXPECT_EQ(bodies(*behind.whole), 1);
  Cut apart = cutGraph(*module, {.from = {"loop:0"}, .to = {"after"}});
  checkCut(*module, apart, 2);
  EXPECT_EQ(bodies(*apart.module), 0);
}

TEST(Extract, PartsOfRandomNetworksReproduceTheWhole) {
  uint64_t first = std::getenv("LATHE_TEST_SEED")
                       ? std::strtoull(std::getenv("LATHE_TEST_SEED"), nullptr, 10)
                       : static_cast<uint64_t>(std::chrono::system_clock::now().time_since_epoch().count() % 1000000);
  std::cout << "first seed " << first << " (LATHE_TEST_SEED repeats it)\n";
  int segments = 0;
  for (uint64_t seed = first; seed < first + 30 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    auto context = makeContext();
    auto module = randomGraph(*context, seed, 4 + static_cast<int>(seed % 13));
    std::vector<std::string> nodes = nodesOf(*module);
    std::mt19937_64 random(seed);
    for (int trial = 0; trial < 4; ++trial) {
      std::string from = nodes[random() % nodes.size()], to = nodes[random() % nodes.size()];
      SCOPED_TRACE(from + " to " + to);
      CutOptions options;
      options.from = {from};
      options.to = {to};
      try {
        checkCut(*module, cutGraph(*module, options), seed);
        ++segments;
      } catch (const Error &error) {
        EXPECT_THAT(error.what(),
                    testing::AnyOf(testing::HasSubstr("does not depend on"), testing::HasSubstr("nothing reads")));
      }
      options.from = options.to;
      try {
        checkCut(*module, cutGraph(*module, options), seed);
        options.from.clear();
        checkCut(*module, cutGraph(*module, options), seed);
      } catch (const Error &error) {
        EXPECT_THAT(error.what(), testing::HasSubstr("nothing reads"));
      }
    }
  }
  EXPECT_GT(segments, 10);
}

const char *const network = R"mlir(
module attributes {nn.source = "net.onnx"} {
func.func @main(%x: tensor<?x4xf32> {nn.name = "x", nn.dims = ["N", "4"]}) -> (tensor<?x2x2xf32> {nn.name = "y"}) {
  %w = nn.constant {value = dense<0.5> : tensor<4x4xf32>} : tensor<4x4xf32> loc("w (initializer)")
  %two = nn.constant {value = dense<2> : tensor<2xi64>} : tensor<2xi64> loc("two (initializer)")
  %0 = nn.matmul %x, %w : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32> loc("mm")
  %1 = nn.relu %0 : (tensor<?x4xf32>) -> tensor<?x4xf32> loc("act")
  %2 = nn.shape %1 {start = 0 : i64, end = 1 : i64} : (tensor<?x4xf32>) -> tensor<1xi64> loc("batch")
  %3 = nn.concat %2, %two {axis = 0 : i64} : (tensor<1xi64>, tensor<2xi64>) -> tensor<3xi64> loc("target")
  %4 = nn.add %1, %0 : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32> loc("sum")
  %5 = nn.reshape %4, %3 : (tensor<?x4xf32>, tensor<3xi64>) -> tensor<?x2x2xf32> loc("view")
  return %5 : tensor<?x2x2xf32>
}
}
)mlir";

struct Fixture : testing::Test {
  std::unique_ptr<mlir::MLIRContext> context = makeContext();
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::parseSourceString<mlir::ModuleOp>(network, context.get());
  Cut cut(std::vector<std::string> from, std::vector<std::string> to, TensorOrigins tensors = {}) {
    CutOptions options;
    options.from = std::move(from);
    options.to = std::move(to);
    options.tensors = std::move(tensors);
    return cutGraph(*module, options);
  }
  std::string complaint(std::vector<std::string> from, std::vector<std::string> to, TensorOrigins tensors = {}) {
    try {
      cut(std::move(from), std::move(to), std::move(tensors));
    } catch (const Error &error) {
      return error.what();
    }
    return "";
  }
};
struct ExtractNames : Fixture {};

TEST_F(ExtractNames, ANodeBelongsToTheCutATensorIsItsInput) {
  Cut node = cut({"act"}, {"sum"});
  EXPECT_THAT(node.inputs, testing::ElementsAre("mm"));
  EXPECT_THAT(node.outputs, testing::ElementsAre("sum"));
  EXPECT_EQ(node.nodes, 2u);
  Cut tensor = cut({"hidden"}, {"y"}, {{"hidden", {"act", 0, 0}}});
  EXPECT_THAT(tensor.inputs, testing::ElementsAre("x", "hidden")); // sum also reads mm, which no --from stops
  EXPECT_THAT(tensor.outputs, testing::ElementsAre("y"));
  EXPECT_EQ(tensor.nodes, 3u);
}

TEST_F(ExtractNames, EveryNodeOfAKernelNamesItsInputsOnly) {
  Cut kernel = cut({"act", "sum"}, {"sum"});
  EXPECT_THAT(kernel.inputs, testing::ElementsAre("mm"));
  EXPECT_EQ(kernel.nodes, 2u);
}

TEST_F(ExtractNames, ShapeArithmeticIsNoInput) {
  Cut view = cut({"view"}, {"view"});
  EXPECT_THAT(view.inputs, testing::ElementsAre("sum"));
  EXPECT_EQ(view.nodes, 1u);
  auto dims = mainFunction(*view.module).getArgAttrOfType<mlir::ArrayAttr>(0, "nn.dims");
  ASSERT_TRUE(dims);
  EXPECT_EQ(llvm::cast<mlir::StringAttr>(dims[0]).str(), "N");
  checkCut(*module, view, 1);
}

TEST_F(ExtractNames, WhatIsWrongIsSaid) {
  EXPECT_EQ(complaint({}, {"atc"}), "net.onnx: --to atc: has no node or tensor of that name (did you mean 'act'?)");
  EXPECT_EQ(complaint({"view"}, {"act"}), "net.onnx: --to act does not depend on --from view");
  EXPECT_EQ(complaint({"nothing like it"}, {}), "net.onnx: --from nothing like it: has no node or tensor of that name");
  const TensorOrigins left = {{"gone", {"unused", 0, 0}}}; // of the file, but not in the graph
  EXPECT_EQ(complaint({}, {"gone"}, left),
            "net.onnx: --to gone: no node of the imported graph makes this tensor: it is known before "
            "the run, or nothing needs it");
  EXPECT_EQ(complaint({}, {"unused"}, left),
            "net.onnx: --to unused: the node is not in the imported graph: its results are known "
            "before the run, or nothing needs them");
  EXPECT_THAT(complaint({"act:7"}, {}), testing::StartsWith("net.onnx: --from act:7: has no node or tensor"));
}

} // namespace
} // namespace lathe
