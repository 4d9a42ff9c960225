// Extents that only the run knows, compiled beside the interpreter over several values.
#include "tests/passes/CompiledGraph.h"

namespace lathe {
namespace {

using OpenExtents = CompiledGraph;

/// Axes of `x` and `y` have extents of their own: they are equal, or either of them is 1.
struct Meeting {
  std::vector<int64_t> x, y;
};

std::string graphOf(const std::string &operators) {
  return "func.func @main(%x: tensor<?x?xf32> {nn.dims = [\"N\", \"M\"]}, %y: tensor<?x?xf32> {nn.dims = [\"K\", "
         "\"L\"]}) -> tensor<?x?xf32> {\n" +
         operators + "  return %z : tensor<?x?xf32>\n}";
}

/// By operators that broadcast, with one more behind that has an extent of the first operand.
const std::vector<std::string> &broadcasting() {
  static const std::string pair = " : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>\n";
  static const std::vector<std::string> all = {
      "  %z = nn.add %x, %y" + pair,
      "  %s = nn.mul %y, %x" + pair + "  %z = nn.sub %s, %x" + pair,
      "  %c = nn.less %x, %y : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xi1>\n"
      "  %z = nn.where %c, %x, %y : (tensor<?x?xi1>, tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>\n",
      "  %s = nn.shape %y : (tensor<?x?xf32>) -> tensor<2xi64>\n"
      "  %z = nn.expand %x, %s : (tensor<?x?xf32>, tensor<2xi64>) -> tensor<?x?xf32>\n",
      "  %m = nn.max %x, %y" + pair + "  %t = nn.add %m, %y" + pair + "  %z = nn.neg %t : (tensor<?x?xf32>) -> " +
          "tensor<?x?xf32>\n",
  };
  return all;
}

TEST_F(OpenExtents, eitherOfTwoMayBeOneWhereTheyMeet) {
  const std::vector<Meeting> meetings = {{{3, 5}, {3, 5}}, {{1, 5}, {3, 5}}, {{3, 5}, {1, 5}},   {{3, 1}, {3, 5}},
                                         {{3, 5}, {3, 1}}, {{1, 5}, {3, 1}}, {{3, 1}, {1, 5}},   {{1, 1}, {1, 1}},
                                         {{3, 5}, {1, 1}}, {{1, 1}, {2, 9}}, {{1, 40}, {7, 40}}, {{7, 40}, {7, 1}},
                                         {{0, 5}, {1, 5}}, {{1, 5}, {0, 1}}, {{1, 1}, {2, 0}}};
  for (const std::string &operators : broadcasting()) {
    std::string text = graphOf(operators);
    for (const auto &[x, y] : meetings) {
      std::string wanted = interpreted(text, {reals(x), reals(y)});
      ASSERT_FALSE(wanted.starts_with("error")) << wanted << "\n" << text;
      expectResult(text, {reals(x), reals(y)}, wanted);
    }
    expectErrors(text, {reals({3, 5}), reals({2, 5})}, "broadcast", "or either of them 1, got ");
  }
}

/// Where they meet a third one of the same extents, it adds no condition; an open one may also meet a number.
TEST_F(OpenExtents, whatHasBroadcastBroadcastsOn) {
  std::string text = "func.func @main(%x: tensor<?xf32> {nn.dims = [\"N\"]}, %y: tensor<?xf32> {nn.dims = [\"K\"]}, "
                     "%c: tensor<4xf32>) -> (tensor<?xf32>, tensor<4xf32>) {\n"
                     "  %0 = nn.add %x, %y : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>\n"
                     "  %1 = nn.mul %y, %0 : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>\n"
                     "  %2 = nn.sub %1, %x : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>\n"
                     "  %3 = nn.add %2, %c : (tensor<?xf32>, tensor<4xf32>) -> tensor<4xf32>\n"
                     "  return %2, %3 : tensor<?xf32>, tensor<4xf32>\n}";
  for (auto [x, y] : {std::pair{1, 4}, {4, 1}, {4, 4}, {1, 1}})
    expectResult(text, {reals({x}), reals({y}), reals({4})}, interpreted(text, {reals({x}), reals({y}), reals({4})}));
}

/// A network of strided windows whose padding follows height and width: dense, depthwise and pooling, with weights of one,
/// so that sums of integers are exact. `rule`: 1 or -1 as in ops/WindowPads.h.
std::string network(int64_t rule, const std::string &batch) {
  auto tensor = [](const std::string &dims) { return "tensor<" + dims + "xf32>"; };
  std::string text, image = tensor("?x3x?x?"), wide = tensor("?x32x?x?"), last = "%x", type = image;
  auto window = [&](int64_t kernel, int64_t stride) {
    int64_t begin = (kernel - 1 + (rule < 0)) / 2, end = kernel - 1 - begin;
    return fmt::format("strides = array<i64: {0}, {0}>, dilations = array<i64: 1, 1>, pads = array<i64: {1}, {1}, {2}, "
                       "{2}, {3}, {3}>",
                       stride, begin, end, rule);
  };
  auto conv = [&](const std::string &weights, int64_t kernel, int64_t stride, int64_t groups) {
    std::string number = std::to_string(text.size()), name = "%y" + number;
    text += fmt::format("  %w{0} = nn.constant {{value = dense<1.0> : {1}}} : {1}\n"
                        "  %y{0} = nn.conv {2}, %w{0} {{{3}, group = {4} : i64}} : ({5}, {1}) -> {6}\n",
                        number, tensor(weights), last, window(kernel, stride), groups, type, wide);
    last = name;
    type = wide;
  };
  conv("32x3x3x3", 3, 2, 1);
  conv("32x1x5x5", 5, 2, 32);
  text += fmt::format("  %p = nn.max_pool {} {{kernel = array<i64: 3, 3>, {}}} : ({}) -> {}\n", last, window(3, 2),
                      wide, wide);
  return "func.func @main(%x: " + image + " {nn.dims = [\"" + batch + "\", \"3\", \"H\", \"W\"]}) -> " + wide + " {\n" +
         text + "  return %p : " + wide + "\n}";
}

TEST_F(OpenExtents, paddingFollowsThem) {
  for (int64_t rule : {1, -1}) {
    std::string text = network(rule, "N");
    for (auto [height, width] : {std::pair{1, 1}, {2, 3}, {3, 2}, {4, 9}, {15, 16}, {16, 15}, {31, 33}, {2, 40}}) {
      std::vector<Value> inputs = {reals({2, 3, height, width})};
      std::string wanted = interpreted(text, inputs);
      ASSERT_FALSE(wanted.starts_with("error")) << wanted;
      for (int level : {0, 1, 2, 3})
        EXPECT_EQ(compiled(text, inputs, level), wanted) << "level " << level << ", " << height << " x " << width;
    }
  }
}

/// The same network of known extents states its padding.
TEST_F(OpenExtents, paddingOfKnownExtentsIsANumber) {
  std::string open = network(1, "N"), known = open;
  known.replace(known.find("tensor<?x3x?x?xf32> {"),
                std::string("tensor<?x3x?x?xf32> {nn.dims = [\"N\", \"3\", \"H\", \"W\"]}").size(),
                "tensor<2x3x16x15xf32>");
  known.replace(known.find("(tensor<?x3x?x?xf32>"), std::string("(tensor<?x3x?x?xf32>").size(),
                "(tensor<2x3x16x15xf32>");
  std::vector<Value> inputs = {reals({2, 3, 16, 15})};
  for (int level : {0, 3})
    EXPECT_EQ(compiled(known, inputs, level), compiled(open, inputs, level));
}

} // namespace
} // namespace lathe
