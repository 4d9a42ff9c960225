#include "stage/diff/GraphPorts.h"

#include "ir/Context.h"
#include "ir/Main.h"

#include "mlir/Parser/Parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace lathe;
using testing::ElementsAre;

namespace {

GraphDiff diff(const std::string &a, const std::string &b) {
  std::unique_ptr<mlir::MLIRContext> contextA = makeContext(), contextB = makeContext();
  auto moduleA = mlir::parseSourceString<mlir::ModuleOp>(a, contextA.get());
  auto moduleB = mlir::parseSourceString<mlir::ModuleOp>(b, contextB.get());
  EXPECT_TRUE(moduleA && moduleB) << a << b;
  return diffGraphs(mainFunction(*moduleA), mainFunction(*moduleB), 0);
}

/// y = exp of x, with a transpose `in` before and a transpose `out` after exp; empty: no transpose. `extents` are the
/// extents of exp.
std::string reordered(const std::vector<int64_t> &extents, const std::vector<int64_t> &in,
                      const std::vector<int64_t> &out = {}) {
  auto type = [](const std::vector<int64_t> &dims) { return fmt::format("tensor<{}xf32>", fmt::join(dims, "x")); };
  std::vector<int64_t> first = extents, last = extents;
  for (size_t axis = 0; axis < extents.size(); ++axis) {
    if (!in.empty())
      first[static_cast<size_t>(in[axis])] = extents[axis];
    if (!out.empty())
      last[axis] = extents[static_cast<size_t>(out[axis])];
  }
  auto transpose = [&](const char *to, const char *from, const auto &order, const auto &before, const auto &after) {
    return fmt::format("{} = nn.transpose {} {{perm = array<i64: {}>}} : ({}) -> {}\n", to, from,
                       fmt::join(order, ", "), type(before), type(after));
  };
  std::string text = fmt::format("func.func @main(%x: {} {{nn.name = \"x\"}}) -> ({} {{nn.name = \"y\"}}) {{\n",
                                 type(first), type(last));
  if (!in.empty())
    text += transpose("%i", "%x", in, first, extents);
  text += fmt::format("%e = nn.exp {} : ({}) -> {}\n", in.empty() ? "%x" : "%i", type(extents), type(extents));
  if (!out.empty())
    text += transpose("%o", "%e", out, extents, last);
  return text + fmt::format("return {} : {} }}\n", out.empty() ? "%e" : "%o", type(last));
}

/// For all extents, also for equal ones.
TEST(GraphPortsTest, ChannelsThatMoveAreALayout) {
  for (const std::vector<int64_t> &extents : {std::vector<int64_t>{1, 3, 4, 5}, {1, 3, 4, 4}, {1, 3, 3, 3}}) {
    GraphDiff found = diff(reordered(extents, {0, 3, 1, 2}, {0, 2, 3, 1}), reordered(extents, {}));
    EXPECT_EQ(found.count(), 2u);
    EXPECT_EQ(found.countOfContent(), 0u);
    ASSERT_EQ(found.ports.size(), 2u);
    EXPECT_EQ(found.ports[0].port, "input 'x'");
    EXPECT_EQ(found.ports[0].what, "layout");
    EXPECT_THAT(found.ports[0].axes, ElementsAre(0, 3, 1, 2));
    EXPECT_EQ(found.ports[0].a, fmt::format("1x{}x{}x3", extents[2], extents[3]));
    EXPECT_EQ(found.ports[0].b, fmt::format("1x3x{}x{}", extents[2], extents[3]));
    EXPECT_EQ(found.ports[1].port, "output 'y'");
    EXPECT_EQ(found.ports[1].what, "layout");
    EXPECT_THAT(found.ports[1].axes, ElementsAre(0, 3, 1, 2));
    EXPECT_EQ(found.ports[1].a, fmt::format("1x{}x{}x3", extents[2], extents[3]));
    GraphDiff back = diff(reordered(extents, {}), reordered(extents, {0, 3, 1, 2}));
    ASSERT_EQ(back.ports.size(), 1u);
    EXPECT_EQ(back.ports[0].what, "layout");
    EXPECT_THAT(back.ports[0].axes, ElementsAre(0, 2, 3, 1));
    EXPECT_EQ(diff(reordered(extents, {0, 3, 1, 2}), reordered(extents, {0, 3, 1, 2})).count(), 0u);
  }
}

TEST(GraphPortsTest, AnyOtherOrderOfAxesIsADifferenceOfContent) {
  struct Case {
    std::vector<int64_t> extents, a, b;
    std::vector<size_t> axes;
  };
  const Case cases[] = {
      {{1, 3, 4, 4}, {}, {0, 1, 3, 2}, {0, 1, 3, 2}},           // height against width, of a square
      {{1, 3, 4, 5}, {}, {0, 1, 3, 2}, {0, 1, 3, 2}},           // height against width, of a rectangle
      {{1, 3, 4, 4}, {0, 3, 1, 2}, {0, 3, 2, 1}, {0, 2, 1, 3}}, // height against width, behind another layout
      {{1, 3, 4, 5}, {}, {0, 3, 2, 1}, {0, 3, 2, 1}},           // extents of a layout, but rows are columns
      {{3, 3}, {}, {1, 0}, {1, 0}},
      {{3, 3, 3}, {2, 0, 1}, {1, 2, 0}, {1, 2, 0}}, // axis 1 of B and axis 2 of A are axis 0 inside
  };
  for (const Case &one : cases) {
    GraphDiff found = diff(reordered(one.extents, one.a), reordered(one.extents, one.b));
    EXPECT_EQ(found.countOfContent(), 1u);
    ASSERT_EQ(found.ports.size(), 1u);
    EXPECT_EQ(found.ports[0].port, "input 'x'");
    EXPECT_EQ(found.ports[0].what, "axes");
    EXPECT_EQ(found.ports[0].axes, one.axes);
  }
  GraphDiff behind = diff(reordered({1, 3, 4, 4}, {}), reordered({1, 3, 4, 4}, {}, {0, 1, 3, 2}));
  ASSERT_EQ(behind.ports.size(), 1u);
  EXPECT_EQ(behind.ports[0].port, "output 'y'");
  EXPECT_EQ(behind.ports[0].what, "axes");
}

TEST(GraphPortsTest, ExtentsBehindALayoutAreComparedToo) {
  GraphDiff found = diff(reordered({1, 3, 4, 4}, {0, 3, 1, 2}), reordered({1, 3, 8, 8}, {}));
  ASSERT_EQ(found.ports.size(), 3u);
  EXPECT_EQ(found.ports[0].what, "layout");
  EXPECT_EQ(found.ports[1].what, "extents");
  EXPECT_EQ(found.ports[1].a, "1x3x4x4");
  EXPECT_EQ(found.ports[1].b, "1x3x8x8");
  EXPECT_EQ(found.ports[2].port, "output 'y'");
}

/// y = x[0] + x[1], with these names of the batches.
std::string batches(const std::string &first, const std::string &second) {
  auto symbol = [](const std::string &name) { return fmt::format("{{nn.dims = [\"{}\", \"4\"]}}", name); };
  return fmt::format(R"(func.func @main(%a: tensor<?x4xf32> {0}, %b: tensor<?x4xf32> {1}) -> tensor<?x8xf32> {{
    %s = nn.tanh %a : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %t = nn.exp %b : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %c = nn.concat %s, %t {{axis = 0 : i64}} : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
    %y = nn.concat %c, %c {{axis = 1 : i64}} : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x8xf32>
    return %y : tensor<?x8xf32> }})",
                     symbol(first), symbol(second));
}

TEST(GraphPortsTest, SymbolsMayHaveOtherNames) {
  EXPECT_EQ(diff(batches("N", "M"), batches("N", "M")).count(), 0u);
  EXPECT_EQ(diff(batches("N", "M"), batches("batch", "input_1_0")).count(), 0u);
  EXPECT_EQ(diff(batches("N", "M"), batches("M", "N")).count(), 0u); // exchanged names
  EXPECT_EQ(diff(batches("N", "N"), batches("batch", "batch")).count(), 0u);
  // One symbol differs from two: the second input differs, and so does the output.
  for (auto &[a, b] : {std::pair(batches("N", "N"), batches("N", "M")), {batches("N", "M"), batches("b", "b")}}) {
    GraphDiff found = diff(a, b);
    EXPECT_EQ(found.count(), 2u);
    ASSERT_EQ(found.ports.size(), 2u);
    EXPECT_EQ(found.ports[0].port, "input 'input1'");
    EXPECT_EQ(found.ports[0].what, "extents");
    EXPECT_EQ(found.ports[1].what, "extents");
  }
}

} // namespace
