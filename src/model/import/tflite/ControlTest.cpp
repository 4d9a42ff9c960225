// Subgraphs, resources, signatures and the detection operator.
#include "import/tflite/FileTesting.h"

// Uses flexbuffers without libflatbuffers, which holds the locale object.
#define FLATBUFFERS_LOCALE_INDEPENDENT 0
#include <flatbuffers/flexbuffers.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lathe::tflite {
namespace {

using enum BuiltinOperator;
using testing::ElementsAre;
using testing::HasSubstr;
using Type = file::TensorType;

/// y = x + amount as a subgraph.
int adder(TestFile &f, float amount) {
  int graph = f.subgraph();
  int x = f.input("x", {2}), y = f.value({2});
  f.op(ADD, {x, f.constant<float>({}, {amount})}, {y});
  f.output(y);
  f.back();
  return graph;
}

TEST(Control, IfTakesTheBranchOfTheRun) {
  TestFile f;
  int more = adder(f, 10), less = adder(f, -10);
  int x = f.input("x", {2}), limit = f.constant<float>({1}, {0}), sum = f.value({}), positive = f.value({}, Type::BOOL);
  int axis = f.constant<int32_t>({1}, {0}), y = f.value({2}), scalar = f.constant<int32_t>({0}, {}),
      one = f.value({}, Type::BOOL);
  f.op(SUM, {x, axis}, {sum}, BuiltinOptions::Reducer, file::CreateReducerOptions(f.builder, true).Union());
  f.op(GREATER, {sum, limit}, {positive});
  f.op(RESHAPE, {positive, scalar}, {one});
  f.op(IF, {one, x}, {y}, BuiltinOptions::If, file::CreateIfOptions(f.builder, more, less).Union());
  f.output(y);
  std::string bytes = f.bytes();
  EXPECT_THAT(numbers(evaluated(bytes, {Tensor::of<float>({2}, {1, 2})}).at(0)), ElementsAre(11, 12));
  EXPECT_THAT(numbers(evaluated(bytes, {Tensor::of<float>({2}, {1, -2})}).at(0)), ElementsAre(-9, -12));
}

/// Doubles x until the counter has reached a number that is an input.
TEST(Control, WhileRunsUntilItsConditionFails) {
  TestFile f;
  int test = f.subgraph();
  int i = f.input("i", {}, Type::INT32), x = f.input("x", {2}), limit = f.input("n", {}, Type::INT32);
  int goesOn = f.value({}, Type::BOOL);
  f.op(LESS, {i, limit}, {goesOn});
  f.output(goesOn);
  int body = f.subgraph();
  i = f.input("i", {}, Type::INT32), x = f.input("x", {2}), limit = f.input("n", {}, Type::INT32);
  int next = f.value({}, Type::INT32), twice = f.value({2});
  f.op(ADD, {i, f.constant<int32_t>({}, {1})}, {next});
  f.op(ADD, {x, x}, {twice});
  f.output(next), f.output(twice), f.output(limit);
  f.back();
  int start = f.constant<int32_t>({}, {0}), given = f.input("x", {2}), n = f.input("n", {}, Type::INT32);
  int count = f.value({}, Type::INT32), y = f.value({2}), same = f.value({}, Type::INT32);
  f.op(WHILE, {start, given, n}, {count, y, same}, BuiltinOptions::While,
       file::CreateWhileOptions(f.builder, test, body).Union());
  f.output(y), f.output(count);
  std::string bytes = f.bytes();
  for (int32_t trips : {0, 1, 5}) {
    std::vector<Tensor> got = evaluated(bytes, {Tensor::of<float>({2}, {1, 3}), Tensor::of<int32_t>({}, {trips})});
    EXPECT_THAT(numbers(got.at(0)), ElementsAre(1 << trips, 3 * (1 << trips)));
    EXPECT_EQ(got.at(1).asInteger(0), trips);
  }
}

TEST(Control, CallsAreInlinedAndCyclesEnd) {
  TestFile f;
  int graph = adder(f, 1), x = f.input("x", {2}), y = f.value({2}), z = f.value({2});
  f.op(CALL, {x}, {y}, BuiltinOptions::Call, file::CreateCallOptions(f.builder, static_cast<uint32_t>(graph)).Union());
  f.op(CALL, {y}, {z}, BuiltinOptions::Call, file::CreateCallOptions(f.builder, static_cast<uint32_t>(graph)).Union());
  f.output(z);
  EXPECT_THAT(numbers(evaluated(f.bytes(), {Tensor::of<float>({2}, {1, 2})}).at(0)), ElementsAre(3, 4));

  TestFile endless;
  x = endless.input("x", {2}), y = endless.value({2});
  endless.op(CALL, {x}, {y}, BuiltinOptions::Call, file::CreateCallOptions(endless.builder, 0).Union());
  endless.output(y);
  EXPECT_THAT(importError(endless.bytes()), HasSubstr("unfold to more than"));
  TestFile nowhere;
  x = nowhere.input("x", {2}), y = nowhere.value({2});
  nowhere.op(WHILE, {x}, {y}, BuiltinOptions::While, file::CreateWhileOptions(nowhere.builder, 7, -1).Union());
  nowhere.output(y);
  EXPECT_THAT(importError(nowhere.bytes()), HasSubstr("runs subgraph 7, expected one below 1"));
}

/// A counter to which every run adds x: read, add, assign.
std::string counter(bool begins) {
  TestFile f;
  auto handle = [&] {
    int tensor = f.value({}, Type::RESOURCE);
    auto name = f.builder.CreateString("count");
    f.op(VAR_HANDLE, {}, {tensor}, BuiltinOptions::VarHandle, file::CreateVarHandleOptions(f.builder, 0, name).Union());
    return tensor;
  };
  int start = f.subgraph();
  f.op(ASSIGN_VARIABLE, {handle(), f.constant<float>({1}, {begins ? 5.0f : 0.0f})}, {});
  f.back();
  f.op(CALL_ONCE, {}, {}, BuiltinOptions::CallOnce, file::CreateCallOnceOptions(f.builder, start).Union());
  int x = f.input("x", {1}), variable = handle(), value = f.value({1}), sum = f.value({1});
  f.op(READ_VARIABLE, {variable}, {value});
  f.op(ADD, {value, x}, {sum});
  f.op(ASSIGN_VARIABLE, {variable, sum}, {});
  f.output(sum);
  return f.bytes();
}

TEST(Control, ResourcesAreStates) {
  std::string bytes = counter(false);
  std::vector<Tensor> got = evaluated(bytes, {Tensor::of<float>({1}, {3}), Tensor::of<float>({1}, {4})});
  EXPECT_THAT(numbers(got.at(0)), ElementsAre(7));
  EXPECT_THAT(numbers(got.at(1)), ElementsAre(7)) << "what is assigned is the next run's value";
  EXPECT_THAT(numbers(evaluated(bytes, {Tensor::of<float>({1}, {3}), Tensor::of<float>({1}, {0})}).at(0)),
              ElementsAre(3));
  ModelRecord record = readModel(bytes, "m.tflite", ".");
  EXPECT_EQ(record.graph.inputs.at(1).name, "count.past");
  EXPECT_EQ(record.graph.outputs.at(1).name, "count.next");
  EXPECT_THAT(importError(counter(true)),
              HasSubstr("'count.past' is a variable that begins with other values than zero"));
}

TEST(Signatures, NameInputsAndOutputs) {
  TestFile f;
  int x = f.input("serving_default_x:0", {-1 + 2, 2}, Type::FLOAT32, {-1, 2});
  int y = f.value({1, 2}, Type::FLOAT32, "StatefulPartitionedCall:0");
  f.op(RELU, {x}, {y});
  f.output(y), f.output(x);
  f.signature("serving_default", {{"image", x}}, {{"scores", y}});
  std::string bytes = f.bytes();
  ModelRecord record = readModel(bytes, "m.tflite", ".");
  EXPECT_EQ(record.graph.inputs.at(0).name, "image");
  EXPECT_EQ(record.graph.outputs.at(0).name, "scores");
  EXPECT_EQ(record.graph.outputs.at(1).name, "image_output") << "an input that is an output as well";
  EXPECT_EQ(record.graph.nodes.at(0).name, "StatefulPartitionedCall:0") << "nodes keep the names of the file";
  EXPECT_FALSE(record.graph.inputs[0].extents->at(0).value) << "the signature of the shape leaves the batch open";
  std::vector<Tensor> got = evaluated(bytes, {Tensor::of<float>({2, 2}, {-1, 2, 3, -4})});
  EXPECT_THAT(numbers(got.at(0)), ElementsAre(0, 2, 3, 0));
}

// ---- Detection ----------------------------------------------------------------------------------------------------

std::string detection(bool regular) {
  flexbuffers::Builder options;
  options.Map([&] {
    options.Int("max_detections", 3);
    options.Int("max_classes_per_detection", 1);
    options.Int("detections_per_class", 2);
    options.Int("num_classes", 2);
    options.Bool("use_regular_nms", regular);
    options.Float("nms_score_threshold", 0.3f);
    options.Float("nms_iou_threshold", 0.5f);
    for (const char *scale : {"y_scale", "x_scale"})
      options.Float(scale, 10.0f);
    for (const char *scale : {"h_scale", "w_scale"})
      options.Float(scale, 5.0f);
  });
  options.Finish();
  TestFile f;
  int boxes = f.input("boxes", {1, 4, 4}), scores = f.input("scores", {1, 4, 3});
  // Centre y and x, height and width: two overlapping boxes, and two separate ones.
  int anchors = f.constant<float>({4, 4}, {1, 1, 2, 2, 1, 1, 2, 2, 5, 5, 2, 2, 9, 9, 2, 2});
  std::vector<int> results;
  for (int i = 0; i < 4; ++i) {
    results.push_back(f.value({}));
    f.output(results.back());
  }
  f.op(CUSTOM, {boxes, scores, anchors}, results, BuiltinOptions::NONE, 0, "TFLite_Detection_PostProcess",
       options.GetBuffer());
  return f.bytes();
}

TEST(Detection, BestClassOfEveryBox) {
  Tensor boxes = Tensor::of<float>({1, 4, 4}, {0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 5, 0, 5 * std::log(2.0f), 0});
  // Background, then two classes. The second box overlaps the first one; the score of the third one is too low.
  Tensor scores = Tensor::of<float>({1, 4, 3}, {0, 0.6f, 0.1f, 0, 0.5f, 0.2f, 0, 0.2f, 0.1f, 0, 0.1f, 0.9f});
  std::vector<Tensor> got = evaluated(detection(false), {boxes, scores});
  EXPECT_THAT(numbers(got.at(0)),
              testing::Pointwise(testing::FloatNear(1e-5f), std::vector<double>{8, 8, 12, 10, 0, 0, 2, 2, 0, 0, 0, 0}));
  EXPECT_THAT(numbers(got.at(1)), ElementsAre(1, 0, 0));
  EXPECT_THAT(numbers(got.at(2)), testing::Pointwise(testing::FloatNear(1e-6f), std::vector<double>{0.9, 0.6, 0}));
  EXPECT_THAT(numbers(got.at(3)), ElementsAre(2));
}

TEST(Detection, ClassByClass) {
  Tensor boxes = Tensor::of<float>({1, 4, 4}, std::vector<float>(16));
  // The first two boxes both count, for different classes; a score equal to the threshold counts, too.
  Tensor scores = Tensor::of<float>({1, 4, 3}, {0, 0.6f, 0.1f, 0, 0.5f, 0.8f, 0, 0.3f, 0.1f, 0, 0.1f, 0.2f});
  std::vector<Tensor> got = evaluated(detection(true), {boxes, scores});
  EXPECT_THAT(numbers(got.at(1)), ElementsAre(1, 0, 0));
  EXPECT_THAT(numbers(got.at(2)), testing::Pointwise(testing::FloatNear(1e-6f), std::vector<double>{0.8, 0.6, 0.3f}));
  EXPECT_THAT(numbers(got.at(0)), ElementsAre(0, 0, 2, 2, 0, 0, 2, 2, 4, 4, 6, 6));
  EXPECT_THAT(numbers(got.at(3)), ElementsAre(3));
}

TEST(Detection, MalformedOptionsAreAnError) {
  std::string bytes = detection(false);
  size_t at = bytes.find("max_detections");
  ASSERT_NE(at, std::string::npos);
  bytes[at] = 'n'; // damages the limit's name
  EXPECT_THAT(importError(bytes), HasSubstr("has an option with value 0, expected a positive number"));
}

TEST(Detection, NonMaxSuppressionFillsWithZeros) {
  TestFile f;
  int boxes = f.input("boxes", {3, 4}), scores = f.input("scores", {3});
  int limit = f.constant<int32_t>({}, {3}), overlap = f.constant<float>({}, {0.5f}),
      score = f.constant<float>({}, {0.1f});
  int indices = f.value({3}, Type::INT32), count = f.value({}, Type::INT32);
  f.op(NON_MAX_SUPPRESSION_V4, {boxes, scores, limit, overlap, score}, {indices, count});
  f.output(indices), f.output(count);
  std::vector<Tensor> got = evaluated(f.bytes(), {Tensor::of<float>({3, 4}, {0, 0, 1, 1, 0, 0, 1, 1.1f, 2, 2, 3, 3}),
                                                  Tensor::of<float>({3}, {0.5f, 0.9f, 0.7f})});
  EXPECT_THAT(numbers(got.at(0)), ElementsAre(1, 2, 0));
  EXPECT_EQ(got.at(1).asInteger(0), 2);
}

TEST(Signatures, ChooseTheSubgraph) {
  TestFile f;
  int x = f.input("a", {2}), y = f.value({2});
  f.op(NEG, {x}, {y});
  f.output(y);
  int second = f.subgraph(), u = f.input("b", {2}), v = f.value({2});
  f.op(ABS, {u}, {v});
  f.output(v);
  f.back();
  f.signature("negate", {{"number", x}}, {{"negative", y}});
  f.signature("magnitude", {{"number", u}}, {{"size", v}}, static_cast<uint32_t>(second));
  std::string bytes = f.bytes();
  Tensor given = Tensor::of<float>({2}, {1, -2});
  EXPECT_THAT(numbers(evaluated(bytes, {given}).at(0)), testing::ElementsAre(-1, 2));
  ImportOptions options;
  options.signature = "magnitude";
  EXPECT_THAT(numbers(evaluated(bytes, {given}, options).at(0)), testing::ElementsAre(1, 2));
  ModelRecord record = readModel(bytes, "m.tflite", ".", options);
  EXPECT_EQ(record.graph.outputs.at(0).name, "size");
  EXPECT_EQ(record.producer, "signatures: negate magnitude");
  options.signature = "other";
  EXPECT_THAT(importError(bytes, options),
              testing::HasSubstr("m.tflite: has no signature 'other', expected one of: 'negate', 'magnitude'"));
}

} // namespace
} // namespace lathe::tflite
