// Functions, branches, loops and sequences that the importer decides.
#include "import/onnx/TestModel.h"
#include "ir/Context.h"
#include "passes/interpret/Evaluate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lathe::onnx {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

/// The first output for a float input x.
std::vector<float> run(const TestModel &m, std::vector<int64_t> dims, std::vector<float> x) {
  auto context = makeContext();
  auto module = importOnnxBytes(*context, m.bytes(), "m.onnx");
  std::vector<Value> inputs{Tensor::of<float>(dims, x)};
  Tensor y = evaluate(*module, inputs)[0].tensor().convertedTo(ElementType::f32);
  return {y.as<float>(), y.as<float>() + y.elements()};
}

TestModel model(std::vector<TestModel::Extent> dims) {
  TestModel m(17);
  m.input("x", std::move(dims)).output("y");
  m.model.mutable_graph()->mutable_output(0)->clear_type();
  return m;
}

NodeProto &add(google::protobuf::RepeatedPtrField<NodeProto> *nodes, const char *op, std::vector<const char *> inputs,
               std::vector<const char *> outputs) {
  NodeProto *node = nodes->Add();
  node->set_op_type(op);
  for (const char *input : inputs)
    node->add_input(input);
  for (const char *output : outputs)
    node->add_output(output);
  return *node;
}

GraphProto &subgraph(NodeProto &node, const char *name) {
  AttributeProto *attr = node.add_attribute();
  attr->set_name(name);
  attr->set_type(AttributeProto::GRAPH);
  return *attr->mutable_g();
}

/// `y = op(inputs)` as a branch.
void branch(NodeProto &node, const char *name, const char *op, std::vector<const char *> inputs) {
  GraphProto &graph = subgraph(node, name);
  add(graph.mutable_node(), op, std::move(inputs), {"result"});
  graph.add_output()->set_name("result");
}

/// As PyTorch exports `squeeze` of an axis of unknown extent.
TestModel squeezeIfOne(int extent) {
  TestModel m = model({extent, 2});
  m.ints("zero", {}, {0}).ints("one", {}, {1}).ints("axis", {0});
  m.node("Shape", {"x"}, {"shape"});
  m.node("Gather", {"shape", "zero"}, {"extent"});
  m.node("Equal", {"extent", "one"}, {"isOne"});
  NodeProto &choice = *m.node("If", {"isOne"}, {"y"}, "choice").node;
  branch(choice, "then_branch", "Squeeze", {"x", "axis"});
  branch(choice, "else_branch", "Identity", {"x"});
  return m;
}

TEST(If, ABranchThatIsKnownIsTaken) {
  EXPECT_THAT(squeezeIfOne(1).imported(), AllOf(HasSubstr("nn.reshape"), HasSubstr("-> (tensor<2xf32>")));
  EXPECT_THAT(squeezeIfOne(3).imported(), AllOf(Not(HasSubstr("nn.reshape")), HasSubstr("-> (tensor<3x2xf32>")));
}

TEST(If, AConditionFromDataChooses) {
  TestModel m = model({1});
  m.node("Cast", {"x"}, {"flag"}).attr("to", static_cast<int64_t>(TensorProto::BOOL));
  NodeProto &choice = *m.node("If", {"flag"}, {"y"}, "choice").node;
  branch(choice, "then_branch", "Neg", {"x"});
  branch(choice, "else_branch", "Identity", {"x"});
  EXPECT_THAT(run(m, {1}, {3}), ElementsAre(-3));
  EXPECT_THAT(run(m, {1}, {0}), ElementsAre(0));
  EXPECT_THAT(m.imported(), HasSubstr("nn.if"));
  // Branches may give different extents, but not different ranks.
  NodeProto &other = *choice.mutable_attribute(1)->mutable_g()->mutable_node(0);
  other.set_op_type("Concat");
  other.add_input("x");
  TestNode(&other).attr("axis", 0);
  EXPECT_THAT(run(m, {1}, {3}), ElementsAre(-3));
  EXPECT_THAT(run(m, {1}, {0}), ElementsAre(0, 0));
  other.clear_attribute();
  other.set_op_type("Unsqueeze");
  m.ints("zero", {1}, {0});
  other.set_input(1, "zero");
  EXPECT_EQ(m.imported(), "error: m.onnx: not supported: 'choice' (If, opset 17): its condition is computed at run "
                          "time, and its branches give an output of rank 1 and 2");
}

TEST(If, BranchesMayNestAndNameTheirNodes) {
  TestModel m = model({4});
  m.floats("unused", {1}, {0});
  NodeProto &outer = *m.node("If", {"yes"}, {"y"}, "outer").node;
  m.node("Constant", {}, {"yes"}).attr("value", [] {
    TensorProto t = TestModel::intTensor("", {}, {1});
    t.set_data_type(TensorProto::BOOL), t.clear_int64_data(), t.add_int32_data(1);
    return t;
  }());
  GraphProto &then = subgraph(outer, "then_branch");
  NodeProto &inner = add(then.mutable_node(), "If", {"yes"}, {"z"});
  branch(inner, "then_branch", "Exp", {"x"});
  branch(inner, "else_branch", "NoSuchOperator", {"x"});
  then.add_output()->set_name("z");
  branch(outer, "else_branch", "NoSuchOperator", {"x"});
  EXPECT_THAT(m.imported(), HasSubstr("nn.exp"));
  inner.mutable_attribute(0)->mutable_g()->mutable_node(0)->set_op_type("NoSuchOperator");
  EXPECT_THAT(m.imported(), HasSubstr("'result' (NoSuchOperator, opset 17): the operator is not supported"));
  inner.mutable_attribute(0)->mutable_g()->mutable_node(0)->set_input(0, "nowhere");
  EXPECT_THAT(m.imported(), HasSubstr("input 'nowhere' is not produced"));
}

/// y = LeakyRelu(x) * scale by a function whose attribute has a default; scale is optional.
TestModel called(bool withScale) {
  TestModel m = model({3});
  m.model.add_opset_import()->set_domain("local");
  m.model.mutable_opset_import(1)->set_version(1);
  FunctionProto &function = *m.model.add_functions();
  function.set_name("Scaled");
  function.set_domain("local");
  function.add_input("a");
  function.add_input("b");
  function.add_output("c");
  auto *opset = function.add_opset_import();
  opset->set_version(17);
  AttributeProto &slope = *function.add_attribute_proto();
  slope.set_name("slope");
  slope.set_type(AttributeProto::FLOAT);
  slope.set_f(0.5f);
  NodeProto &leaky = add(function.mutable_node(), "LeakyRelu", {"a"}, {"t"});
  AttributeProto &alpha = *leaky.add_attribute();
  alpha.set_name("alpha");
  alpha.set_type(AttributeProto::FLOAT);
  alpha.set_ref_attr_name("slope");
  add(function.mutable_node(), withScale ? "Mul" : "Identity",
      withScale ? std::vector<const char *>{"t", "b"} : std::vector<const char *>{"t"}, {"c"});
  m.floats("two", {}, {2});
  auto call = withScale ? m.node("Scaled", {"x", "two"}, {"y"}, "call") : m.node("Scaled", {"x"}, {"y"}, "call");
  call.node->set_domain("local");
  return m;
}

TEST(Function, BecomesItsNodes) {
  EXPECT_THAT(run(called(true), {3}, {-2, 0, 3}), ElementsAre(-2, 0, 6));
  TestModel other = called(false);
  TestNode(other.graph->mutable_node(0)).attr("slope", 0.25f);
  EXPECT_THAT(run(other, {3}, {-2, 0, 3}), ElementsAre(-0.5, 0, 3));
}

TEST(Function, ThatCallsItselfEnds) {
  TestModel m = called(false);
  NodeProto &node = *m.model.mutable_functions(0)->mutable_node(1);
  node.set_op_type("Scaled");
  node.set_domain("local");
  EXPECT_THAT(m.imported(), HasSubstr("unfold to more than"));
}

TEST(Loop, WithAKnownNumberOfIterationsIsUnrolled) {
  // s = 1; for i in 0..2: s = s + x * i, scan s
  TestModel m = model({2});
  m.ints("trips", {}, {3}).floats("one", {2}, {1, 1});
  NodeProto &loop = *m.node("Loop", {"trips", "", "one"}, {"last", "y"}, "loop").node;
  GraphProto &body = subgraph(loop, "body");
  for (const char *name : {"i", "go", "s"})
    body.add_input()->set_name(name);
  NodeProto &cast = add(body.mutable_node(), "Cast", {"i"}, {"f"});
  TestNode(&cast).attr("to", static_cast<int64_t>(TensorProto::FLOAT));
  add(body.mutable_node(), "Mul", {"x", "f"}, {"p"});
  add(body.mutable_node(), "Add", {"s", "p"}, {"next"});
  add(body.mutable_node(), "Identity", {"go"}, {"still"});
  add(body.mutable_node(), "Identity", {"next"}, {"shown"});
  for (const char *name : {"still", "next", "shown"})
    body.add_output()->set_name(name);
  EXPECT_THAT(run(m, {2}, {1, 10}), ElementsAre(1, 1, 2, 11, 4, 31));
  m.graph->mutable_initializer(0)->set_int64_data(0, int64_t(1) << 20);
  EXPECT_THAT(m.imported(), AllOf(HasSubstr("nn.loop"), HasSubstr("tensor<1048576x2xf32>")));
}

/// v = x, y = []; while i < n and the sum of v is below 100: v = v * 2 + x; scan v. The number of iterations is an input.
TestModel doubling(std::vector<TestModel::Extent> dims) {
  TestModel m = model(std::move(dims));
  m.input("n", {}, TensorProto::INT64);
  m.graph->mutable_input(1)->mutable_type()->mutable_tensor_type()->mutable_shape();
  m.floats("limit", {}, {100}).floats("two", {}, {2});
  NodeProto &loop = *m.node("Loop", {"n", "", "x"}, {"last", "y"}, "loop").node;
  GraphProto &body = subgraph(loop, "body");
  for (const char *name : {"i", "go", "v"})
    body.add_input()->set_name(name);
  add(body.mutable_node(), "Mul", {"v", "two"}, {"twice"});
  add(body.mutable_node(), "Add", {"twice", "x"}, {"next"});
  TestNode(&add(body.mutable_node(), "ReduceSum", {"next"}, {"sum"})).attr("keepdims", 0);
  add(body.mutable_node(), "Less", {"sum", "limit"}, {"still"});
  add(body.mutable_node(), "Identity", {"next"}, {"shown"});
  for (const char *name : {"still", "next", "shown"})
    body.add_output()->set_name(name);
  return m;
}

TEST(Loop, RunsAsOftenAsTheRunDecides) {
  TestModel m = doubling({2});
  auto context = makeContext();
  auto module = importOnnxBytes(*context, m.bytes(), "m.onnx");
  auto steps = [&](int64_t most) {
    std::vector<Value> inputs{Tensor::of<float>({2}, {1, 2}), Tensor::of<int64_t>({}, {most})};
    return evaluate(*module, inputs)[0].tensor().dims();
  };
  EXPECT_THAT(steps(0), ElementsAre(0, 2));
  EXPECT_THAT(steps(3), ElementsAre(3, 2));
  EXPECT_THAT(steps(100), ElementsAre(5, 2)); // sums: 9, 21, 45, 93, 189
}

TEST(Loop, CarriedValuesMayGrow) {
  TestModel m = doubling({1, 2});
  NodeProto &loop = *m.graph->mutable_node(0);
  GraphProto &body = *loop.mutable_attribute(0)->mutable_g();
  body.mutable_node(1)->set_op_type("Concat");
  TestNode(body.mutable_node(1)).attr("axis", 0);
  body.mutable_output()->DeleteSubrange(2, 1);
  loop.mutable_output()->DeleteSubrange(1, 1);
  m.graph->mutable_output(0)->set_name("last");
  auto context = makeContext();
  auto module = importOnnxBytes(*context, m.bytes(), "m.onnx");
  std::vector<Value> inputs{Tensor::of<float>({1, 2}, {1, 2}), Tensor::of<int64_t>({}, {3})};
  EXPECT_THAT(evaluate(*module, inputs)[0].tensor().dims(), ElementsAre(4, 2));
  EXPECT_THAT(m.imported(), HasSubstr("tensor<?x2xf32>"));
}

TEST(Loop, ItsConditionMayEndIt) {
  TestModel m = model({1});
  m.ints("trips", {}, {100}).ints("two", {}, {2});
  NodeProto &loop = *m.node("Loop", {"trips", "", "x"}, {"y"}, "loop").node;
  GraphProto &body = subgraph(loop, "body");
  for (const char *name : {"i", "go", "s"})
    body.add_input()->set_name(name);
  add(body.mutable_node(), "Less", {"i", "two"}, {"still"});
  add(body.mutable_node(), "Add", {"s", "s"}, {"next"});
  for (const char *name : {"still", "next"})
    body.add_output()->set_name(name);
  EXPECT_THAT(run(m, {1}, {1}), ElementsAre(8));
}

TEST(Scan, IsUnrolledInEitherDirection) {
  for (int reversed : {0, 1}) {
    TestModel m = model({3, 2});
    m.floats("zero", {2}, {0, 0});
    NodeProto &scan = *m.node("Scan", {"zero", "x"}, {"sum", "y"}, "scan").node;
    TestNode(&scan).attr("num_scan_inputs", 1).attr("scan_input_directions", std::vector<int64_t>{reversed});
    GraphProto &body = subgraph(scan, "body");
    for (const char *name : {"s", "row"})
      body.add_input()->set_name(name);
    add(body.mutable_node(), "Add", {"s", "row"}, {"next"});
    add(body.mutable_node(), "Identity", {"next"}, {"shown"});
    for (const char *name : {"next", "shown"})
      body.add_output()->set_name(name);
    auto sums = run(m, {3, 2}, {1, 2, 3, 4, 5, 6});
    if (reversed)
      EXPECT_THAT(sums, ElementsAre(5, 6, 8, 10, 9, 12));
    else
      EXPECT_THAT(sums, ElementsAre(1, 2, 4, 6, 9, 12));
  }
}

TEST(Scan, OfOpset8HasABatch) {
  TestModel m(8);
  m.input("x", {2, 3, 2}).output("y");
  m.model.mutable_graph()->mutable_output(0)->clear_type();
  m.floats("zero", {2, 2}, {0, 0, 10, 10});
  NodeProto &scan = *m.node("Scan", {"", "zero", "x"}, {"sum", "y"}, "scan").node;
  TestNode(&scan).attr("num_scan_inputs", 1);
  GraphProto &body = subgraph(scan, "body");
  for (const char *name : {"s", "row"})
    body.add_input()->set_name(name);
  add(body.mutable_node(), "Add", {"s", "row"}, {"next"});
  add(body.mutable_node(), "Identity", {"next"}, {"shown"});
  for (const char *name : {"next", "shown"})
    body.add_output()->set_name(name);
  EXPECT_THAT(run(m, {2, 3, 2}, {1, 2, 3, 4, 5, 6, 1, 1, 2, 2, 3, 3}),
              ElementsAre(1, 2, 4, 6, 9, 12, 11, 11, 13, 13, 16, 16));
}

/// Gives `list` after `count` iterations, each of which appends the sum of all elements: a loop for the run.
TestModel growingSequence() {
  TestModel m = model({1, 2});
  m.input("count", {}, TensorProto::INT64).ints("first", {}, {0});
  m.node("SequenceConstruct", {"x"}, {"start"});
  NodeProto &loop = *m.node("Loop", {"count", "", "start"}, {"list"}, "loop").node;
  GraphProto &body = subgraph(loop, "body");
  for (const char *name : {"i", "go", "list_in"})
    body.add_input()->set_name(name);
  TestNode(&add(body.mutable_node(), "ConcatFromSequence", {"list_in"}, {"all"})).attr("axis", 0);
  TestNode(&add(body.mutable_node(), "ReduceSum", {"all", "first_axis"}, {"sum"})).attr("keepdims", 1);
  add(body.mutable_node(), "SequenceInsert", {"list_in", "sum"}, {"list_out"});
  m.ints("first_axis", {1}, {0});
  for (const char *name : {"go", "list_out"})
    body.add_output()->set_name(name);
  return m;
}

TEST(Sequence, IsCarriedByALoopThatTheRunDecides) {
  TestModel m = growingSequence();
  m.node("ConcatFromSequence", {"list"}, {"y"}).attr("axis", 0);
  auto context = makeContext();
  auto module = importOnnxBytes(*context, m.bytes(), "m.onnx");
  std::vector<Value> inputs{Tensor::of<float>({1, 2}, {1, 2}), Tensor::of<int64_t>({}, {3})};
  Tensor y = evaluate(*module, inputs)[0].tensor();
  EXPECT_THAT(std::vector<float>(y.as<float>(), y.as<float>() + y.elements()), ElementsAre(1, 2, 1, 2, 2, 4, 4, 8));
  EXPECT_THAT(m.imported(), HasSubstr("tensor<!nn.sequence<tensor<1x2xf32>>>"));
}

TEST(Sequence, MayBeAnOutput) {
  TestModel m = growingSequence();
  ValueInfoProto &output = *m.graph->mutable_output(0);
  output.set_name("list");
  output.mutable_type()->mutable_sequence_type()->mutable_elem_type()->mutable_tensor_type()->set_elem_type(
      TensorProto::FLOAT);
  auto context = makeContext();
  auto module = importOnnxBytes(*context, m.bytes(), "m.onnx");
  std::vector<Value> inputs{Tensor::of<float>({1, 2}, {1, 2}), Tensor::of<int64_t>({}, {2})};
  EXPECT_EQ(evaluate(*module, inputs)[0].sequence().items.size(), 3u);
  inputs[0] = Sequence{ElementType::f32, {inputs[0]}};
  EXPECT_THROW(evaluate(*module, inputs), Error);
}

TEST(Optional, ABranchMayGiveNothing) {
  TestModel m = model({2});
  m.input("flag", {}, TensorProto::BOOL);
  NodeProto &choice = *m.node("If", {"flag"}, {"maybe"}, "if").node;
  branch(choice, "then_branch", "Optional", {"x"});
  branch(choice, "else_branch", "Optional", {});
  m.node("OptionalHasElement", {"maybe"}, {"y"});
  auto context = makeContext();
  auto module = importOnnxBytes(*context, m.bytes(), "m.onnx");
  for (bool flag : {false, true}) {
    std::vector<Value> inputs{Tensor::of<float>({2}, {1, 2}), Tensor::of<bool>({}, {flag})};
    EXPECT_EQ(evaluate(*module, inputs)[0].tensor().asInteger(0), flag);
  }
}

TEST(Sequence, NeverReachesTheGraphIfItsTensorsAreKnown) {
  TestModel m = model({3, 4});
  m.ints("one", {}, {1}).ints("two", {}, {2});
  m.node("SplitToSequence", {"x", "one"}, {"rows"}).attr("axis", 0);
  m.node("Identity", {"rows"}, {"same"});
  m.node("SequenceAt", {"same", "two"}, {"last"});
  m.node("SequenceErase", {"same", "one"}, {"outer"});
  m.node("SequenceInsert", {"outer", "last"}, {"three"});
  m.node("ConcatFromSequence", {"three"}, {"y"}).attr("axis", 0);
  EXPECT_THAT(run(m, {3, 4}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}),
              ElementsAre(0, 1, 2, 3, 8, 9, 10, 11, 8, 9, 10, 11));
  m.graph->mutable_initializer(1)->set_int64_data(0, 3);
  EXPECT_THAT(m.imported(), HasSubstr("position 3 in a sequence of 3 tensors"));
}

TEST(Sequence, AMapRunsItsBodyOnEachTensor) {
  TestModel m = model({2, 3});
  m.ints("one", {}, {1});
  m.node("SplitToSequence", {"x", "one"}, {"rows"}).attr("axis", 0);
  NodeProto &map = *m.node("SequenceMap", {"rows", "x"}, {"sums"}, "map").node;
  GraphProto &body = subgraph(map, "body");
  for (const char *name : {"row", "all"})
    body.add_input()->set_name(name);
  add(body.mutable_node(), "Add", {"row", "all"}, {"sum"});
  body.add_output()->set_name("sum");
  m.node("ConcatFromSequence", {"sums"}, {"y"}).attr("axis", 0);
  EXPECT_THAT(run(m, {2, 3}, {0, 1, 2, 3, 4, 5}), ElementsAre(0, 2, 4, 3, 5, 7, 3, 5, 7, 6, 8, 10));
}

TEST(Sequence, WhatAnOperatorCannotTakeIsSaid) {
  TestModel m = model({3, 4});
  m.node("SequenceConstruct", {"x", "x"}, {"list"});
  m.node("Neg", {"list"}, {"y"}, "neg");
  EXPECT_THAT(m.imported(), HasSubstr("'neg' (Neg, opset 17): an operand is a sequence, expected a tensor"));
  m.graph->mutable_output(0)->set_name("list");
  m.graph->mutable_output(0)->mutable_type()->mutable_tensor_type()->set_elem_type(TensorProto::FLOAT);
  EXPECT_THAT(m.imported(), HasSubstr("output 'list' is a sequence, expected a tensor as the graph states"));
}

TEST(ShapeArithmetic, InFloatingPointIsFollowed) {
  TestModel m = model({1, 3, 10, 12});
  m.ints("spatial", {2, 3}).ints("front", {1, 3}).floats("half", {}, {0.5f});
  m.node("Shape", {"x"}, {"shape"});
  m.node("Gather", {"shape", "spatial"}, {"hw"});
  m.node("Cast", {"hw"}, {"hwf"}).attr("to", static_cast<int64_t>(TensorProto::FLOAT));
  m.node("Mul", {"hwf", "half"}, {"scaled"});
  m.node("Floor", {"scaled"}, {"floored"});
  m.node("Cast", {"floored"}, {"sizes"}).attr("to", static_cast<int64_t>(TensorProto::INT64));
  m.node("Concat", {"front", "sizes"}, {"all"}).attr("axis", 0);
  m.node("Resize", {"x", "", "", "all"}, {"y"}).attr("mode", "linear");
  EXPECT_THAT(m.imported(), AllOf(HasSubstr("sizes = array<i64: 1, 3, 5, 6>"), HasSubstr("-> (tensor<1x3x5x6xf32>")));
}

} // namespace
} // namespace lathe::onnx
