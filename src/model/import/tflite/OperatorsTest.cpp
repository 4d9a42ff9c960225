// Single operators on small tensors, with results computed by hand from TensorFlow's definitions.
#include "import/tflite/FileTesting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <numbers>
#include <sstream>

namespace lathe::tflite {
namespace {

using enum BuiltinOperator;
using testing::DoubleNear;
using testing::HasSubstr;
using testing::Pointwise;
using Ints = TestFile::Ints;
using Numbers = std::vector<double>;
constexpr double inf = std::numeric_limits<double>::infinity();

/// One operator: its first operand is the input, the others are constants that `more` makes.
struct Case {
  const char *name;
  BuiltinOperator code;
  Ints dims;      // extents of the input
  Numbers x;      // elements of the input
  Numbers wanted; // elements of the first result, row-major
  std::function<Ints(TestFile &)> more = nullptr;
  BuiltinOptions kind = BuiltinOptions::NONE;
  std::function<flatbuffers::Offset<void>(flatbuffers::FlatBufferBuilder &)> options = nullptr;
  file::TensorType result = file::TensorType::FLOAT32;
  size_t results = 1;
  size_t look = 0;        // result that is compared
  bool inputLast = false; // the input comes after the constants
};

using Builder = flatbuffers::FlatBufferBuilder;
auto ints(Ints dims, std::vector<int32_t> values) {
  return [=](TestFile &f) { return Ints{f.constant<int32_t>(dims, values)}; };
}
auto floats(Ints dims, std::vector<float> values) {
  return [=](TestFile &f) { return Ints{f.constant<float>(dims, values)}; };
}
auto intLists(std::vector<std::vector<int32_t>> lists) {
  return [=](TestFile &f) {
    Ints result;
    for (const auto &list : lists)
      result.push_back(f.constant<int32_t>({static_cast<int32_t>(list.size())}, list));
    return result;
  };
}

Numbers count(int n) {
  Numbers values;
  for (int i = 0; i < n; ++i)
    values.push_back(i);
  return values;
}

auto stridedSlice(int begin, int end, int ellipsis, int newAxis, int shrink) {
  return [=](Builder &b) { return file::CreateStridedSliceOptions(b, begin, end, ellipsis, newAxis, shrink).Union(); };
}
auto reducer(bool keep) {
  return [=](Builder &b) { return file::CreateReducerOptions(b, keep).Union(); };
}

const Case cases[] = {
    {"floor mod takes the divisor's sign",
     FLOOR_MOD,
     {4},
     {5, -5, 5.5, -6},
     {2, 1, -0.5, 0},
     floats({4}, {3, 3, -3, 3})},
    {"floor div rounds down", FLOOR_DIV, {4}, {5, -5, 5.5, -6}, {1, -2, -2, -2}, floats({4}, {3, 3, -3, 3})},
    {"squared difference", SQUARED_DIFFERENCE, {2}, {5, -1}, {9, 9}, floats({1}, {2})},
    {"reciprocal root", RSQRT, {2}, {4, 16}, {0.5, 0.25}},
    {"clamped at 6", RELU6, {3}, {-1, 3, 9}, {0, 3, 6}},
    {"clamped at both ones", RELU_N1_TO_1, {3}, {-2, 0.5, 9}, {-1, 0.5, 1}},
    {"ties to even", ROUND, {4}, {0.5, 1.5, -2.5, 2.6}, {0, 2, -2, 3}},
    {"leaky",
     LEAKY_RELU,
     {2},
     {-4, 4},
     {-1, 4},
     nullptr,
     BuiltinOptions::LeakyRelu,
     [](Builder &b) { return file::CreateLeakyReluOptions(b, 0.25f).Union(); }},
    {"slope a channel", PRELU, {1, 1, 2, 2}, {-4, -4, 4, -2}, {-2, -1, 4, -0.5}, floats({2}, {0.5f, 0.25f})},
    {"sum with activation",
     ADD,
     {3},
     {-9, 1, 2},
     {0, 4, 5},
     floats({}, {3}),
     BuiltinOptions::Add,
     [](Builder &b) { return file::CreateSumOptions(b, Activation::RELU).Union(); }},
    {"beta of softmax",
     SOFTMAX,
     {1, 2},
     {0, std::log(3.0) / 2},
     {0.25, 0.75},
     nullptr,
     BuiltinOptions::Softmax,
     [](Builder &b) { return file::CreateSoftmaxOptions(b, 2.0f).Union(); }},
    {"norm of rows", L2_NORMALIZATION, {2, 2}, {3, 4, 0, 0}, {0.6, 0.8, 0, 0}},
    {"response of neighbours",
     LOCAL_RESPONSE_NORMALIZATION,
     {1, 1, 1, 3},
     {1, 2, 3},
     {1 / 6.0, 2 / 15.0, 3 / 14.0},
     nullptr,
     BuiltinOptions::LocalResponseNormalization,
     [](Builder &b) { return file::CreateLocalResponseNormalizationOptions(b, 1, 1.0f, 1.0f, 1.0f).Union(); }},
    {"mean over the image",
     MEAN,
     {1, 2, 2, 2},
     count(8),
     {3, 4},
     ints({2}, {1, 2}),
     BuiltinOptions::Reducer,
     reducer(false)},
    {"sum of all from the end",
     SUM,
     {2, 3},
     count(6),
     {3, 12},
     ints({1}, {-1}),
     BuiltinOptions::Reducer,
     reducer(true)},
    {"position of the largest",
     ARG_MAX,
     {2, 3},
     {1, 7, 7, 9, 0, 3},
     {1, 0},
     ints({}, {1}),
     BuiltinOptions::ArgMax,
     [](Builder &b) { return file::CreateArgOptions(b, file::TensorType::INT32).Union(); },
     file::TensorType::INT32},
    {"running sum without the element, from the end",
     CUMSUM,
     {3},
     {1, 2, 3},
     {5, 3, 0},
     ints({}, {0}),
     BuiltinOptions::Cumsum,
     [](Builder &b) { return file::CreateCumsumOptions(b, true, true).Union(); }},
    {"reshape with an open extent", RESHAPE, {2, 3}, count(6), count(6), ints({2}, {-1, 2})},
    {"slice to the end", SLICE, {2, 3}, count(6), {4, 5}, intLists({{1, 1}, {1, -1}})},
    {"backwards",
     STRIDED_SLICE,
     {5},
     count(5),
     {4, 2},
     intLists({{-1}, {0}, {-2}}),
     BuiltinOptions::StridedSlice,
     stridedSlice(0, 0, 0, 0, 0)},
    {"ellipsis, new and dropped axis",
     STRIDED_SLICE,
     {2, 2, 3},
     count(12),
     {1, 4, 7, 10},
     intLists({{0, 0, 1}, {0, 0, 2}, {1, 1, 1}}),
     BuiltinOptions::StridedSlice,
     stridedSlice(0, 0, 1, 2, 4)},
    {"masks keep both ends",
     STRIDED_SLICE,
     {2, 3},
     count(6),
     {1, 2, 4, 5},
     intLists({{1, 1}, {1, 1}, {1, 1}}),
     BuiltinOptions::StridedSlice,
     stridedSlice(1, 3, 0, 0, 0)},
    {"reversed axis", REVERSE_V2, {2, 3}, count(6), {2, 1, 0, 5, 4, 3}, ints({1}, {1})},
    {"transposed", TRANSPOSE, {2, 3}, count(6), {0, 3, 1, 4, 2, 5}, ints({2}, {1, 0})},
    {"unpacked",
     UNPACK,
     {2, 2},
     count(4),
     {1, 3},
     nullptr,
     BuiltinOptions::Unpack,
     [](Builder &b) { return file::CreateUnpackOptions(b, 2, 1).Union(); },
     file::TensorType::FLOAT32,
     2,
     1},
    {"split in parts, one of the rest",
     SPLIT_V,
     {5},
     count(5),
     {1, 2, 3},
     intLists({{1, -1, 1}, {0}}),
     BuiltinOptions::SplitV,
     [](Builder &b) { return file::CreateSplitOptions(b, 3).Union(); },
     file::TensorType::FLOAT32,
     3,
     1},
    {"split evenly, the axis first",
     SPLIT,
     {1, 4},
     count(4),
     {2, 3},
     ints({}, {1}),
     BuiltinOptions::Split,
     [](Builder &b) { return file::CreateSplitOptions(b, 2).Union(); },
     file::TensorType::FLOAT32,
     2,
     1,
     true},
    {"padded",
     PADV2,
     {1, 2},
     {1, 2},
     {9, 9, 9, 9, 1, 2},
     [](TestFile &f) { return Ints{f.constant<int32_t>({2, 2}, {1, 0, 1, 0}), f.constant<float>({1}, {9})}; }},
    {"reflected with the edge",
     MIRROR_PAD,
     {3},
     {1, 2, 3},
     {2, 1, 1, 2, 3, 3},
     ints({1, 2}, {2, 1}),
     BuiltinOptions::MirrorPad,
     [](Builder &b) { return file::CreateMirrorPadOptions(b, file::MirrorMode::SYMMETRIC).Union(); }},
    {"reflected without the edge",
     MIRROR_PAD,
     {3},
     {1, 2, 3},
     {3, 2, 1, 2, 3, 2},
     ints({1, 2}, {2, 1}),
     BuiltinOptions::MirrorPad,
     [](Builder &b) { return file::CreateMirrorPadOptions(b).Union(); }},
    {"blocks to channels",
     SPACE_TO_DEPTH,
     {1, 2, 2, 2},
     count(8),
     count(8),
     nullptr,
     BuiltinOptions::SpaceToDepth,
     [](Builder &b) { return file::CreateBlockOptions(b, 2).Union(); }},
    {"channels to blocks",
     DEPTH_TO_SPACE,
     {1, 1, 2, 4},
     count(8),
     {0, 1, 4, 5, 2, 3, 6, 7},
     nullptr,
     BuiltinOptions::DepthToSpace,
     [](Builder &b) { return file::CreateBlockOptions(b, 2).Union(); }},
    {"blocks to the batch",
     SPACE_TO_BATCH_ND,
     {1, 2, 3, 1},
     count(6),
     {0, 2, 1, 0, 3, 5, 4, 0},
     [](TestFile &f) { return Ints{f.constant<int32_t>({2}, {2, 2}), f.constant<int32_t>({2, 2}, {0, 0, 0, 1})}; }},
    {"the batch to blocks",
     BATCH_TO_SPACE_ND,
     {4, 1, 2, 1},
     {0, 2, 1, 0, 3, 5, 4, 0},
     count(6),
     [](TestFile &f) { return Ints{f.constant<int32_t>({2}, {2, 2}), f.constant<int32_t>({2, 2}, {0, 0, 0, 1})}; }},
    {"gathered within the batch",
     GATHER,
     {2, 3},
     count(6),
     {2, 0, 4, 4},
     ints({2, 2}, {2, 0, 1, 1}),
     BuiltinOptions::Gather,
     [](Builder &b) { return file::CreateGatherOptions(b, 1, 1).Union(); }},
    {"gathered behind another axis",
     GATHER,
     {2, 2, 2},
     count(8),
     {1, 3, 4, 6},
     ints({2, 1}, {1, 0}),
     BuiltinOptions::Gather,
     [](Builder &b) { return file::CreateGatherOptions(b, 2, 1).Union(); }},
    {"largest two",
     TOPK_V2,
     {4},
     {3, 9, 1, 7},
     {1, 3},
     ints({}, {2}),
     BuiltinOptions::TopKV2,
     nullptr,
     file::TensorType::INT32,
     2,
     1},
    {"updated where it still fits",
     DYNAMIC_UPDATE_SLICE,
     {2, 3},
     count(6),
     {0, 1, 2, 3, 8, 9},
     [](TestFile &f) { return Ints{f.constant<float>({1, 2}, {8, 9}), f.constant<int32_t>({2}, {1, 5})}; }},
    {"rows by segment, one dropped",
     UNSORTED_SEGMENT_SUM,
     {3, 2},
     count(6),
     {0, 0, 4, 6, 0, 0},
     [](TestFile &f) { return Ints{f.constant<int32_t>({3}, {1, -1, 1}), f.constant<int32_t>({}, {3})}; },
     BuiltinOptions::UnsortedSegmentSum},
    {"buckets",
     BUCKETIZE,
     {4},
     {-1, 0, 5, 99},
     {0, 1, 1, 3},
     nullptr,
     BuiltinOptions::Bucketize,
     [](Builder &b) { return file::CreateBucketizeOptions(b, b.CreateVector<float>({0, 10, 20})).Union(); },
     file::TensorType::INT32},
    {"bilinear from corner to corner",
     RESIZE_BILINEAR,
     {1, 1, 2, 1},
     {0, 4},
     {0, 1, 2, 3, 4},
     ints({2}, {1, 5}),
     BuiltinOptions::ResizeBilinear,
     [](Builder &b) { return file::CreateResizeBilinearOptions(b, true).Union(); }},
    {"bilinear between pixel centres",
     RESIZE_BILINEAR,
     {1, 1, 2, 1},
     {0, 4},
     {0, 1, 3, 4},
     ints({2}, {1, 4}),
     BuiltinOptions::ResizeBilinear,
     [](Builder &b) { return file::CreateResizeBilinearOptions(b, false, true).Union(); }},
    {"nearest below",
     RESIZE_NEAREST_NEIGHBOR,
     {1, 1, 3, 1},
     {5, 6, 7},
     {5, 5, 6, 6, 7},
     ints({2}, {1, 5}),
     BuiltinOptions::ResizeNearestNeighbor},
    {"nearest corner to corner, halves up",
     RESIZE_NEAREST_NEIGHBOR,
     {1, 1, 3, 1},
     {5, 6, 7},
     {5, 6, 6, 7, 7},
     ints({2}, {1, 5}),
     BuiltinOptions::ResizeNearestNeighbor,
     [](Builder &b) { return file::CreateResizeNearestOptions(b, true).Union(); }},
    {"steps of a quantisation, zero among them",
     FAKE_QUANT,
     {4},
     {-9, -0.12, 0.3, 9},
     {-1, 0, 0.25, 2.75},
     nullptr,
     BuiltinOptions::FakeQuant,
     [](Builder &b) { return file::CreateFakeQuantOptions(b, -1.1f, 2.65f, 4).Union(); }},
    {"angles in all quadrants",
     ATAN2,
     {4},
     {1, 1, -1, 0},
     {std::numbers::pi / 4, 3 * std::numbers::pi / 4, -3 * std::numbers::pi / 4, 0},
     floats({4}, {1, -1, -1, 0})},
    {"diagonal", MATRIX_DIAG, {1, 2}, {3, 4}, {3, 0, 0, 4}},
    {"diagonal set", MATRIX_SET_DIAG, {3, 2}, count(6), {8, 1, 2, 9, 4, 5}, floats({2}, {8, 9})},
    {"rows of equal segments", SEGMENT_SUM, {3, 2}, count(6), {2, 4, 0, 0, 4, 5}, ints({3}, {0, 0, 2})},
    {"the scale is one of floats", EXPAND_DIMS, {2}, {1, inf}, {1, inf}, ints({}, {0})},
};

class Operators : public testing::TestWithParam<Case> {};

TEST_P(Operators, AsDefined) {
  const Case &c = GetParam();
  TestFile f;
  int x = f.input("x", c.dims);
  Ints operands{x}, results;
  if (c.more) {
    Ints others = c.more(f);
    operands.insert(c.inputLast ? operands.begin() : operands.end(), others.begin(), others.end());
  }
  for (size_t i = 0; i < c.results; ++i)
    results.push_back(f.value({}, c.code == TOPK_V2 && i == 0 ? file::TensorType::FLOAT32 : c.result));
  f.op(c.code, operands, results, c.options ? c.kind : BuiltinOptions::NONE,
       c.options ? c.options(f.builder) : flatbuffers::Offset<void>(0));
  f.output(results[c.look]);
  std::vector<float> input(c.x.begin(), c.x.end());
  std::vector<int64_t> dims(c.dims.begin(), c.dims.end());
  std::vector<Tensor> got = evaluated(f.bytes(), {Tensor::of<float>(dims, input)});
  EXPECT_THAT(numbers(got.at(0)), Pointwise(DoubleNear(1e-5), c.wanted));
}

INSTANTIATE_TEST_SUITE_P(Cases, Operators, testing::ValuesIn(cases), [](auto &info) {
  std::string name;
  for (char c : std::string(info.param.name))
    name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
});

TEST(OperatorsTest, OneHotAndScatter) {
  TestFile f;
  int indices = f.input("i", {3}, file::TensorType::INT32);
  int depth = f.constant<int32_t>({}, {3}), on = f.constant<float>({}, {5}), off = f.constant<float>({}, {-1});
  int hot = f.value({3, 3});
  f.op(ONE_HOT, {indices, depth, on, off}, {hot}, BuiltinOptions::OneHot,
       file::CreateOneHotOptions(f.builder, -1).Union());
  int column = f.value({3, 1}, file::TensorType::INT32), shape = f.constant<int32_t>({2}, {3, 1});
  f.op(RESHAPE, {indices, shape}, {column});
  int updates = f.constant<float>({3}, {1, 2, 4}), length = f.constant<int32_t>({1}, {4}), sums = f.value({4});
  f.op(SCATTER_ND, {column, updates, length}, {sums});
  f.output(hot), f.output(sums);
  std::vector<Tensor> got = evaluated(f.bytes(), {Tensor::of<int32_t>({3}, {2, 0, 2})});
  EXPECT_THAT(numbers(got.at(0)), testing::ElementsAre(-1, -1, 5, 5, -1, -1, -1, -1, 5));
  EXPECT_THAT(numbers(got.at(1)), testing::ElementsAre(2, 0, 5, 0)) << "updates at equal positions add up";
}

TEST(OperatorsTest, SelectTakesRowsOrElements) {
  TestFile f;
  int condition = f.input("c", {2}, file::TensorType::BOOL), a = f.constant<float>({2, 2}, {1, 2, 3, 4});
  int b = f.constant<float>({2, 2}, {5, 6, 7, 8}), rows = f.value({2, 2}), elements = f.value({2, 2});
  f.op(SELECT, {condition, a, b}, {rows});
  f.op(SELECT_V2, {condition, a, b}, {elements});
  f.output(rows), f.output(elements);
  Tensor given = Tensor::of<float>({2}, {1, 0}).convertedTo(ElementType::boolean);
  std::vector<Tensor> got = evaluated(f.bytes(), {given});
  EXPECT_THAT(numbers(got.at(0)), testing::ElementsAre(1, 2, 7, 8));
  EXPECT_THAT(numbers(got.at(1)), testing::ElementsAre(1, 6, 3, 8));
}

TEST(OperatorsTest, WhatIsNotSupportedIsCollected) {
  TestFile f;
  int x = f.input("x", {4}), y = f.value({4}, file::TensorType::FLOAT32, "spectrum"), z = f.value({4});
  f.op(RFFT2D, {x}, {y});
  f.op(CUSTOM, {x}, {z}, BuiltinOptions::NONE, 0, "FlexErf");
  f.output(y), f.output(z);
  EXPECT_THAT(importError(f.bytes()), testing::AllOf(HasSubstr("'spectrum' (RFFT2D, schema 3)"), HasSubstr("FlexErf"),
                                                     testing::Not(HasSubstr("\n"))));
}

TEST(OperatorsTest, CustomOperatorsAreLeftOut) {
  TestFile f;
  int x = f.input("x", {4}), a = f.value({4}, file::TensorType::FLOAT32, "before"),
      b = f.value({2}, file::TensorType::INT32, "own"), y = f.value({2}, file::TensorType::INT32, "y");
  f.op(ABS, {x}, {a});
  f.op(CUSTOM, {a}, {b}, BuiltinOptions::NONE, 0, "Mine");
  f.op(ABS, {b}, {y});
  f.output(y);
  auto context = makeContext();
  ImportOptions options;
  options.leaveOut = true;
  auto module = importModelOf(format(), *context, f.bytes(), "m.tflite", ".", options);
  std::string text;
  llvm::raw_string_ostream(text) << *module;
  EXPECT_THAT(text, testing::AllOf(HasSubstr("tensor<2xi32> {nn.name = \"own\"}"), HasSubstr("nn.name = \"before\""),
                                   HasSubstr("nn.left_behind = 0")));
}

TEST(OperatorsTest, TheSupportPageIsCurrent) {
  std::ifstream file(LATHE_SOURCE_DIR "/docs/generated/tflite.md");
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str(), supportPage()) << "ninja tflite-page writes docs/generated/tflite.md";
}

} // namespace
} // namespace lathe::tflite
