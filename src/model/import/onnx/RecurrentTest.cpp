// LSTM, GRU and RNN of ONNX become the one form of the nn dialect.
#include "import/onnx/TestModel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lathe::onnx {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// An LSTM of 3 inputs and 2 hidden units over x of the given extents.
TestNode lstm(TestModel &m, std::vector<TestModel::Extent> dims) {
  m.input("x", std::move(dims)).output("y");
  m.weight("w", {1, 8, 3}).weight("r", {1, 8, 2});
  return m.node("LSTM", {"x", "w", "r"}, {"y"}).attr("hidden_size", 2);
}

TEST(Recurrent, EveryOpsetGivesTheSame) {
  std::string first;
  for (int64_t opset : {7, 14, 22}) {
    TestModel m(opset);
    lstm(m, {"T", "N", 3});
    std::string text = m.imported();
    EXPECT_THAT(text, HasSubstr("nn.lstm"));
    EXPECT_EQ(first.empty() ? text : first, text);
    first = text;
  }
  TestModel old(6);
  lstm(old, {5, 2, 3});
  EXPECT_THAT(old.imported(), HasSubstr("expected at least 7"));
}

TEST(Recurrent, BatchFirstBecomesTransposes) {
  TestModel m(14);
  lstm(m, {4, 5, 3}).attr("layout", 1);
  EXPECT_THAT(m.imported(), AllOf(HasSubstr("perm = array<i64: 1, 0, 2>"), HasSubstr("perm = array<i64: 2, 0, 1, 3>"),
                                  HasSubstr("tensor<4x5x1x2xf32>")));
  TestModel early(13);
  lstm(early, {4, 5, 3}).attr("layout", 1);
  EXPECT_THAT(early.imported(), HasSubstr("'layout' is not one of LSTM at opset 13"));
}

void strings(TestNode node, const char *name, std::vector<const char *> values) {
  auto *attr = node.node->add_attribute();
  attr->set_name(name);
  attr->set_type(AttributeProto::STRINGS);
  for (const char *value : values)
    attr->add_strings(value);
}

TEST(Recurrent, ActivationsWithTheirParameters) {
  TestModel m(14);
  TestNode node = lstm(m, {5, 2, 3}).floats("activation_alpha", {0.3f, 0.7f}).floats("activation_beta", {0.6f});
  strings(node, "activations", {"HardSigmoid", "tanh", "Elu"});
  // Parameters go, in order, to the activations that take them.
  EXPECT_THAT(m.imported(),
              AllOf(HasSubstr("activations = \"hard_sigmoid,tanh,elu\""),
                    HasSubstr("activation_alpha = array<f64: 3.000000e-01, 0.000000e+00, 0.69999999999999996>"),
                    HasSubstr("activation_beta = array<f64: 6.000000e-01, 0.000000e+00, 0.000000e+00>")));
  TestModel usual(14);
  strings(lstm(usual, {5, 2, 3}), "activations", {"Sigmoid", "Tanh", "Tanh"});
  EXPECT_THAT(usual.imported(), Not(HasSubstr("activations")));
  TestModel unknown(14);
  strings(lstm(unknown, {5, 2, 3}), "activations", {"Sigmoid", "Tanh", "Sine"});
  EXPECT_THAT(unknown.imported(), HasSubstr("activation 'Sine' is not known"));
  TestModel two(14);
  strings(lstm(two, {5, 2, 3}), "activations", {"Sigmoid", "Relu"});
  EXPECT_THAT(two.imported(), HasSubstr("lstm_c6: there are 2 activations, expected 3"));
}

TEST(Recurrent, MistakesNameTheNode) {
  TestModel hidden(14);
  hidden.input("x", {5, 2, 3}).output("y").weight("w", {1, 8, 3}).weight("r", {1, 8, 2});
  hidden.node("LSTM", {"x", "w", "r"}, {"y"}, "cell").attr("hidden_size", 3);
  EXPECT_THAT(hidden.imported(),
              AllOf(HasSubstr("'cell' (LSTM, opset 14)"), HasSubstr("hidden_size is 3, expected 2")));
  TestModel direction(14);
  lstm(direction, {5, 2, 3}).attr("direction", "bidirectional");
  EXPECT_THAT(direction.imported(), HasSubstr("lstm_c2: r has 1 directions, expected 2 as bidirectional"));
}

} // namespace
} // namespace lathe::onnx
