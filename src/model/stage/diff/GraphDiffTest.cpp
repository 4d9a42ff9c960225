#include "stage/diff/GraphDiff.h"

#include "ir/Context.h"
#include "ir/Main.h"
#include "ir/Nn.h"
#include "stage/GraphTesting.h"
#include "stage/diff/PlainForm.h"

#include "mlir/Parser/Parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

using namespace lathe;

namespace {

class GraphDiffTest : public testing::Test {
protected:
  std::unique_ptr<mlir::MLIRContext> contextA = makeContext(), contextB = makeContext();

  GraphDiff diff(const std::string &a, const std::string &b, double tolerance = 0, bool plain = false) {
    auto moduleA = mlir::parseSourceString<mlir::ModuleOp>(a, contextA.get());
    auto moduleB = mlir::parseSourceString<mlir::ModuleOp>(b, contextB.get());
    EXPECT_TRUE(moduleA && moduleB) << a << b;
    for (mlir::ModuleOp module : {*moduleA, *moduleB})
      if (plain)
        plainForm(mainFunction(module));
    return diffGraphs(mainFunction(*moduleA), mainFunction(*moduleB), tolerance);
  }

  /// A network of five layers that `change` may alter: each layer has a product with its own constant, tanh, and a sum
  /// with the layer's input.
  static std::string network(const std::function<std::string(GraphText &, int layer, std::string x)> &change = {}) {
    GraphText graph;
    std::string x = "%x";
    for (int layer = 0; layer < 5; ++layer) {
      std::string changed = change ? change(graph, layer, x) : "";
      x = changed.empty() ? unchanged(graph, layer, x) : changed;
    }
    return graph.finish(x);
  }
  static std::string weights(int layer) { return fmt::format("[{}.5, 2.0, 3.0, 4.0]", layer); }
  static std::string unchanged(GraphText &graph, int layer, const std::string &x) {
    std::string name = fmt::format("layer{}.", layer);
    std::string y = graph.add("mul", {x, graph.constant(weights(layer))}, name + "mul");
    y = graph.add("tanh", {y}, name + "tanh");
    return graph.add("add", {y, x}, name + "add");
  }
};

TEST_F(GraphDiffTest, AGraphDoesNotDifferFromItself) {
  GraphDiff same = diff(network(), network());
  EXPECT_EQ(same.count(), 0u);
  EXPECT_EQ(same.partners, 15u);
  EXPECT_EQ(same.equalConstants, 5u);
}

TEST_F(GraphDiffTest, AConstantDiffersInOneElement) {
  auto change = [](GraphText &graph, int layer, std::string x) -> std::string {
    if (layer != 2)
      return "";
    std::string y = graph.add("mul", {x, graph.constant("[2.5, 2.0, 3.25, 4.0]")}, "changed");
    return graph.add("add", {graph.add("tanh", {y}), x});
  };
  GraphDiff found = diff(network(), network(change));
  EXPECT_EQ(found.count(), 1u);
  ASSERT_EQ(found.differing.size(), 1u);
  const GraphDiff::Constant &constant = found.differing[0];
  EXPECT_EQ(constant.nodes.a, "layer2.mul");
  EXPECT_EQ(constant.nodes.b, "changed");
  EXPECT_EQ(constant.largest, 0.25);
  EXPECT_THAT(constant.position, testing::ElementsAre(2));
  EXPECT_EQ(constant.a, 3.0);
  EXPECT_EQ(constant.b, 3.25);
  EXPECT_EQ(constant.differing, 1);
  EXPECT_EQ(constant.elements, 4);
  EXPECT_NEAR(constant.relative, 0.25 / std::sqrt(2.5 * 2.5 + 4 + 9 + 16), 1e-12);
  GraphDiff tolerated = diff(network(), network(change), 0.05);
  EXPECT_EQ(tolerated.count(), 0u);
  EXPECT_EQ(tolerated.equalConstants, 4u);
  EXPECT_EQ(tolerated.largestAccepted, constant.relative);
}

TEST_F(GraphDiffTest, AZeroWithAnotherSignIsAnotherConstant) {
  auto text = [](const std::string &elements) {
    GraphText graph;
    return graph.finish(graph.add("div", {"%x", graph.constant(elements)}, "quotient"));
  };
  GraphDiff found = diff(text("[0.0, 2.0, 0.0, 1.0]"), text("[0.0, 2.0, -0.0, 1.0]"), 0.5);
  EXPECT_EQ(found.count(), 1u);
  ASSERT_EQ(found.differing.size(), 1u);
  EXPECT_EQ(found.differing[0].largest, 0.0);
  EXPECT_EQ(found.differing[0].differing, 1);
  EXPECT_THAT(found.differing[0].position, testing::ElementsAre(2));
  EXPECT_TRUE(std::signbit(found.differing[0].b));
}

/// 2^53 and the next integer are the same double, and their difference is far below any tolerance.
TEST_F(GraphDiffTest, IntegersAreNotRounded) {
  auto text = [](int64_t element) {
    return fmt::format(R"(func.func @main(%x: tensor<2xi64>) -> tensor<2xi64> {{
      %0 = nn.constant {{value = dense<[3, {}]> : tensor<2xi64>}} : tensor<2xi64>
      %1 = nn.add %x, %0 : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
      return %1 : tensor<2xi64> }})",
                       element);
  };
  int64_t large = int64_t(1) << 53;
  EXPECT_EQ(diff(text(large), text(large)).count(), 0u);
  GraphDiff found = diff(text(large), text(large + 1), 0.5);
  EXPECT_EQ(found.count(), 1u);
  ASSERT_EQ(found.differing.size(), 1u);
  EXPECT_EQ(found.differing[0].largest, 1.0);
  EXPECT_EQ(found.differing[0].differing, 1);
}

TEST_F(GraphDiffTest, ConstantsWithoutElementsHaveNoLargestDifference) {
  auto text = [](const std::string &type) {
    return fmt::format(R"(func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {{
      %0 = nn.constant {{value = dense<> : tensor<0x{0}>}} : tensor<0x{0}>
      %1 = nn.cast %0 {{to = f32}} : (tensor<0x{0}>) -> tensor<0xf32>
      %2 = nn.concat %x, %1 {{axis = 0 : i64}} : (tensor<2xf32>, tensor<0xf32>) -> tensor<2xf32>
      return %2 : tensor<2xf32>
    }})",
                       type);
  };
  GraphDiff found = diff(text("f64"), text("f16"));
  EXPECT_EQ(found.count(), 1u);
  ASSERT_EQ(found.differing.size(), 1u);
  EXPECT_FALSE(found.differing[0].largest);
  EXPECT_THAT(found.differing[0].dimsA, testing::StartsWith("f64"));
}

TEST_F(GraphDiffTest, ARemovedOperatorStaysLocal) {
  auto without = [](GraphText &graph, int layer, std::string x) -> std::string {
    if (layer != 3)
      return "";
    return graph.add("add", {graph.add("mul", {x, graph.constant(weights(3))}, "layer3.mul"), x}, "layer3.add");
  };
  GraphDiff found = diff(network(), network(without));
  EXPECT_EQ(found.count(), 1u);
  ASSERT_EQ(found.onlyA.size(), 1u);
  EXPECT_EQ(found.onlyA[0].name, "layer3.tanh");
  EXPECT_EQ(found.onlyA[0].kind, "tanh");
  EXPECT_EQ(found.onlyA[0].before, "layer3.mul");
  EXPECT_EQ(found.onlyA[0].behind, "layer3.add");
  EXPECT_EQ(found.partners, 14u);
  GraphDiff back = diff(network(without), network());
  EXPECT_EQ(back.count(), 1u);
  ASSERT_EQ(back.onlyB.size(), 1u);
  EXPECT_EQ(back.onlyB[0].name, "layer3.tanh");
}

TEST_F(GraphDiffTest, AnInputMayBePreparedOtherwise) {
  auto prepared = [](GraphText &graph, int layer, std::string x) -> std::string {
    if (layer != 0)
      return "";
    x = graph.add("div", {graph.add("sub", {x, graph.constant(120)}, "mean"), graph.constant(58)}, "deviation");
    return unchanged(graph, 0, x);
  };
  GraphDiff found = diff(network(), network(prepared));
  EXPECT_EQ(found.count(), 2u);
  ASSERT_EQ(found.onlyB.size(), 2u);
  EXPECT_EQ(found.onlyB[0].name, "mean");
  EXPECT_EQ(found.onlyB[0].port, "input0");
  EXPECT_EQ(found.onlyB[1].name, "deviation");
  EXPECT_EQ(found.onlyB[1].port, "input0");
}

TEST_F(GraphDiffTest, AnUnlikeNetworkPreparesNoInput) {
  std::string texts[2];
  for (int second : {0, 1}) {
    GraphText graph;
    std::string x = "%x";
    for (const char *op : second ? std::vector{"exp", "relu", "neg", "abs"} : std::vector{"tanh", "sqrt", "sin", "cos"})
      x = graph.add(op, {x});
    texts[second] = graph.finish(x);
  }
  GraphDiff found = diff(texts[0], texts[1]);
  EXPECT_EQ(found.onlyA.size(), 4u);
  EXPECT_EQ(found.onlyB.size(), 4u);
  for (const GraphDiff::Alone &alone : found.onlyA)
    EXPECT_EQ(alone.port, "") << alone.name;
  for (const GraphDiff::Alone &alone : found.onlyB)
    EXPECT_EQ(alone.port, "") << alone.name;
}

TEST_F(GraphDiffTest, AnotherOperatorInThePlaceOfOneIsOneDifference) {
  auto replaced = [](GraphText &graph, int layer, std::string x) -> std::string {
    if (layer != 1)
      return "";
    std::string y = graph.add("mul", {x, graph.constant(weights(1))}, "layer1.mul");
    return graph.add("add", {graph.add("relu", {y}, "layer1.relu"), x}, "layer1.add");
  };
  GraphDiff found = diff(network(), network(replaced));
  EXPECT_EQ(found.count(), 1u);
  ASSERT_EQ(found.attributes.size(), 1u);
  EXPECT_EQ(found.attributes[0].name, "operator");
  EXPECT_EQ(found.attributes[0].nodes.b, "layer1.relu");
  EXPECT_EQ(found.attributes[0].a, "tanh");
  EXPECT_EQ(found.attributes[0].b, "relu");
}

TEST_F(GraphDiffTest, OrderOfOperandsMattersWhereTheyDoNotCommute) {
  for (const char *op : {"add", "sub"}) {
    std::string texts[2];
    for (int turned : {0, 1}) {
      GraphText graph;
      std::string a = graph.add("tanh", {"%x"}, "a"), b = graph.add("exp", {"%x"}, "b");
      texts[turned] = graph.finish(graph.add(op, turned ? std::vector{b, a} : std::vector{a, b}, "last"));
    }
    GraphDiff found = diff(texts[0], texts[1]);
    EXPECT_EQ(found.connections.size(), std::string(op) == "sub" ? 2u : 0u);
    EXPECT_EQ(found.count(), found.connections.size());
    for (const GraphDiff::Connection &connection : found.connections) {
      EXPECT_EQ(connection.nodes.a, "last");
      EXPECT_NE(connection.a, connection.b);
    }
  }
}

TEST_F(GraphDiffTest, AttributesAreCompared) {
  std::string texts[2];
  for (int second : {0, 1}) {
    GraphText graph;
    std::string x = graph.add("tanh", {"%x"});
    texts[second] =
        graph.finish(graph.add("leaky_relu", {x}, "leaky", second ? "{alpha = 0.2 : f64}" : "{alpha = 0.1 : f64}"));
  }
  GraphDiff found = diff(texts[0], texts[1]);
  EXPECT_EQ(found.count(), 1u);
  ASSERT_EQ(found.attributes.size(), 1u);
  EXPECT_EQ(found.attributes[0].nodes.a, "leaky");
  EXPECT_EQ(found.attributes[0].name, "alpha");
  EXPECT_EQ(found.attributes[0].a, "0.1");
  EXPECT_EQ(found.attributes[0].b, "0.2");
}

TEST_F(GraphDiffTest, BodiesAreCompared) {
  auto text = [](const char *op) {
    return fmt::format(R"(
      module @taken {{ func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {{
        %0 = nn.{} %x : (tensor<4xf32>) -> tensor<4xf32> loc("inside")
        return %0 : tensor<4xf32> }} }}
      module @other {{ func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {{
        %0 = nn.neg %x : (tensor<4xf32>) -> tensor<4xf32>
        return %0 : tensor<4xf32> }} }}
      func.func @main(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {{
        %0 = nn.if %c, %x {{then_body = @taken, else_body = @other}} : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32>
        return %0 : tensor<4xf32> }})",
                       op);
  };
  EXPECT_EQ(diff(text("tanh"), text("tanh")).count(), 0u);
  EXPECT_EQ(diff(text("tanh"), text("tanh")).partners, 3u);
  GraphDiff found = diff(text("tanh"), text("exp"));
  ASSERT_EQ(found.onlyA.size(), 1u);
  EXPECT_EQ(found.onlyA[0].name, "inside");
  EXPECT_EQ(found.onlyB.size(), 1u);
}

TEST_F(GraphDiffTest, ATransposedInputIsALayout) {
  const char *first =
      R"(func.func @main(%x: tensor<1x3x4x4xf32> {nn.name = "x"}) -> (tensor<1x3x4x4xf32> {nn.name = "y"}) {
    %0 = nn.tanh %x : (tensor<1x3x4x4xf32>) -> tensor<1x3x4x4xf32>
    return %0 : tensor<1x3x4x4xf32> })";
  const char *last =
      R"(func.func @main(%x: tensor<1x4x4x3xf32> {nn.name = "x"}) -> (tensor<1x4x4x3xf32> {nn.name = "y"}) {
    %0 = nn.transpose %x {perm = array<i64: 0, 3, 1, 2>} : (tensor<1x4x4x3xf32>) -> tensor<1x3x4x4xf32>
    %1 = nn.tanh %0 : (tensor<1x3x4x4xf32>) -> tensor<1x3x4x4xf32>
    %2 = nn.transpose %1 {perm = array<i64: 0, 2, 3, 1>} : (tensor<1x3x4x4xf32>) -> tensor<1x4x4x3xf32>
    return %2 : tensor<1x4x4x3xf32> })";
  GraphDiff found = diff(last, first);
  EXPECT_EQ(found.nodesA, 1u);
  EXPECT_EQ(found.partners, 1u);
  EXPECT_EQ(found.count(), 2u);
  ASSERT_EQ(found.ports.size(), 2u);
  EXPECT_EQ(found.ports[0].port, "input 'x'");
  EXPECT_EQ(found.ports[0].what, "layout");
  EXPECT_EQ(found.ports[0].a, "1x4x4x3");
  EXPECT_EQ(found.ports[0].b, "1x3x4x4");
  EXPECT_EQ(found.ports[1].port, "output 'y'");
  EXPECT_EQ(diff(last, last).count(), 0u);
}

TEST_F(GraphDiffTest, ProductsAndPadsHaveOneForm) {
  auto product = [](const char *line) {
    return fmt::format(R"(func.func @main(%x: tensor<2x2xf32>) -> tensor<2x3xf32> {{
      %w = nn.constant {{value = dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>}} : tensor<2x3xf32>
      %t = nn.constant {{value = dense<[[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]> : tensor<3x2xf32>}} : tensor<3x2xf32>
      {}
      return %y : tensor<2x3xf32> }})",
                       line);
  };
  std::string straight = product("%y = nn.gemm %x, %w : (tensor<2x2xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>");
  std::string turned =
      product("%y = nn.gemm %x, %t {trans_b = true} : (tensor<2x2xf32>, tensor<3x2xf32>) -> tensor<2x3xf32>");
  std::string matmul = product("%y = nn.matmul %x, %w : (tensor<2x2xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>");
  EXPECT_GT(diff(straight, turned).count(), 0u);
  EXPECT_EQ(diff(straight, turned, 0, true).count(), 0u);
  EXPECT_EQ(diff(straight, matmul, 0, true).count(), 0u);
  const char *behind = R"(func.func @main(%x: tensor<1x2x2x3xf32>) -> tensor<1x3x6x8xf32> {
    %p = nn.pad %x {pads = array<i64: 0, 1, 2, 0, 0, 3, 4, 0>, operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<1x2x2x3xf32>) -> tensor<1x6x8x3xf32>
    %q = nn.transpose %p {perm = array<i64: 0, 3, 1, 2>} : (tensor<1x6x8x3xf32>) -> tensor<1x3x6x8xf32>
    return %q : tensor<1x3x6x8xf32> })";
  const char *before = R"(func.func @main(%x: tensor<1x2x2x3xf32>) -> tensor<1x3x6x8xf32> {
    %q = nn.transpose %x {perm = array<i64: 0, 3, 1, 2>} : (tensor<1x2x2x3xf32>) -> tensor<1x3x2x2xf32>
    %p = nn.pad %q {pads = array<i64: 0, 0, 1, 2, 0, 0, 3, 4>, operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<1x3x2x2xf32>) -> tensor<1x3x6x8xf32>
    return %p : tensor<1x3x6x8xf32> })";
  EXPECT_GT(diff(behind, before).count(), 0u);
  EXPECT_EQ(diff(behind, before, 0, true).count(), 0u);
}

/// If one operator is missing, all others keep their partners.
TEST_F(GraphDiffTest, OneOperatorLessInRandomGraphsIsOneDifference) {
  size_t tried = 0;
  for (unsigned seed = 1; seed <= 40; ++seed) {
    auto build = [&](int without) {
      std::mt19937 random(seed);
      auto below = [&](size_t bound) { return static_cast<size_t>(random() % bound); };
      GraphText graph;
      std::vector<std::string> values{"%x"};
      for (int i = 0; i < 40; ++i) {
        std::string a = values[values.size() - 1 - below(std::min<size_t>(values.size(), 4))];
        std::string constant = fmt::format("[{}.0, {}.0, 1.0, 2.0]", i, below(100));
        std::string name = "n" + std::to_string(i);
        const char *unary[] = {"tanh", "relu", "neg"};
        size_t kind = below(4);
        if (kind < 3 && i == without)
          values.push_back(a); // readers of the missing operator read its operand
        else if (kind < 3)
          values.push_back(graph.add(unary[kind], {a}, name));
        else
          values.push_back(
              graph.add("mul", {graph.add("add", {a, values.back()}, name), graph.constant(constant)}, name + "m"));
      }
      std::string sum = values[1];
      for (size_t i = 2; i < values.size(); ++i) // so that every value has a reader
        sum = graph.add("add", {sum, values[i]}, "s" + std::to_string(i));
      return graph.finish(sum);
    };
    std::string whole = build(-1);
    int without = static_cast<int>(seed) % 40;
    std::string less = build(without);
    if (less == whole) // the operator was not unary
      continue;
    ++tried;
    GraphDiff found = diff(whole, less);
    ASSERT_EQ(found.onlyA.size(), 1u) << seed;
    // If two equal operators follow each other, the diff may name either one as missing.
    size_t name = whole.find(fmt::format("loc(\"n{}\")", without)), line = whole.rfind('\n', name);
    EXPECT_NE(whole.substr(line, name - line).find("nn." + found.onlyA[0].kind + " "), std::string::npos) << seed;
    EXPECT_EQ(found.count(), 1u) << seed;
  }
  EXPECT_GE(tried, 20u);
}

} // namespace
