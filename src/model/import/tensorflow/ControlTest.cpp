// Functions, branches and loops of TensorFlow 2, and frames of TensorFlow 1.
#include "import/tensorflow/GraphTesting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lathe::tensorflow {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using G = TestGraph;

int64_t countOf(const std::string &bytes, const std::string &op) {
  auto context = makeContext();
  auto module = importModelOf(format(), *context, bytes, "m.pb", {}, {});
  int64_t count = 0;
  module->walk([&](mlir::Operation *found) { count += found->getName().getStringRef() == llvm::StringRef(op); });
  return count;
}

void addNode(file::FunctionDef &function, const std::string &name, const std::string &op,
             const std::vector<std::string> &inputs, const std::vector<Attr> &attrs = {}) {
  setNode(*function.add_node_def(), name, op, inputs, attrs);
}

/// Function `name`(x) = x + x, or x * x.
void addFunctionOf(G &g, const std::string &name, const std::string &op) {
  file::FunctionDef &f = g.function(name, {{"x", 1}}, {{"result", "node:z:0"}});
  addNode(f, "node", op, {"x", "x"});
}

TEST(Function, ACallIsItsNodes) {
  G g;
  addFunctionOf(g, "double", "Add");
  std::string x = g.placeholder("x", {2});
  x = g.op("PartitionedCall", {x}, {function("f", "double"), types("Tin", {1}), types("Tout", {1})});
  g.op("double", {x}, {}, "y"); // an operator with the name of a function
  EXPECT_THAT(numbersOf(results(g.bytes(), {floats({2}, {1, 2})}).at(0)), ElementsAre(4, 8));
}

TEST(Function, ResultsAreCalledByTheirArguments) {
  G g;
  file::FunctionDef &f = g.function("best", {{"x", 1}}, {{"values", "top:values:0"}, {"where", "top:indices:0"}});
  setConstant<int32_t>(*f.add_node_def(), "k", {}, {1});
  addNode(f, "top", "TopKV2", {"x", "k:output:0"});
  g.op("StatefulPartitionedCall", {g.placeholder("x", {3})},
       {function("f", "best"), types("Tin", {1}), types("Tout", {1, 3})}, "call");
  std::vector<Tensor> got = results(g.bytes(), {floats({3}, {4, 9, 5})});
  ASSERT_EQ(got.size(), 2u);
  EXPECT_THAT(numbersOf(got[0]), ElementsAre(9));
  EXPECT_THAT(numbersOf(got[1]), ElementsAre(1));
}

TEST(Function, OneThatCallsItselfEnds) {
  G g;
  file::FunctionDef &f = g.function("endless", {{"x", 1}}, {{"y", "node:output:0"}});
  addNode(f, "node", "PartitionedCall", {"x"}, {function("f", "endless"), types("Tin", {1}), types("Tout", {1})});
  g.op("PartitionedCall", {g.placeholder("x", {2})}, {function("f", "endless"), types("Tin", {1}), types("Tout", {1})},
       "y");
  EXPECT_THAT(importError(g.bytes()), HasSubstr("unfold to more than"));
}

TEST(Function, UnknownOperatorsInsideAreCollectedEvenIfTheCallCannotBeImported) {
  G g;
  file::FunctionDef &f = g.function("layer", {{"x", 1}}, {{"y", "inner:y:0"}});
  addNode(f, "inner", "Mystery", {"x"});
  std::string x = g.op("Riddle", {g.placeholder("x", {2})}, {}, "first");
  g.op("PartitionedCall", {x}, {function("f", "layer"), types("Tin", {1}), types("Tout", {1})}, "call");
  std::string error = importError(g.bytes());
  EXPECT_THAT(error, HasSubstr("'first' (Riddle"));
  EXPECT_THAT(error, HasSubstr("'call/inner' (Mystery"));
}

std::string branches(bool known) {
  G g;
  addFunctionOf(g, "twice", "Add");
  addFunctionOf(g, "square", "Mul");
  std::string x = g.placeholder("x", {2});
  std::string condition = known ? g.constant<bool>({}, {false}) : g.placeholder("c", {}, 10);
  g.op("If", {condition, x},
       {function("then_branch", "twice"), function("else_branch", "square"), types("Tin", {1}), types("Tout", {1})},
       "y");
  return g.bytes();
}

TEST(Branch, OfFunctions) {
  EXPECT_EQ(countOf(branches(true), "nn.if"), 0);
  EXPECT_THAT(numbersOf(results(branches(true), {floats({2}, {3, 4})}).at(0)), ElementsAre(9, 16));
  EXPECT_EQ(countOf(branches(false), "nn.if"), 1);
  for (double truth : {0.0, 1.0})
    EXPECT_THAT(
        numbersOf(results(branches(false), {floats({2}, {3, 4}), tensorOf(ElementType::boolean, {}, {truth})}).at(0)),
        truth == 0 ? ElementsAre(9, 16) : ElementsAre(6, 8));
}

/// x + 1 where c, else x * x, as TensorFlow 1 writes it.
std::string switched(bool known) {
  G g;
  std::string x = g.placeholder("x", {2}), c = known ? g.constant<bool>({}, {true}) : g.placeholder("c", {}, 10);
  std::string id = g.op("Identity", {c});
  g.op("Switch", {x, id}, {}, "cond/true");
  g.op("Switch", {x, id}, {}, "cond/false");
  std::string more = g.op("Add", {"cond/true:1", g.real(1)}), square = g.op("Mul", {"cond/false", "cond/false"});
  g.op("Identity", {g.op("Merge", {square, more})}, {}, "y");
  return g.bytes();
}

TEST(Branch, OfSwitchAndMerge) {
  EXPECT_EQ(countOf(switched(true), "nn.if"), 0);
  EXPECT_THAT(numbersOf(results(switched(true), {floats({2}, {3, 4})}).at(0)), ElementsAre(4, 5));
  EXPECT_EQ(countOf(switched(false), "nn.if"), 1);
  for (double truth : {0.0, 1.0})
    EXPECT_THAT(
        numbersOf(results(switched(false), {floats({2}, {3, 4}), tensorOf(ElementType::boolean, {}, {truth})}).at(0)),
        truth == 0 ? ElementsAre(9, 16) : ElementsAre(4, 5));
}

/// A branch as tf.cond of TensorFlow 1 writes it, with the pivots that the constants of the branches wait for. The
/// graph ends with the Merge. `operands`: whether the branches also read x.
std::string pivoted(bool operands, bool stripped = false) {
  G g;
  std::string x = g.placeholder("x", {2}), id = g.op("Identity", {g.placeholder("c", {}, 10)}, {}, "cond/pred_id");
  g.op("Switch", {id, id}, {}, "cond/Switch");
  g.op("Identity", {"cond/Switch:1"}, {}, "cond/switch_t");
  g.op("Identity", {"cond/Switch"}, {}, "cond/switch_f");
  std::string two = g.constant<float>({2}, {2, 2}), three = g.constant<float>({2}, {3, 5});
  for (const auto &[name, pivot] : {std::pair(two, "^cond/switch_t"), std::pair(three, "^cond/switch_f")})
    for (file::NodeDef &node : *g.graph.mutable_node())
      if (node.name() == name && !stripped)
        node.add_input(pivot);
  if (operands) {
    g.op("Switch", {x, id}, {}, "cond/x");
    two = g.op("Add", {"cond/x:1", two});
    three = g.op("Mul", {"cond/x", three});
  }
  g.op("Merge", {three, two}, {}, "y");
  return g.bytes();
}

TEST(Branch, WithItsPivots) {
  auto outcome = [](const std::string &bytes, double truth) {
    bool first = bytes.find("cond/x") != std::string::npos;
    std::vector<lathe::Value> inputs = {tensorOf(ElementType::boolean, {}, {truth})};
    if (first)
      inputs.insert(inputs.begin(), floats({2}, {3, 4}));
    std::vector<Tensor> got = results(bytes, inputs);
    EXPECT_EQ(got.size(), 1u);
    return numbersOf(got.at(0));
  };
  for (bool stripped : {false, true}) { // freezing removes control inputs of constants, but not the pivots
    EXPECT_THAT(outcome(pivoted(true, stripped), 1), ElementsAre(5, 6));
    EXPECT_THAT(outcome(pivoted(true, stripped), 0), ElementsAre(9, 20));
  }
  EXPECT_THAT(outcome(pivoted(false), 1), ElementsAre(2, 2)) << "only the pivots tell the branches of the constants";
  EXPECT_THAT(outcome(pivoted(false), 0), ElementsAre(3, 5));
  EXPECT_THAT(importError(pivoted(false, true)), HasSubstr("'y' (Merge"));
}

/// Names of the outputs of a graph.
std::vector<std::string> outputsOf(const G &g) {
  std::vector<std::string> names;
  for (const ValueRecord &output : readModel(g.bytes(), "m.pb", {}, {}).graph.outputs)
    names.push_back(output.name);
  return names;
}

TEST(FrozenGraph, OutputsAreWhatNothingReads) {
  G g;
  std::string x = g.placeholder("x", {1, 2, 2, 1}), one = g.constant<float>({1}, {1});
  g.op("FusedBatchNormV3", {x, one, one, one, one}, {truth("is_training", false)}, "norm");
  EXPECT_THAT(outputsOf(g), ElementsAre("norm")) << "the statistics and the reserved space are for training";
  g.op("TopKV2", {x, g.scalar(1)}, {}, "top");
  EXPECT_THAT(outputsOf(g), ElementsAre("norm", "top", "top:1"));
  g.op("Identity", {"top", "^norm"}, {}, "late");
  EXPECT_THAT(outputsOf(g), ElementsAre("late")) << "another node waits for the normalisation";
  g.op("NoOp", {"^late"}, {}, "init");
  g.op("Switch", {x, g.placeholder("c", {}, 10)}, {}, "switch");
  g.op("Identity", {"switch:1"}, {}, "pivot");
  EXPECT_THAT(outputsOf(g), ElementsAre("late")) << "a branch that is not merged has a value only where it is taken";
}

/// x + x, x * x or -x, chosen by an index.
std::string cases(std::optional<int32_t> index) {
  G g;
  addFunctionOf(g, "twice", "Add");
  addFunctionOf(g, "square", "Mul");
  file::FunctionDef &f = g.function("minus", {{"x", 1}}, {{"result", "node:y:0"}});
  addNode(f, "node", "Neg", {"x"});
  std::string x = g.placeholder("x", {2}), which = index ? g.scalar(*index) : g.placeholder("i", {}, 3);
  g.op("StatelessCase", {which, x},
       {functions("branches", {"twice", "square", "minus"}), types("Tin", {1}), types("Tout", {1})}, "y");
  return g.bytes();
}

TEST(Branch, OfACase) {
  const std::map<int, std::vector<double>> expected = {
      {0, {6, 8}}, {1, {9, 16}}, {2, {-3, -4}}, {3, {-3, -4}}, {-1, {-3, -4}}};
  EXPECT_EQ(countOf(cases(std::nullopt), "nn.if"), 2);
  for (const auto &[index, numbers] : expected) {
    EXPECT_EQ(countOf(cases(index), "nn.if"), 0);
    EXPECT_EQ(numbersOf(results(cases(index), {floats({2}, {3, 4})}).at(0)), numbers) << index;
    std::vector<Tensor> got =
        results(cases(std::nullopt), {floats({2}, {3, 4}), tensorOf(ElementType::i32, {}, {double(index)})});
    EXPECT_EQ(numbersOf(got.at(0)), numbers) << index;
  }
}

/// Branch i of `count` adds the number i.
std::string manyCases(size_t count) {
  G g;
  std::vector<std::string> names;
  for (size_t i = 0; i < count; ++i) {
    names.push_back("plus" + std::to_string(i));
    file::FunctionDef &f = g.function(names.back(), {{"x", 1}}, {{"result", "node:z:0"}});
    setConstant<float>(*f.add_node_def(), "number", {}, {static_cast<float>(i)});
    addNode(f, "node", "AddV2", {"x", "number:output:0"});
  }
  g.op("Case", {g.placeholder("i", {}, 3), g.placeholder("x", {2})},
       {functions("branches", names), types("Tin", {1}), types("Tout", {1})}, "y");
  return g.bytes();
}

TEST(Branch, ManyOfACaseAreATree) {
  constexpr int count = 100; // a chain would exceed the limit on nested branches
  std::string bytes = manyCases(count);
  EXPECT_EQ(countOf(bytes, "nn.if"), count - 1);
  for (int index : {0, 1, 49, 50, 51, 62, 98, 99, 100, 2000000000, -1, -2000000000}) {
    double taken = index >= 0 && index < count ? index : count - 1;
    std::vector<Tensor> got = results(bytes, {tensorOf(ElementType::i32, {}, {double(index)}), floats({2}, {1, 2})});
    EXPECT_THAT(numbersOf(got.at(0)), ElementsAre(1 + taken, 2 + taken)) << index;
  }
}

TEST(Branch, ACaseHasAtMost1024) {
  std::string error = importError(manyCases(1025));
  EXPECT_THAT(error, HasSubstr("'branches' names 1025 functions, expected 1 to 1024"));
  EXPECT_THAT(error, testing::Not(HasSubstr("\n")));
}

TEST(Branch, UnknownOperatorsOfACaseAreCollected) {
  G g;
  addFunctionOf(g, "twice", "Add");
  addFunctionOf(g, "mystery", "Mystery");
  g.op("Case", {g.placeholder("i", {}, 3), g.placeholder("x", {2})},
       {functions("branches", {"twice", "mystery"}), types("Tin", {1}), types("Tout", {1})}, "y");
  EXPECT_THAT(importError(g.bytes()), HasSubstr("(Mystery"));
}

// ---- Loops --------------------------------------------------------------------------------------------------------

TEST(Loop, OfFunctions) {
  // i, x, w: while i < 3: x = x * w. The weights are passed on unchanged, so they are read, not carried.
  G g;
  file::FunctionDef &test = g.function("test", {{"i", 3}, {"x", 1}, {"w", 1}}, {{"more", "less:z:0"}});
  setConstant<int32_t>(*test.add_node_def(), "three", {}, {3});
  addNode(test, "less", "Less", {"i", "three:output:0"});
  file::FunctionDef &body = g.function("body", {{"i", 3}, {"x", 1}, {"w", 1}},
                                       {{"j", "next:z:0"}, {"y", "product:z:0"}, {"v", "same:output:0"}});
  setConstant<int32_t>(*body.add_node_def(), "one", {}, {1});
  addNode(body, "next", "AddV2", {"i", "one:output:0"});
  addNode(body, "product", "Mul", {"x", "w"});
  addNode(body, "same", "Identity", {"w"});
  std::string x = g.placeholder("x", {2});
  std::string loop = g.op("StatelessWhile", {g.scalar(0), x, g.constant<float>({2}, {2, 3})},
                          {function("cond", "test"), function("body", "body"), types("T", {3, 1, 1})});
  g.op("Identity", {loop + ":1"}, {}, "y");
  EXPECT_EQ(countOf(g.bytes(), "nn.loop"), 1);
  EXPECT_THAT(numbersOf(results(g.bytes(), {floats({2}, {1, 1})}).at(0)), ElementsAre(8, 27));
}

/// One variable of a frame: Enter, Merge, Switch, Exit.
void addVariable(G &g, const std::string &name, const std::string &initial, const std::string &next,
                 const std::string &frame = "frame") {
  g.op("Enter", {initial}, {text("frame_name", frame)}, name + "/Enter");
  g.op("Merge", {name + "/Enter", next}, {}, name + "/Merge");
  g.op("Switch", {name + "/Merge", frame + "/LoopCond"}, {}, name + "/Switch");
  g.op("Identity", {name + "/Switch:1"}, {}, name);
  g.op("Exit", {name + "/Switch"}, {}, name + "/Exit");
}
void addInvariant(G &g, const std::string &name, const std::string &value, const std::string &frame = "frame") {
  g.op("Enter", {value}, {text("frame_name", frame), truth("is_constant")}, name);
}
void addNext(G &g, const std::string &name, const std::string &value) { g.op("NextIteration", {value}, {}, name); }

TEST(Loop, OfFrames) {
  G g;
  std::string x = g.placeholder("x", {2});
  addVariable(g, "i", g.scalar(0), "i/Next");
  addVariable(g, "s", x, "s/Next");
  addInvariant(g, "limit", g.scalar(3));
  addInvariant(g, "w", g.constant<float>({2}, {2, 3}));
  g.op("LoopCond", {g.op("Less", {"i/Merge", "limit"})}, {}, "frame/LoopCond");
  addNext(g, "i/Next", g.op("Add", {"i", g.scalar(1)}));
  addNext(g, "s/Next", g.op("Mul", {"s", "w"}));
  g.op("Identity", {"s/Exit"}, {}, "y");
  EXPECT_EQ(countOf(g.bytes(), "nn.loop"), 1);
  EXPECT_THAT(numbersOf(results(g.bytes(), {floats({2}, {1, 1})}).at(0)), ElementsAre(8, 27));
}

TEST(Loop, FramesInsideOfFrames) {
  // for i < 2: for j < 3: s = s + 1
  G g;
  addVariable(g, "i", g.scalar(0), "i/Next");
  addVariable(g, "s", g.placeholder("x", {1}), "s/Next");
  addInvariant(g, "two", g.scalar(2));
  g.op("LoopCond", {g.op("Less", {"i/Merge", "two"})}, {}, "frame/LoopCond");
  addVariable(g, "j", g.scalar(0), "j/Next", "a_inner");
  addVariable(g, "t", "s", "t/Next", "a_inner");
  addInvariant(g, "three", g.scalar(3), "a_inner");
  g.op("LoopCond", {g.op("Less", {"j/Merge", "three"})}, {}, "a_inner/LoopCond");
  addNext(g, "j/Next", g.op("Add", {"j", g.scalar(1)}));
  addNext(g, "t/Next", g.op("Add", {"t", g.real(1)}));
  addNext(g, "i/Next", g.op("Add", {"i", g.scalar(1)}));
  addNext(g, "s/Next", "t/Exit");
  g.op("Identity", {"s/Exit"}, {}, "y");
  EXPECT_THAT(numbersOf(results(g.bytes(), {floats({1}, {10})}).at(0)), ElementsAre(16));
}

/// A graph like that of dynamic_rnn: x (time x batch x inputs) is put into a TensorArray; every step adds its element
/// to the state and writes the state to another TensorArray.
std::string recurrent(int64_t steps, int64_t batch) {
  G g;
  std::string x = g.placeholder("x", {steps, batch, 2});
  std::string count = g.op("StridedSlice", {g.op("Shape", {x}), g.ints({0}), g.ints({1}), g.ints({1})},
                           {number("shrink_axis_mask", 1)});
  std::string all = g.op("Range", {g.scalar(0), count, g.scalar(1)});
  g.op("TensorArrayV3", {count}, {type("dtype", 1)}, "in");
  g.op("TensorArrayV3", {count}, {type("dtype", 1)}, "out");
  std::string filled = g.op("TensorArrayScatterV3", {"in", all, x, "in:1"}, {type("T", 1)});
  std::string first = g.op("StridedSlice", {x, g.ints({0}), g.ints({1}), g.ints({1})}, {number("shrink_axis_mask", 1)});
  addVariable(g, "i", g.scalar(0), "i/Next");
  addVariable(g, "flow", "out:1", "flow/Next");
  addVariable(g, "s", g.op("ZerosLike", {first}), "s/Next");
  addInvariant(g, "limit", count);
  addInvariant(g, "in/handle", "in");
  addInvariant(g, "in/flow", filled);
  addInvariant(g, "out/handle", "out");
  g.op("LoopCond", {g.op("Less", {"i/Merge", "limit"})}, {}, "frame/LoopCond");
  std::string element = g.op("TensorArrayReadV3", {"in/handle", "i", "in/flow"}, {type("dtype", 1)});
  std::string state = g.op("Add", {"s", element});
  addNext(g, "s/Next", state);
  addNext(g, "flow/Next", g.op("TensorArrayWriteV3", {"out/handle", "i", state, "flow"}, {type("T", 1)}));
  addNext(g, "i/Next", g.op("Add", {"i", g.scalar(1)}));
  std::string indices = g.op("Range", {g.scalar(0), g.op("TensorArraySizeV3", {"out", "flow/Exit"}), g.scalar(1)});
  g.op("TensorArrayGatherV3", {"out", indices, "flow/Exit"}, {type("dtype", 1)}, "y");
  return g.bytes();
}

TEST(Loop, ListsOfADynamicNetwork) {
  for (int64_t steps : {3, -1})
    for (int64_t batch : {1, -1}) {
      std::vector<Tensor> got = results(recurrent(steps, batch), {floats({3, 1, 2}, {1, 2, 3, 4, 5, 6})});
      EXPECT_THAT(got.at(0).dims(), ElementsAre(3, 1, 2));
      EXPECT_THAT(numbersOf(got[0]), ElementsAre(1, 2, 4, 6, 9, 12)) << steps << " " << batch;
    }
}

/// A TensorArray that starts with `first` elements and grows: while i < n, x * i is written to position i * step.
std::string growing(int32_t first, int32_t step) {
  G g;
  std::string x = g.placeholder("x", {2}), n = g.placeholder("n", {}, 3);
  g.op("TensorArrayV3", {g.scalar(first)}, {type("dtype", 1), truth("dynamic_size")}, "array");
  addVariable(g, "i", g.scalar(0), "i/Next");
  addVariable(g, "flow", "array:1", "flow/Next");
  addInvariant(g, "limit", n);
  addInvariant(g, "handle", "array");
  addInvariant(g, "w", x);
  g.op("LoopCond", {g.op("Less", {"i/Merge", "limit"})}, {}, "frame/LoopCond");
  std::string element = g.op("Mul", {"w", g.op("Cast", {"i"}, {type("SrcT", 3), type("DstT", 1)})});
  std::string place = g.op("Mul", {"i", g.scalar(step)});
  addNext(g, "flow/Next", g.op("TensorArrayWriteV3", {"handle", place, element, "flow"}, {type("T", 1)}));
  addNext(g, "i/Next", g.op("Add", {"i", g.scalar(1)}));
  std::string size = g.op("TensorArraySizeV3", {"array", "flow/Exit"});
  std::string indices = g.op("Range", {g.scalar(0), size, g.scalar(1)});
  g.op("TensorArrayGatherV3", {"array", indices, "flow/Exit"}, {type("dtype", 1)}, "y");
  g.op("Identity", {size}, {}, "count");
  return g.bytes();
}

TEST(Loop, AnArrayGrowsElementByElement) {
  for (int32_t first : {0, 2})
    for (int32_t step : {1, 2})
      for (int n : {0, 1, 5}) {
        int count = std::max(first, n ? (n - 1) * step + 1 : 0);
        std::vector<Tensor> got =
            results(growing(first, step), {floats({2}, {1, 10}), tensorOf(ElementType::i32, {}, {double(n)})});
        ASSERT_EQ(got.size(), 2u);
        EXPECT_THAT(got[0].dims(), ElementsAre(count, 2)) << first << " " << step << " " << n;
        EXPECT_THAT(numbersOf(got[1]), ElementsAre(count));
        for (int64_t at = 0; at < count; ++at) { // elements that were not written are 0
          double number = at % step || at / step >= n ? 0 : static_cast<double>(at / step);
          EXPECT_EQ(got[0].asDouble(2 * at), number);
          EXPECT_EQ(got[0].asDouble(2 * at + 1), 10 * number);
        }
      }
}

TEST(Loop, AFrameWithoutAConditionIsNamed) {
  G g;
  g.op("Enter", {g.placeholder("x", {2})}, {text("frame_name", "f")}, "enter");
  g.op("Exit", {"enter"}, {}, "y");
  EXPECT_THAT(importError(g.bytes()), HasSubstr("the frame 'f' is no while loop"));
}

} // namespace
} // namespace lathe::tensorflow
