// Lists whose number of elements changes, outside and inside loops.
#include "import/tensorflow/GraphTesting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lathe::tensorflow {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using G = TestGraph;

std::string emptyList(G &g) { return g.op("EmptyTensorList", {g.ints({2}), g.scalar(-1)}, {type("element_dtype", 1)}); }
std::string stacked(G &g, const std::string &list) {
  return g.op("TensorListStack", {list, g.ints({2})}, {type("element_dtype", 1)}, "y");
}

TEST(List, GrowsAndShrinks) {
  G g;
  std::string x = g.placeholder("x", {2}), list = emptyList(g);
  for (int i = 0; i < 3; ++i) {
    list = g.op("TensorListPushBack", {list, x}, {type("element_dtype", 1)});
    if (i < 2)
      x = g.op("Mul", {x, g.real(10)});
  }
  std::string popped = g.op("TensorListPopBack", {list, g.ints({2})}, {type("element_dtype", 1)}, "pop");
  stacked(g, popped);
  g.op("Identity", {popped + ":1"}, {}, "last");
  g.op("TensorListLength", {list}, {}, "count");
  std::vector<Tensor> got = results(g.bytes(), {floats({2}, {1, 2})});
  EXPECT_THAT(got.at(0).dims(), ElementsAre(2, 2));
  EXPECT_THAT(numbersOf(got[0]), ElementsAre(1, 2, 10, 20));
  EXPECT_THAT(numbersOf(got.at(1)), ElementsAre(100, 200));
  EXPECT_THAT(numbersOf(got.at(2)), ElementsAre(3));
}

/// A loop that pushes x * i while i < n.
std::string pushing(bool known) {
  G g;
  std::string x = g.placeholder("x", {2}), n = known ? g.scalar(3) : g.placeholder("n", {}, 3);
  auto add = [](file::FunctionDef &f, const std::string &name, const std::string &op,
                const std::vector<std::string> &inputs,
                const std::vector<Attr> &attrs = {}) { setNode(*f.add_node_def(), name, op, inputs, attrs); };
  std::vector<std::pair<std::string, int32_t>> arguments = {{"i", 3}, {"list", 21}, {"x", 1}, {"n", 3}};
  file::FunctionDef &test = g.function("test", arguments, {{"more", "less:z:0"}});
  add(test, "less", "Less", {"i", "n"});
  file::FunctionDef &body = g.function(
      "body", arguments, {{"j", "next:z:0"}, {"longer", "push:output_handle:0"}, {"same_x", "x"}, {"same_n", "n"}});
  setConstant<int32_t>(*body.add_node_def(), "one", {}, {1});
  add(body, "next", "AddV2", {"i", "one:output:0"});
  add(body, "number", "Cast", {"next:z:0"}, {type("SrcT", 3), type("DstT", 1)});
  add(body, "product", "Mul", {"x", "number:y:0"});
  add(body, "push", "TensorListPushBack", {"list", "product:z:0"}, {type("element_dtype", 1)});
  g.op("While", {g.scalar(0), emptyList(g), x, n},
       {function("cond", "test"), function("body", "body"), types("T", {3, 21, 1, 3})}, "loop");
  stacked(g, "loop:1");
  return g.bytes();
}

TEST(List, GrowsInALoop) {
  EXPECT_THAT(numbersOf(results(pushing(true), {floats({2}, {1, 2})}).at(0)), ElementsAre(1, 2, 2, 4, 3, 6));
  for (int count : {0, 1, 4}) {
    std::vector<Tensor> got =
        results(pushing(false), {floats({2}, {1, 2}), tensorOf(ElementType::i32, {}, {double(count)})});
    EXPECT_THAT(got.at(0).dims(), ElementsAre(count, 2));
    for (int64_t i = 0; i < got[0].elements(); ++i)
      EXPECT_EQ(got[0].asDouble(i), double((i / 2 + 1) * (i % 2 + 1)));
  }
}

/// A loop that takes elements from a list of n rows until it is empty: sum = 2 sum + element.
std::string popping() {
  G g;
  std::string x = g.placeholder("x", {-1, 2});
  auto add = [](file::FunctionDef &f, const std::string &name, const std::string &op,
                const std::vector<std::string> &inputs,
                const std::vector<Attr> &attrs = {}) { setNode(*f.add_node_def(), name, op, inputs, attrs); };
  std::vector<std::pair<std::string, int32_t>> arguments = {{"list", 21}, {"sum", 1}};
  file::FunctionDef &test = g.function("test", arguments, {{"more", "less:z:0"}});
  setConstant<int32_t>(*test.add_node_def(), "zero", {}, {0});
  add(test, "length", "TensorListLength", {"list"});
  add(test, "less", "Less", {"zero:output:0", "length:length:0"});
  file::FunctionDef &body = g.function("body", arguments, {{"shorter", "pop:output_handle:0"}, {"total", "add:z:0"}});
  setConstant<int32_t>(*body.add_node_def(), "shape", {1}, {2});
  setConstant<float>(*body.add_node_def(), "two", {}, {2});
  add(body, "pop", "TensorListPopBack", {"list", "shape:output:0"}, {type("element_dtype", 1)});
  add(body, "double", "Mul", {"sum", "two:output:0"});
  add(body, "add", "AddV2", {"double:z:0", "pop:tensor:0"});
  std::string list = g.op("TensorListFromTensor", {x, g.ints({2})}, {type("element_dtype", 1)});
  g.op("While", {list, g.constant<float>({2}, {1, 1})},
       {function("cond", "test"), function("body", "body"), types("T", {21, 1})}, "loop");
  g.op("Identity", {"loop:1"}, {}, "sum");
  g.op("TensorListLength", {"loop"}, {}, "left");
  return g.bytes();
}

TEST(List, ShrinksInALoop) {
  for (int64_t count : {0, 1, 4}) {
    Numbers rows;
    double first = 1, second = 1;
    for (int64_t i = 0; i < 2 * count; ++i)
      rows.push_back(static_cast<double>(i * i % 7));
    for (int64_t row = count - 1; row >= 0; --row) {
      first = 2 * first + rows[static_cast<size_t>(2 * row)];
      second = 2 * second + rows[static_cast<size_t>(2 * row + 1)];
    }
    std::vector<Tensor> got = results(popping(), {floats({count, 2}, rows)});
    EXPECT_THAT(numbersOf(got.at(0)), ElementsAre(first, second)) << count;
    EXPECT_THAT(numbersOf(got.at(1)), ElementsAre(0));
  }
}

TEST(List, HasAnotherSize) {
  for (int32_t count : {1, 2, 4}) {
    G g;
    std::string list = g.op("TensorListFromTensor", {g.placeholder("x", {2, 1}), g.ints({1})}, {});
    list = g.op("TensorListResize", {list, g.placeholder("n", {}, 3)}, {});
    g.op("TensorListStack", {list, g.ints({1})}, {type("element_dtype", 1)}, "y");
    Numbers wanted = {5, 6, 0, 0};
    wanted.resize(static_cast<size_t>(count));
    EXPECT_EQ(
        numbersOf(results(g.bytes(), {floats({2, 1}, {5, 6}), tensorOf(ElementType::i32, {}, {double(count)})})[0]),
        wanted);
  }
}

TEST(List, ElementsBehindTheEnd) {
  for (bool resizes : {true, false}) {
    G g;
    std::string list = g.op("TensorListFromTensor", {g.placeholder("x", {2, 1}), g.ints({1})}, {});
    list = g.op("TensorListSetItem", {list, g.scalar(3), g.constant<float>({1}, {8})},
                {type("element_dtype", 1), truth("resize_if_index_out_of_bounds", resizes)});
    g.op("TensorListStack", {list, g.ints({1})}, {type("element_dtype", 1)}, "y");
    auto run = [&] { return numbersOf(results(g.bytes(), {floats({2, 1}, {5, 6})}).at(0)); };
    if (resizes)
      EXPECT_THAT(run(), ElementsAre(5, 6, 0, 8));
    else
      EXPECT_THROW(run(), Error);
  }
  G g; // a growing array takes several elements at once
  std::string x = g.placeholder("x", {2, 1});
  g.op("TensorArrayV3", {g.scalar(1)}, {type("dtype", 1), truth("dynamic_size")}, "array");
  std::string flow = g.op("TensorArrayScatterV3", {"array", g.ints({3, 1}), x, "array:1"}, {type("T", 1)});
  std::string size = g.op("TensorArraySizeV3", {"array", flow}, {}, "size");
  g.op("TensorArrayGatherV3", {"array", g.op("Range", {g.scalar(0), size, g.scalar(1)}), flow}, {type("dtype", 1)},
       "y");
  EXPECT_THAT(numbersOf(results(g.bytes(), {floats({2, 1}, {5, 6})}).at(0)), ElementsAre(0, 6, 0, 5));
}

TEST(List, PiecesAndTheirConcatenation) {
  for (bool array : {true, false}) {
    G g;
    std::string x = g.placeholder("x", {4, 1}), joined;
    if (array) {
      g.op("TensorArrayV3", {g.scalar(2)}, {type("dtype", 1)}, "array");
      std::string flow = g.op("TensorArraySplitV3", {"array", x, g.constant<int64_t>({2}, {2, 2}), "array:1"});
      g.op("TensorArrayReadV3", {"array", g.scalar(1), flow}, {type("dtype", 1)}, "piece");
      g.op("TensorArrayConcatV3", {"array", flow}, {type("dtype", 1)}, "joined");
    } else {
      std::string list = g.op("TensorListSplit", {x, g.ints({-1, 1}), g.constant<int64_t>({2}, {2, 2})});
      g.op("TensorListGather", {list, g.ints({1}), g.ints({2, 1})}, {type("element_dtype", 1)}, "piece");
      g.op("TensorListConcatV2", {list, g.ints({2, 1}), g.constant<int64_t>({0}, {})}, {type("element_dtype", 1)},
           "joined");
    }
    g.op("Identity", {"joined:1"}, {}, "lengths");
    g.op("Identity", {"joined"}, {}, "whole");
    std::vector<Tensor> got = results(g.bytes(), {floats({4, 1}, {1, 2, 3, 4})});
    ASSERT_EQ(got.size(), 3u);
    EXPECT_THAT(numbersOf(got[0]), ElementsAre(3, 4));
    EXPECT_THAT(numbersOf(got[1]), ElementsAre(2, 2));
    EXPECT_THAT(got[2].dims(), ElementsAre(4, 1));
    EXPECT_THAT(numbersOf(got[2]), ElementsAre(1, 2, 3, 4));
  }
}

/// A growing array starts with 0 elements; its size is the number of elements that a split or a scatter writes.
TEST(List, CountsTheElementsOfAnArrayThatWasMadeEmpty) {
  for (bool split : {true, false}) {
    G g;
    std::string x = g.placeholder("x", {3, 1});
    g.op("TensorArrayV3", {g.scalar(0)}, {type("dtype", 1), truth("dynamic_size")}, "array");
    std::string flow = split ? g.op("TensorArraySplitV3", {"array", x, g.constant<int64_t>({3}, {1, 1, 1}), "array:1"})
                             : g.op("TensorArrayScatterV3", {"array", g.ints({0, 1, 2}), x, "array:1"}, {type("T", 1)});
    std::string size = g.op("TensorArraySizeV3", {"array", flow}, {}, "size");
    std::string all = g.op("Range", {g.scalar(0), size, g.scalar(1)});
    g.op("TensorArrayGatherV3", {"array", all, flow}, {type("dtype", 1)}, "stacked");
    g.op("Identity", {size}, {}, "count");
    std::vector<Tensor> got = results(g.bytes(), {floats({3, 1}, {1, 2, 3})});
    ASSERT_EQ(got.size(), 2u);
    EXPECT_THAT(numbersOf(got[0]), ElementsAre(1, 2, 3)) << split;
    EXPECT_THAT(numbersOf(got[1]), ElementsAre(3)) << split;
  }
}

/// A loop writes x * lengths into a list, so that the extent of `lengths` becomes an extent of the elements. Only an
/// operator outside the loop, ReverseSequence, tells that `lengths` has as many elements as x has rows: one.
std::string batchOfOne() {
  G g;
  std::string x = g.placeholder("x", {1, 2}), lengths = g.placeholder("lengths", {-1}, 3);
  auto add = [](file::FunctionDef &f, const std::string &name, const std::string &op,
                const std::vector<std::string> &inputs,
                const std::vector<Attr> &attrs = {}) { setNode(*f.add_node_def(), name, op, inputs, attrs); };
  std::vector<std::pair<std::string, int32_t>> arguments = {{"i", 3}, {"list", 21}, {"x", 1}, {"lengths", 3}};
  file::FunctionDef &test = g.function("test", arguments, {{"more", "less:z:0"}});
  setConstant<int32_t>(*test.add_node_def(), "two", {}, {2});
  add(test, "less", "Less", {"i", "two:output:0"});
  file::FunctionDef &body =
      g.function("body", arguments,
                 {{"j", "next:z:0"}, {"written", "set:output_handle:0"}, {"same_x", "x"}, {"same_lengths", "lengths"}});
  setConstant<int32_t>(*body.add_node_def(), "one", {}, {1});
  setConstant<int32_t>(*body.add_node_def(), "shape", {2}, {-1, 1});
  add(body, "next", "AddV2", {"i", "one:output:0"});
  add(body, "column", "Reshape", {"lengths", "shape:output:0"});
  add(body, "number", "Cast", {"column:output:0"}, {type("SrcT", 3), type("DstT", 1)});
  add(body, "product", "Mul", {"x", "number:y:0"});
  add(body, "set", "TensorListSetItem", {"list", "i", "product:z:0"}, {type("element_dtype", 1)});
  std::string list = g.op("TensorListReserve", {g.ints({-1, 2}), g.scalar(2)}, {type("element_dtype", 1)});
  g.op("While", {g.scalar(0), list, x, lengths},
       {function("cond", "test"), function("body", "body"), types("T", {3, 21, 1, 3})}, "loop");
  stacked(g, "loop:1");
  g.op("ReverseSequence", {x, lengths}, {number("seq_dim", 1), number("batch_dim", 0)}, "reversed");
  return g.bytes();
}

TEST(List, ElementsOfAnExtentThatAnotherOperatorSays) {
  std::vector<Tensor> got = results(batchOfOne(), {floats({1, 2}, {3, 4}), tensorOf(ElementType::i32, {1}, {2})});
  ASSERT_EQ(got.size(), 2u);
  EXPECT_THAT(got[0].dims(), ElementsAre(2, 1, 2));
  EXPECT_THAT(numbersOf(got[0]), ElementsAre(6, 8, 6, 8));
  EXPECT_THAT(numbersOf(got[1]), ElementsAre(4, 3));
}

TEST(List, WhatIsNotSupportedIsNamed) {
  G g;
  std::string x = g.placeholder("x", {3, 1});
  std::string list = g.op("TensorListSplit", {x, g.ints({-1, 1}), g.constant<int64_t>({2}, {1, 2})}, {}, "split");
  g.op("TensorListStack", {list, g.ints({1, 1})}, {type("element_dtype", 1)}, "y");
  EXPECT_THAT(importError(g.bytes()), HasSubstr("'split' (TensorListSplit"));
  EXPECT_THAT(importError(g.bytes()), HasSubstr("pieces of different lengths"));
  G empty;
  empty.op("TensorListPopBack", {emptyList(empty), empty.ints({2})}, {type("element_dtype", 1)}, "pop");
  empty.op("Identity", {"pop:1"}, {}, "y");
  EXPECT_THAT(importError(empty.bytes()), HasSubstr("to which nothing was written"));
}

} // namespace
} // namespace lathe::tensorflow
