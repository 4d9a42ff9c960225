// Every historical form of an operator becomes the one form of the nn dialect.
#include "import/onnx/TestModel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace lathe::onnx {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// One node over x, with initializers for its other operands.
TestModel over(int64_t opset, std::vector<TestModel::Extent> dims, int32_t resultType = TensorProto::FLOAT) {
  TestModel m(opset);
  m.input("x", std::move(dims)).output("y", resultType);
  return m;
}

TEST(Clip, AttributesAndOperandsGiveTheSame) {
  auto old = over(6 + 1, {4});
  old.node("Clip", {"x"}, {"y"}).attr("min", 0.1f).attr("max", 6.0f);
  auto now = over(13, {4});
  now.floats("lo", {}, {0.1f}).floats("hi", {}, {6.0f}).node("Clip", {"x", "lo", "hi"}, {"y"});
  EXPECT_EQ(old.imported(), now.imported());
  EXPECT_THAT(now.imported(), AllOf(HasSubstr("max = 6.0"), HasSubstr("min = 1.000000e-01")));
  auto upper = over(13, {4});
  upper.floats("hi", {}, {6.0f}).node("Clip", {"x", "", "hi"}, {"y"});
  EXPECT_THAT(upper.imported(), AllOf(HasSubstr("max = 6.0"), Not(HasSubstr("min = 1.0"))));
}

TEST(Slice, AttributesAndOperandsGiveTheSame) {
  auto old = over(9, {8, 8});
  old.node("Slice", {"x"}, {"y"}).attr("starts", {1, 0}).attr("ends", {-1, 9999}).attr("axes", {0, 1});
  auto now = over(13, {8, 8});
  now.ints("s", {1, 0}).ints("e", {-1, 9999}).ints("a", {0, 1}).node("Slice", {"x", "s", "e", "a"}, {"y"});
  EXPECT_EQ(old.imported(), now.imported());
  EXPECT_THAT(now.imported(), HasSubstr("tensor<6x8xf32>"));
}

TEST(Pad, AttributesOperandsAndAxesGiveTheSame) {
  auto old = over(2 + 8, {4, 5});
  old.node("Pad", {"x"}, {"y"}).attr("pads", {0, 1, 0, 2}).attr("value", 0.5f);
  auto middle = over(13, {4, 5});
  middle.ints("p", {0, 1, 0, 2}).floats("v", {}, {0.5f}).node("Pad", {"x", "p", "v"}, {"y"});
  auto now = over(18, {4, 5});
  now.ints("p", {1, 2}).floats("v", {}, {0.5f}).ints("a", {-1}).node("Pad", {"x", "p", "v", "a"}, {"y"});
  EXPECT_EQ(old.imported(), middle.imported());
  EXPECT_EQ(old.imported(), now.imported());
  EXPECT_THAT(now.imported(), AllOf(HasSubstr("pads = array<i64: 0, 1, 0, 2>"), HasSubstr("tensor<4x8xf32>")));
}

TEST(Squeeze, AttributesAndOperandsGiveTheSame) {
  auto old = over(11, {1, 3, 1, 5});
  old.node("Squeeze", {"x"}, {"y"}).attr("axes", {0, -2});
  auto now = over(13, {1, 3, 1, 5});
  now.ints("a", {0, 2}).node("Squeeze", {"x", "a"}, {"y"});
  auto all = over(13, {1, 3, 1, 5});
  all.node("Squeeze", {"x"}, {"y"});
  EXPECT_EQ(old.imported(), now.imported());
  EXPECT_EQ(old.imported(), all.imported());
  EXPECT_THAT(now.imported(), HasSubstr("nn.reshape %arg0 {shape = array<i64: 3, 5>}"));
}

TEST(Unsqueeze, AttributesAndOperandsGiveTheSame) {
  auto old = over(11, {"N", 5});
  old.node("Unsqueeze", {"x"}, {"y"}).attr("axes", {1, 3});
  auto now = over(13, {"N", 5});
  now.ints("a", {-1, -3}).node("Unsqueeze", {"x", "a"}, {"y"});
  EXPECT_EQ(old.imported(), now.imported());
  EXPECT_THAT(now.imported(), HasSubstr("-> tensor<?x1x5x1xf32>"));
}

TEST(Unsqueeze, SeveralSymbolicExtentsAreComputed) {
  auto image = over(11, {3, "H", "W"});
  image.node("Unsqueeze", {"x"}, {"y"}).attr("axes", std::vector<int64_t>{0});
  EXPECT_THAT(image.imported(),
              AllOf(HasSubstr("nn.shape %arg0 {end = 2 : i64, start = 1 : i64}"), HasSubstr("-> tensor<1x3x?x?xf32>")));
}

TEST(Reduce, AttributesAndOperandsGiveTheSame) {
  auto old = over(11, {2, 3, 4});
  old.node("ReduceMean", {"x"}, {"y"}).attr("axes", std::vector<int64_t>{-1}).attr("keepdims", 0);
  auto now = over(18, {2, 3, 4});
  now.ints("a", {-1}).node("ReduceMean", {"x", "a"}, {"y"}).attr("keepdims", 0);
  EXPECT_EQ(old.imported(), now.imported());
  auto sum = over(13, {2, 3, 4});
  sum.ints("a", {0}).node("ReduceSum", {"x", "a"}, {"y"});
  EXPECT_THAT(sum.imported(), AllOf(HasSubstr("nn.reduce_sum"), HasSubstr("-> tensor<1x3x4xf32>")));
}

TEST(Softmax, BeforeOpset13AxesAreCoercedToAMatrix) {
  auto old = over(11, {2, 3, 4});
  old.node("Softmax", {"x"}, {"y"});
  EXPECT_THAT(old.imported(),
              AllOf(HasSubstr("array<i64: 2, 12>"), HasSubstr("nn.softmax"), HasSubstr("array<i64: 2, 3, 4>")));
  auto symbolic = over(11, {"N", 3, 4});
  symbolic.node("Softmax", {"x"}, {"y"});
  EXPECT_THAT(symbolic.imported(), AllOf(HasSubstr("array<i64: 0, 12>"), HasSubstr("array<i64: 0, 3, 4>")));
  auto classifier = over(9, {1, 1000, 1, 1}); // nothing to coerce
  classifier.node("Softmax", {"x"}, {"y"});
  EXPECT_THAT(classifier.imported(), AllOf(HasSubstr("axis = 1"), Not(HasSubstr("reshape"))));
  auto now = over(13, {2, 3, 4});
  now.node("LogSoftmax", {"x"}, {"y"});
  EXPECT_THAT(now.imported(), AllOf(HasSubstr("nn.log_softmax %arg0 :"), Not(HasSubstr("reshape"))));
}

TEST(BatchNorm, VariantsForInference) {
  for (int64_t opset : {7, 9, 14, 15}) {
    auto m = over(opset, {1, 3, 4, 4});
    for (const char *name : {"s", "b", "mean", "var"})
      m.weight(name, {3});
    m.node("BatchNormalization", {"x", "s", "b", "mean", "var"}, {"y"}).attr("epsilon", 0.001f).attr("momentum", 0.9f);
    EXPECT_THAT(m.imported(), HasSubstr("nn.batch_norm")) << opset;
    EXPECT_THAT(m.imported(), HasSubstr("epsilon = 1.000000e-03")) << opset;
  }
  auto training = over(14, {1, 3, 4, 4});
  for (const char *name : {"s", "b", "mean", "var"})
    training.weight(name, {3});
  training.node("BatchNormalization", {"x", "s", "b", "mean", "var"}, {"y"}).attr("training_mode", 1);
  EXPECT_THAT(training.imported(), AllOf(HasSubstr("nn.reduce_mean"), HasSubstr("nn.batch_norm")));
}

TEST(Resize, UpsampleAndItsFirstFormsSampleAsymmetrically) {
  auto seven = over(7, {1, 1, 2, 2});
  seven.node("Upsample", {"x"}, {"y"}).floats("scales", {1, 1, 2, 2}).attr("mode", "nearest");
  auto nine = over(9, {1, 1, 2, 2});
  nine.floats("s", {4}, {1, 1, 2, 2}).node("Upsample", {"x", "s"}, {"y"});
  auto ten = over(10, {1, 1, 2, 2});
  ten.floats("s", {4}, {1, 1, 2, 2}).node("Resize", {"x", "s"}, {"y"});
  EXPECT_EQ(seven.imported(), nine.imported());
  EXPECT_EQ(seven.imported(), ten.imported());
  EXPECT_THAT(ten.imported(),
              AllOf(HasSubstr("asymmetric"), HasSubstr("\"floor\""), HasSubstr("-> tensor<1x1x4x4xf32>")));
}

TEST(Resize, EmptyOperandsAreAbsentAndAxesAreSpread) {
  auto eleven = over(11, {1, 1, 2, 2});
  eleven.floats("none", {0}, {}).ints("z", {1, 1, 4, 6});
  eleven.node("Resize", {"x", "none", "none", "z"}, {"y"}).attr("mode", "linear");
  EXPECT_THAT(eleven.imported(),
              AllOf(HasSubstr("sizes = array<i64: 1, 1, 4, 6>"), HasSubstr("-> tensor<1x1x4x6xf32>")));
  auto axes = over(18, {1, 1, 2, 2});
  axes.ints("z", {4, 6}).node("Resize", {"x", "", "", "z"}, {"y"}).attr("axes", {2, 3});
  EXPECT_THAT(axes.imported(),
              AllOf(HasSubstr("sizes = array<i64: -1, -1, 4, 6>"), HasSubstr("-> tensor<1x1x4x6xf32>")));
  auto policy = over(18, {1, 1, 2, 4});
  policy.ints("z", {7, 8})
      .node("Resize", {"x", "", "", "z"}, {"y"})
      .attr("axes", {2, 3})
      .attr("keep_aspect_ratio_policy", "not_larger");
  EXPECT_THAT(policy.imported(),
              AllOf(HasSubstr("-> tensor<1x1x4x8xf32>"),
                    HasSubstr("scales = array<f64: 1.000000e+00, 1.000000e+00, 2.000000e+00, 2.000000e+00>")));
}

TEST(Dropout, PassesThroughAndItsMaskIsTrue) {
  auto old = over(7, {4});
  old.node("Relu", {"x"}, {"r"});
  old.node("Dropout", {"r"}, {"y"}).attr("ratio", 0.3f);
  EXPECT_THAT(old.imported(), AllOf(HasSubstr("nn.relu"), Not(HasSubstr("ropout"))));
  auto now = over(13, {4}, TensorProto::BOOL);
  now.floats("r", {}, {0.3f}).node("Dropout", {"x", "r"}, {"unused", "y"});
  EXPECT_THAT(now.imported(), AllOf(HasSubstr("nn.constant_of_shape"), HasSubstr("-> tensor<4xi1>")));
}

TEST(Split, EverySpelling) {
  auto attribute = over(11, {4, 6});
  attribute.node("Split", {"x"}, {"y", "z"}).attr("split", {2, 4}).attr("axis", 1);
  auto operand = over(13, {4, 6});
  operand.ints("s", {2, 4}).node("Split", {"x", "s"}, {"y", "z"}).attr("axis", -1);
  EXPECT_THAT(attribute.imported(), HasSubstr("sizes = array<i64: 2, 4>"));
  EXPECT_THAT(operand.imported(), HasSubstr("sizes = array<i64: 2, 4>"));
  auto even = over(13, {4, 6});
  even.node("Split", {"x"}, {"y", "z"});
  EXPECT_THAT(even.imported(), HasSubstr("sizes = array<i64: 2, 2>"));
  auto uneven = over(18, {7});
  uneven.node("Split", {"x"}, {"y", "z", "w"}).attr("num_outputs", 3);
  EXPECT_THAT(uneven.imported(), HasSubstr("sizes = array<i64: 3, 3, 1>"));
}

TEST(AutoPad, BecomesExplicit) {
  auto conv = [](const char *pad, TestModel::Extent extent, int64_t stride, int opset = 13) {
    auto m = over(opset, {1, 1, extent, extent});
    m.weight("w", {1, 1, 3, 3});
    m.node("Conv", {"x", "w"}, {"y"}).attr("auto_pad", pad).attr("strides", {stride, stride});
    return m.imported();
  };
  EXPECT_THAT(conv("SAME_UPPER", 6, 2),
              AllOf(HasSubstr("pads = array<i64: 0, 0, 1, 1>"), HasSubstr("-> tensor<1x1x3x3xf32>")));
  EXPECT_THAT(conv("SAME_LOWER", 6, 2), HasSubstr("pads = array<i64: 1, 1, 0, 0>"));
  EXPECT_THAT(conv("VALID", 6, 1),
              AllOf(HasSubstr("pads = array<i64: 0, 0, 0, 0>"), HasSubstr("-> tensor<1x1x4x4xf32>")));
  EXPECT_THAT(conv("SAME_UPPER", "H", 1), HasSubstr("pads = array<i64: 1, 1, 1, 1>")); // no extent needed at stride 1
  // If padding depends on an open extent, the pads are the greatest ones, followed by the rule.
  EXPECT_THAT(conv("SAME_UPPER", "H", 2),
              AllOf(HasSubstr("pads = array<i64: 1, 1, 1, 1, 1, 1>"), HasSubstr("-> tensor<1x1x?x?xf32>")));
  EXPECT_THAT(conv("SAME_LOWER", "H", 3), HasSubstr("pads = array<i64: 1, 1, 1, 1, -1, -1>"));
  EXPECT_THAT(conv("SOMEHOW", 6, 1), HasSubstr("auto_pad is 'SOMEHOW', expected"));
}

TEST(Pool, OldAndNewAttributes) {
  auto max = over(8, {1, 1, 5, 5});
  max.node("MaxPool", {"x"}, {"y"}).attr("kernel_shape", {2, 2}).attr("strides", {2, 2}).attr("storage_order", 1);
  EXPECT_THAT(max.imported(), AllOf(HasSubstr("nn.max_pool"), HasSubstr("-> tensor<1x1x2x2xf32>")));
  auto ceil = over(10, {1, 1, 5, 5});
  ceil.node("MaxPool", {"x"}, {"y"}).attr("kernel_shape", {2, 2}).attr("strides", {2, 2}).attr("ceil_mode", 1);
  EXPECT_THAT(ceil.imported(), AllOf(HasSubstr("ceil_mode = true"), HasSubstr("-> tensor<1x1x3x3xf32>")));
  auto indices = over(8, {1, 1, 4, 4}, TensorProto::INT64);
  indices.node("MaxPool", {"x"}, {"unused", "y"}).attr("kernel_shape", {2, 2});
  EXPECT_THAT(indices.imported(), HasSubstr("nn.max_pool_indices"));
  auto average = over(19, {1, 1, 5, 5});
  average.node("AveragePool", {"x"}, {"y"})
      .attr("kernel_shape", {2, 2})
      .attr("dilations", {2, 2})
      .attr("count_include_pad", 1);
  EXPECT_THAT(average.imported(), AllOf(HasSubstr("count_include_pad = true"), HasSubstr("-> tensor<1x1x3x3xf32>")));
  auto global = over(7, {"N", 8, 7, 7});
  global.node("GlobalAveragePool", {"x"}, {"y"});
  EXPECT_THAT(global.imported(), AllOf(HasSubstr("nn.reduce_mean"), HasSubstr("axes = array<i64: 2, 3>"),
                                       HasSubstr("-> tensor<?x8x1x1xf32>")));
}

TEST(Variadic, BecomesAChain) {
  auto m = over(8, {4});
  m.weight("a", {4}).weight("b", {1});
  m.node("Mean", {"x", "a", "b"}, {"y"});
  EXPECT_THAT(m.imported(), AllOf(HasSubstr("nn.add %1, "), HasSubstr("dense<3.0"), HasSubstr("nn.div")));
  auto one = over(8, {4});
  one.node("Max", {"x"}, {"y"});
  EXPECT_THAT(one.imported(), HasSubstr("return %arg0"));
}

TEST(Binary, BeforeOpset7BroadcastingHasAnAxis) {
  auto m = over(6, {"N", 3, 4, 4});
  m.weight("b", {3}).node("Add", {"x", "b"}, {"y"}).attr("broadcast", 1).attr("axis", 1);
  EXPECT_THAT(m.imported(),
              AllOf(HasSubstr("nn.reshape %0 {shape = array<i64: 3, 1, 1>}"), HasSubstr("-> tensor<?x3x4x4xf32>")));
  auto plain = over(6, {2, 3});
  plain.weight("b", {3}).node("Mul", {"x", "b"}, {"y"});
  EXPECT_THAT(plain.imported(), HasSubstr("expected equal extents without broadcast"));
}

TEST(Sum, ManyOperandsAreAddedPairwise) {
  auto three = over(13, {4});
  three.node("Sum", {"x", "x", "x"}, {"y"});
  EXPECT_THAT(three.imported(), AllOf(HasSubstr("%0 = nn.add %arg0, %arg0"), HasSubstr("nn.add %0, %arg0")));
  auto four = over(13, {4});
  four.node("Sum", {"x", "x", "x", "x"}, {"y"});
  EXPECT_THAT(four.imported(), AllOf(HasSubstr("%1 = nn.add %arg0, %arg0"), HasSubstr("nn.add %0, %1")));
  auto one = over(13, {4});
  one.node("Sum", {"x"}, {"y"});
  EXPECT_THAT(one.imported(), Not(HasSubstr("nn.add")));
}

TEST(Pow, ExponentOfAnotherType) {
  auto m = over(13, {4});
  m.ints("two", {}, {2}).node("Pow", {"x", "two"}, {"y"});
  EXPECT_THAT(m.imported(), AllOf(HasSubstr("nn.cast"), HasSubstr("nn.pow %arg0, %1 : (tensor<4xf32>, tensor<f32>)")));
}

TEST(Flatten, WithASymbolicBatch) {
  auto m = over(13, {"N", 3, 4, 5});
  m.node("Flatten", {"x"}, {"y"});
  EXPECT_THAT(m.imported(), AllOf(HasSubstr("array<i64: 0, 60>"), HasSubstr("-> tensor<?x60xf32>")));
  auto second = over(13, {"N", 3, 4, 5});
  second.node("Flatten", {"x"}, {"y"}).attr("axis", 2);
  EXPECT_THAT(second.imported(), HasSubstr("array<i64: -1, 20>"));
}

TEST(Reshape, ShapeArithmeticOfABatchDisappears) {
  // The form in which exporters write x.view(x.size(0), -1).
  auto m = over(13, {"N", 3, 4});
  m.ints("zero", {}, {0}).ints("axis", {0}).ints("rest", {-1});
  m.node("Shape", {"x"}, {"shape"});
  m.node("Gather", {"shape", "zero"}, {"n"});
  m.node("Unsqueeze", {"n", "axis"}, {"n1"});
  m.node("Concat", {"n1", "rest"}, {"target"}).attr("axis", 0);
  m.node("Reshape", {"x", "target"}, {"y"});
  EXPECT_THAT(m.imported(),
              AllOf(HasSubstr("nn.reshape %arg0 {shape = array<i64: 0, 12>}"), Not(HasSubstr("nn.shape"))));
}

TEST(Constant, EveryForm) {
  auto check = [](auto fill, int32_t type, const char *expected) {
    TestModel m(13);
    m.output("y", type);
    auto node = m.node("Constant", {}, {"c"});
    fill(node);
    m.node("Identity", {"c"}, {"y"});
    EXPECT_THAT(m.imported(), HasSubstr(expected));
  };
  check([](TestNode &n) { n.attr("value_float", 1.5f); }, TensorProto::FLOAT, "dense<1.500000e+00> : tensor<f32>");
  check([](TestNode &n) { n.floats("value_floats", {1, 2}); }, TensorProto::FLOAT,
        "dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>");
  check([](TestNode &n) { n.attr("value_int", 7); }, TensorProto::INT64, "dense<7> : tensor<i64>");
  check([](TestNode &n) { n.attr("value_ints", {7, 8}); }, TensorProto::INT64, "dense<[7, 8]> : tensor<2xi64>");
  check([](TestNode &n) { n.attr("value", TestModel::intTensor("", {1, 2}, {7, 8})); }, TensorProto::INT64,
        "tensor<1x2xi64>");
  check([](TestNode &n) { n.attr("value_string", "a"); }, TensorProto::STRING, "nn.string_constant");
}

TEST(Dropout, DropsNothing) {
  auto check = [](float ratio, bool training, auto expected) {
    TestModel m(13);
    m.input("x", {4}).output("y").floats("ratio", {}, {ratio});
    TensorProto &mode = *m.graph->add_initializer();
    mode.set_name("training");
    mode.set_data_type(TensorProto::BOOL);
    mode.add_int32_data(training);
    m.node("Dropout", {"x", "ratio", "training"}, {"y"}, "drop");
    EXPECT_THAT(m.imported(), expected);
  };
  check(0.5f, false, HasSubstr("return %arg0"));
  check(0, true, HasSubstr("return %arg0"));
  check(0.5f, true, HasSubstr("'drop' (Dropout, opset 13): training_mode is set"));
}

TEST(ConstantOfShape, ValueAndType) {
  TestModel m(9);
  m.output("y", TensorProto::INT64).ints("s", {2, 3});
  m.node("ConstantOfShape", {"s"}, {"y"}).attr("value", TestModel::intTensor("", {1}, {5}));
  EXPECT_THAT(m.imported(), AllOf(HasSubstr("value = 5.0"), HasSubstr("-> tensor<2x3xi64>")));
}

TEST(Gemm, BiasBroadcasts) {
  for (std::vector<int64_t> c : std::vector<std::vector<int64_t>>{{}, {1}, {5}, {1, 5}, {4, 1}, {4, 5}}) {
    auto m = over(9, {4, 3});
    m.weight("w", {5, 3}).weight("c", c);
    m.node("Gemm", {"x", "w", "c"}, {"y"}).attr("transB", 1).attr("alpha", 0.5f);
    EXPECT_THAT(m.imported(), AllOf(HasSubstr("trans_b = true"), HasSubstr("-> tensor<4x5xf32>"))) << c.size();
  }
}

TEST(TensorTypes, TypedAndRawDataAgree) {
  auto text = [](const TensorProto &tensor) {
    TestModel m(13);
    m.output("y", tensor.data_type());
    *m.graph->add_initializer() = tensor;
    m.graph->mutable_initializer(0)->set_name("y");
    return m.imported();
  };
  auto check = [&](int32_t type, auto fill, const std::string &raw) {
    TensorProto typed;
    typed.set_data_type(type);
    typed.add_dims(3);
    TensorProto bytes = typed;
    fill(typed);
    bytes.set_raw_data(raw);
    EXPECT_THAT(text(typed), Not(HasSubstr("error"))) << onnxTypeName(type);
    EXPECT_EQ(text(typed), text(bytes)) << onnxTypeName(type);
  };
  auto words = [](TensorProto &t) {
    t.mutable_int32_data()->Add(1), t.mutable_int32_data()->Add(2), t.mutable_int32_data()->Add(3);
  };
  for (int32_t type : {TensorProto::INT8, TensorProto::UINT8, TensorProto::FLOAT8E4M3FN, TensorProto::FLOAT8E4M3FNUZ,
                       TensorProto::FLOAT8E5M2, TensorProto::FLOAT8E5M2FNUZ})
    check(type, words, std::string("\1\2\3", 3));
  for (int32_t type : {TensorProto::INT16, TensorProto::UINT16, TensorProto::FLOAT16, TensorProto::BFLOAT16})
    check(type, words, std::string("\1\0\2\0\3\0", 6));
  check(TensorProto::INT32, words, std::string("\1\0\0\0\2\0\0\0\3\0\0\0", 12));
  check(TensorProto::BOOL, words, std::string("\1\2\3", 3));
  auto unsignedWords = [](TensorProto &t) { t.add_uint64_data(1), t.add_uint64_data(2), t.add_uint64_data(3); };
  check(TensorProto::UINT32, unsignedWords, std::string("\1\0\0\0\2\0\0\0\3\0\0\0", 12));
  check(TensorProto::UINT64, unsignedWords, std::string("\1\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0", 24));
  for (int32_t type : {TensorProto::INT4, TensorProto::UINT4}) // two elements a byte
    check(type, [](TensorProto &t) { t.add_int32_data(0x21), t.add_int32_data(3); }, std::string("\x21\3", 2));
  check(
      TensorProto::DOUBLE, [](TensorProto &t) { t.add_double_data(0), t.add_double_data(0), t.add_double_data(0); },
      std::string(24, '\0'));
}

TEST(Symbols, ShapeOptionBindsThem) {
  TestModel m(13);
  m.input("a", {"N", 4}).input("b", {"N", 4}).output("y");
  m.node("Add", {"a", "b"}, {"y"});
  EXPECT_THAT(m.imported(), HasSubstr(R"(nn.dims = ["N", "4"])"));
  EXPECT_THAT(m.imported({.shapes = {{"a", {2, 4}}}}),
              AllOf(HasSubstr("-> (tensor<2x4xf32>"), Not(HasSubstr("nn.dims"))));
  EXPECT_THAT(m.imported({.shapes = {{"a", {-1, 4}}}}), HasSubstr("nn.dims"));
  EXPECT_THAT(m.imported({.shapes = {{"a", {2, 5}}}}), HasSubstr("5 against 4 on axis 1 (--shape: input 'a' is Nx4"));
  EXPECT_THAT(m.imported({.shapes = {{"a", {2}}}}), HasSubstr("1 extents, expected 2"));
  EXPECT_THAT(m.imported({.shapes = {{"a", {2, 4}}, {"b", {3, 4}}}}), HasSubstr("binds 'N' to 2 and 3"));
  EXPECT_THAT(m.imported({.shapes = {{"c", {2, 4}}}}), HasSubstr("'c', which the model does not have"));
}

TEST(Symbols, NamesAreMadeReadableAndStayDifferent) {
  TestModel m(13);
  m.input("a", {"batch size", "batch_size"}).input("b", {"batch size", "7"}).output("y");
  m.node("Relu", {"a"}, {"y"});
  EXPECT_THAT(m.imported(),
              AllOf(HasSubstr(R"(["batch_size", "batch_size_1"])"), HasSubstr(R"(["batch_size", "d7"])")));
}

TEST(Initializers, ListedAsInputsOrUnusedOrOut) {
  TestModel m(13);
  m.input("x", {2}).input("w", {2}).output("y").output("w");
  m.weight("w", {2}).weight("unused", {3});
  m.node("Add", {"x", "w"}, {"y"});
  EXPECT_THAT(m.imported(), AllOf(HasSubstr("@main(%arg0: tensor<2xf32> {nn.name = \"x\"})"),
                                  HasSubstr("return %1, %0"), Not(HasSubstr("3xf32"))));
}

TEST(Unsupported, AllAreReportedAtOnce) {
  TestModel m(13);
  m.input("x", {2, 3}).output("y").output("z");
  m.node("Bernoulli", {"x"}, {"a"}, "first");
  m.node("Relu", {"a"}, {"b"});
  m.node("Cos", {"b"}, {"y"});
  m.node("FancyOp", {"x"}, {"z"}, "second").node->set_domain("com.example");
  m.node("ImageDecoder", {"x"}, {"dead"}, "not needed");
  mlir::MLIRContext context;
  try {
    importOnnxBytes(context, m.bytes(), "m.onnx");
    FAIL();
  } catch (const UnsupportedError &error) {
    ASSERT_EQ(error.issues.size(), 2u);
    EXPECT_EQ(error.issues[0].node, "first");
    EXPECT_EQ(error.issues[0].op, "Bernoulli");
    EXPECT_EQ(error.issues[0].type, "f32");
    EXPECT_EQ(error.issues[0].opset, 13);
    EXPECT_EQ(error.issues[1].node, "second");
    EXPECT_THAT(error.issues[1].reason, HasSubstr("com.example"));
    EXPECT_THAT(error.what(), AllOf(HasSubstr("m.onnx"), HasSubstr("Bernoulli"), Not(HasSubstr("\n"))));
  }
}

TEST(Location, NamesFileNodeAndOperator) {
  TestModel m(13);
  m.input("x", {2}).output("y");
  m.node("Relu", {"x"}, {"r"}, "act");
  m.node("Cos", {"r"}, {"y"});
  mlir::MLIRContext context;
  auto module = importOnnxBytes(context, m.bytes(), "m.onnx");
  std::vector<std::string> places;
  module->walk([&](mlir::Operation *op) {
    if (op->getName().getDialectNamespace() == "nn")
      places.push_back(nn::describe(op->getLoc()));
  });
  EXPECT_THAT(places,
              testing::ElementsAre("m.onnx: node 0 'act' (Relu, opset 13)", "m.onnx: node 1 'y' (Cos, opset 13)"));
}

TEST(Order, NodesNeedNotBeSorted) {
  TestModel m(13);
  m.input("x", {2}).output("y");
  m.node("Cos", {"r"}, {"y"});
  m.node("Relu", {"x"}, {"r"});
  EXPECT_THAT(m.imported(), HasSubstr("nn.cos %0"));
}

} // namespace
} // namespace lathe::onnx
