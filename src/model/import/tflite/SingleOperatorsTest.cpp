// One model for each operator that other tests do not have in a form that TensorFlow Lite runs, with results computed
// by hand from TensorFlow's definitions. tests/tflite_peer_test.py compares all of these models with TensorFlow Lite.
#include "import/tflite/FileTesting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

namespace lathe::tflite {
namespace {

using enum BuiltinOperator;
using Type = file::TensorType;
using Ints = TestFile::Ints;
using Numbers = std::vector<double>;
using Builder = flatbuffers::FlatBufferBuilder;

/// An operand: an input of the model, a constant, or a variable.
struct Operand {
  enum { input, constant, variable, absent } kind = input;
  Ints dims;
  Numbers values;
  Type type = Type::FLOAT32;
};
Operand x(Numbers values, Ints dims = {}) {
  if (dims.empty())
    dims = {static_cast<int32_t>(values.size())};
  return {Operand::input, dims, values};
}
Operand of(Type type, Operand operand) {
  operand.type = type;
  return operand;
}
Operand known(Operand operand) {
  operand.kind = Operand::constant;
  return operand;
}
Operand scalar(double value, Type type = Type::FLOAT32) { return {Operand::constant, {}, {value}, type}; }
Operand whole(Numbers values, Ints dims = {}) { return of(Type::INT32, x(values, dims)); }
Operand knownInts(Numbers values, Ints dims = {}) { return known(whole(values, dims)); }
Operand flags(Numbers values, Ints dims = {}) { return of(Type::BOOL, x(values, dims)); }
Operand state(Ints dims) { return {Operand::variable, dims, {}}; }
const Operand none{Operand::absent, {}, {}};

struct Single {
  BuiltinOperator code;
  std::vector<Operand> operands;
  Numbers wanted; // elements of the first result, row-major
  Type result = Type::FLOAT32;
  BuiltinOptions kind = BuiltinOptions::NONE;
  std::function<flatbuffers::Offset<void>(Builder &)> options = nullptr;
  std::vector<Type> others = {}; // further results
  Ints dims = {};                // of every result; empty: a vector
};

auto reducer = [](Builder &b) { return file::CreateReducerOptions(b, false).Union(); };
const Operand grid = x({1, 2, 3, 4, 5, 6}, {2, 3}), rows = x({1, 2, 3, 4, 5, 6}, {3, 2});
const Operand last = scalar(1, Type::INT32), identity = known(x({1, 0, 0, 1}, {2, 2}));
const Operand half = known(x({0.5, 0, 0, 0.5}, {2, 2})), zeros = known(x({0, 0})), one = known(x({1}, {1, 1}));
const Operand nothing = known(x({0}, {1, 1})), noBias = known(x({0}));
const Operand segments = whole({1, 0, 1}), two = scalar(2, Type::INT32);

/// The 48 operands of a bidirectional LSTM with one unit whose gates are half open: only the cell reads the input.
std::vector<Operand> bothWays() {
  std::vector<Operand> operands(48, none);
  operands[0] = x({1}, {1, 1, 1});
  for (size_t first : {1, 18}) { // first operand of each direction
    for (size_t gate = 0; gate < 8; ++gate)
      operands[first + gate] = gate == 2 ? one : nothing;
    for (size_t gate = 0; gate < 4; ++gate)
      operands[first + 11 + gate] = noBias;
  }
  for (size_t i = 35; i < 39; ++i)
    operands[i] = state({1, 1});
  return operands;
}

/// The 20 operands of an LSTM with one unit whose gates are half open.
std::vector<Operand> oneWay() {
  std::vector<Operand> operands = bothWays();
  operands.resize(20, none);
  operands[0] = x({1}, {1, 1});
  operands[18] = operands[19] = state({1, 1});
  return operands;
}

const Single singles[] = {
    {EXP, {x({0, 1})}, {1, std::exp(1.0)}},
    {SPLIT,
     {scalar(1, Type::INT32), x({0, 1, 2, 3}, {1, 4})},
     {0, 1},
     Type::FLOAT32,
     BuiltinOptions::Split,
     [](Builder &b) { return file::CreateSplitOptions(b, 2).Union(); },
     {Type::FLOAT32},
     {1, 2}},
    {SEGMENT_SUM, {rows, knownInts({0, 0, 1})}, {4, 6, 5, 6}},
    {RNN,
     {x({1, -1}, {1, 2}), identity, half, zeros, state({1, 2})},
     {1, 0},
     Type::FLOAT32,
     BuiltinOptions::RNN,
     [](Builder &b) { return file::CreateRnnOptions(b, Activation::RELU).Union(); },
     {},
     {1, 2}},
    {SVDF,
     {x({1, 2}, {1, 2}), known(x({3, 4}, {1, 2})), known(x({5, 6}, {1, 2})), known(x({0.5})), state({1, 2})},
     {66.5},
     Type::FLOAT32,
     BuiltinOptions::SVDF,
     [](Builder &b) { return file::CreateSvdfOptions(b, 1).Union(); },
     {},
     {1, 1}},
    {LSTM,
     oneWay(),
     {0.5 * std::tanh(0.5 * std::tanh(1.0))},
     Type::FLOAT32,
     BuiltinOptions::LSTM,
     [](Builder &b) { return file::CreateLstmOptions(b, Activation::TANH).Union(); },
     {},
     {1, 1}},
    {FLOOR, {x({1.5, -1.5, 2})}, {1, -2, 2}},
    {CEIL, {x({1.5, -1.5, 2})}, {2, -1, 2}},
    {NEG, {x({1, -2})}, {-1, 2}},
    {SIN, {x({0, 1})}, {0, std::sin(1.0)}},
    {COS, {x({0, 1})}, {1, std::cos(1.0)}},
    {LOG, {x({1, 2})}, {0, std::log(2.0)}},
    {SQRT, {x({4, 2})}, {2, std::sqrt(2.0)}},
    {SQUARE, {x({-3, 1.5})}, {9, 2.25}},
    {SIGN, {x({-3, 0, 2})}, {-1, 0, 1}},
    {RELU_0_TO_1, {x({-1, 0.5, 2})}, {0, 0.5, 1}},
    {LOG_SOFTMAX, {x({0, std::log(3.0)}, {1, 2})}, {std::log(0.25), std::log(0.75)}},
    {ZEROS_LIKE, {x({3, 4})}, {0, 0}},
    {DIV, {x({6, -3}), x({3, 2})}, {2, -1.5}},
    {MAXIMUM, {x({6, -3}), x({3, 2})}, {6, 2}},
    {MINIMUM, {x({6, -3}), x({3, 2})}, {3, -3}},
    {POW, {x({2, 3}), x({3, 2})}, {8, 9}},
    {LESS_EQUAL, {x({1, 2, 3}), x({2, 2, 2})}, {1, 1, 0}, Type::BOOL},
    {EQUAL, {x({1, 2, 3}), x({2, 2, 2})}, {0, 1, 0}, Type::BOOL},
    {LOGICAL_OR, {flags({1, 1, 0, 0}), flags({1, 0, 1, 0})}, {1, 1, 1, 0}, Type::BOOL},
    {LOGICAL_AND, {flags({1, 1, 0, 0}), flags({1, 0, 1, 0})}, {1, 0, 0, 0}, Type::BOOL},
    {LOGICAL_NOT, {flags({1, 0})}, {0, 1}, Type::BOOL},
    {BITWISE_XOR, {whole({6, 5}), whole({3, 5})}, {5, 0}, Type::INT32},
    {CAST,
     {x({1.7, -1.7})},
     {1, -1},
     Type::INT32,
     BuiltinOptions::Cast,
     [](Builder &b) { return file::CreateCastOptions(b, Type::FLOAT32, Type::INT32).Union(); }},
    {ARG_MIN,
     {x({3, 1, 2, 9, 8, 0}, {2, 3}), last},
     {1, 2},
     Type::INT32,
     BuiltinOptions::ArgMin,
     [](Builder &b) { return file::CreateArgOptions(b, Type::INT32).Union(); }},
    {REDUCE_PROD, {grid, knownInts({1})}, {6, 120}, Type::FLOAT32, BuiltinOptions::Reducer, reducer},
    {REDUCE_MAX, {grid, knownInts({1})}, {3, 6}, Type::FLOAT32, BuiltinOptions::Reducer, reducer},
    {REDUCE_MIN, {grid, knownInts({1})}, {1, 4}, Type::FLOAT32, BuiltinOptions::Reducer, reducer},
    {REDUCE_ANY, {flags({1, 0, 0, 0}, {2, 2}), knownInts({1})}, {1, 0}, Type::BOOL, BuiltinOptions::Reducer, reducer},
    {REDUCE_ALL, {flags({1, 1, 1, 0}, {2, 2}), knownInts({1})}, {1, 0}, Type::BOOL, BuiltinOptions::Reducer, reducer},
    {PACK,
     {x({1, 2}), x({3, 4})},
     {1, 3, 2, 4},
     Type::FLOAT32,
     BuiltinOptions::Pack,
     [](Builder &b) { return file::CreatePackOptions(b, 2, 1).Union(); }},
    {SQUEEZE,
     {x({1, 2}, {1, 2, 1})},
     {1, 2},
     Type::FLOAT32,
     BuiltinOptions::Squeeze,
     [](Builder &b) { return file::CreateSqueezeOptions(b, b.CreateVector(Ints{0})).Union(); }},
    {TILE, {x({1, 2}, {1, 2}), knownInts({2, 2})}, {1, 2, 1, 2, 1, 2, 1, 2}},
    {SHAPE,
     {grid},
     {2, 3},
     Type::INT32,
     BuiltinOptions::Shape,
     [](Builder &b) { return file::CreateShapeOptions(b, Type::INT32).Union(); }},
    {RANK, {grid}, {2}, Type::INT32},
    {FILL, {knownInts({2, 2}), {Operand::input, {}, {7}}}, {7, 7, 7, 7}},
    {RANGE, {scalar(1, Type::INT32), scalar(7, Type::INT32), scalar(2, Type::INT32)}, {1, 3, 5}, Type::INT32},
    {UNIQUE,
     {whole({3, 1, 3, 2})},
     {3, 1, 2},
     Type::INT32,
     BuiltinOptions::Unique,
     [](Builder &b) { return file::CreateUniqueOptions(b, Type::INT32).Union(); },
     {Type::INT32}},
    {ADD_N, {x({1, 2}), x({3, 4}), x({5, 6})}, {9, 12}},
    {GATHER_ND, {x({1, 2, 3, 4}, {2, 2}), knownInts({0, 1, 1, 0}, {2, 2})}, {2, 3}},
    {WHERE, {flags({1, 0, 1, 1})}, {0, 2, 3}, Type::INT64},
    {REVERSE_SEQUENCE,
     {grid, knownInts({2, 3})},
     {2, 1, 3, 6, 5, 4},
     Type::FLOAT32,
     BuiltinOptions::ReverseSequence,
     [](Builder &b) { return file::CreateReverseSequenceOptions(b, 1, 0).Union(); }},
    {NON_MAX_SUPPRESSION_V5,
     {x({0, 0, 1, 1, 0, 0, 1, 1.1, 2, 2, 3, 3}, {3, 4}), x({0.5, 0.9, 0.7}), scalar(3, Type::INT32), scalar(0.5),
      scalar(0.1), scalar(0)},
     {1, 2, 0},
     Type::INT32,
     BuiltinOptions::NONE,
     nullptr,
     {Type::FLOAT32, Type::INT32}},
    {BROADCAST_TO, {x({1, 2}, {1, 2}), knownInts({2, 2})}, {1, 2, 1, 2}},
    {BROADCAST_ARGS, {knownInts({1, 3}), knownInts({2, 1})}, {2, 3}, Type::INT32},
    {CONV_3D,
     {x({1, 2, 3, 4, 5, 6, 7, 8}, {1, 2, 2, 2, 1}), known(x({2, 3}, {1, 1, 1, 1, 2}))},
     {2, 3, 4, 6, 6, 9, 8, 12, 10, 15, 12, 18, 14, 21, 16, 24},
     Type::FLOAT32,
     BuiltinOptions::Conv3D,
     [](Builder &b) { return file::CreateConv3DOptions(b, file::Padding::VALID, 1, 1, 1).Union(); }},
    {UNSORTED_SEGMENT_PROD, {rows, segments, two}, {3, 4, 5, 12}},
    {UNSORTED_SEGMENT_MAX, {rows, segments, two}, {3, 4, 5, 6}},
    {UNSORTED_SEGMENT_MIN, {rows, segments, two}, {3, 4, 1, 2}},
    {SPARSE_TO_DENSE, {knownInts({1, 3}), knownInts({4}), x({5, 6}), scalar(0)}, {0, 5, 0, 6}},
    {EMBEDDING_LOOKUP, {whole({1, 0}), known(x({1, 2, 3, 4}, {2, 2}))}, {3, 4, 1, 2}},
    {UNIDIRECTIONAL_SEQUENCE_RNN,
     {x({1, -1, 2, 3}, {1, 2, 2}), identity, half, zeros, state({1, 2})},
     {1, 0, 2.5, 3},
     Type::FLOAT32,
     BuiltinOptions::SequenceRNN,
     [](Builder &b) { return file::CreateSequenceRnnOptions(b, false, Activation::RELU).Union(); }},
    {BIDIRECTIONAL_SEQUENCE_RNN,
     {x({1, -1, 2, 3}, {1, 2, 2}), identity, half, zeros, state({1, 2}), identity, half, zeros, state({1, 2}), none,
      none, none},
     {1, 0, 2.5, 3},
     Type::FLOAT32,
     BuiltinOptions::BidirectionalSequenceRNN,
     [](Builder &b) { return file::CreateBidirectionalRnnOptions(b, false, Activation::RELU, false).Union(); },
     {Type::FLOAT32}},
    {BIDIRECTIONAL_SEQUENCE_LSTM,
     bothWays(),
     {0.5 * std::tanh(0.5 * std::tanh(1.0))},
     Type::FLOAT32,
     BuiltinOptions::BidirectionalSequenceLSTM,
     [](Builder &b) { return file::CreateBidirectionalLstmOptions(b, Activation::TANH, 0, 0, false, true).Union(); },
     {Type::FLOAT32}},
    {STABLEHLO_ABS, {x({1, -2})}, {1, 2}},
    {STABLEHLO_COSINE, {x({0, 1})}, {1, std::cos(1.0)}},
    {STABLEHLO_EXPONENTIAL, {x({0, 1})}, {1, std::exp(1.0)}},
    {STABLEHLO_FLOOR, {x({1.5, -1.5})}, {1, -2}},
    {STABLEHLO_LOG, {x({1, 2})}, {0, std::log(2.0)}},
    {STABLEHLO_LOGISTIC, {x({0, std::log(3.0)})}, {0.5, 0.75}},
    {STABLEHLO_NEGATE, {x({1, -2})}, {-1, 2}},
    {STABLEHLO_TANH, {x({0, 1})}, {0, std::tanh(1.0)}},
    {STABLEHLO_RSQRT, {x({4, 16})}, {0.5, 0.25}},
    {STABLEHLO_ADD, {x({6, -3}), x({3, 2})}, {9, -1}},
    {STABLEHLO_DIVIDE, {x({6, -3}), x({3, 2})}, {2, -1.5}},
    {STABLEHLO_MAXIMUM, {x({6, -3}), x({3, 2})}, {6, 2}},
    {STABLEHLO_MINIMUM, {x({6, -3}), x({3, 2})}, {3, -3}},
    {STABLEHLO_MULTIPLY, {x({6, -3}), x({3, 2})}, {18, -6}},
    {STABLEHLO_POWER, {x({2, 3}), x({3, 2})}, {8, 9}},
    {STABLEHLO_SUBTRACT, {x({6, -3}), x({3, 2})}, {3, -5}},
    {STABLEHLO_RESHAPE, {x({1, 2}, {1, 2})}, {1, 2}},
    {STABLEHLO_CLAMP, {known(x({0, 0})), x({-1, 5}), known(x({3, 3}))}, {0, 3}},
    {STABLEHLO_SELECT, {flags({1, 0}), x({1, 2}), x({3, 4})}, {1, 4}},
    {STABLEHLO_CONVERT, {x({1.7, -1.7})}, {1, -1}, Type::INT32},
};

template <class T> std::vector<T> as(const Numbers &numbers) { return {numbers.begin(), numbers.end()}; }

/// Adds an operand to the file; appends the value of an input or a variable to `given`.
int add(TestFile &f, const Operand &operand, size_t number, std::vector<Tensor> &given) {
  std::vector<int64_t> dims(operand.dims.begin(), operand.dims.end());
  std::string name = fmt::format("x{}", number);
  switch (operand.kind) {
  case Operand::absent:
    return -1;
  case Operand::constant:
    return operand.type == Type::INT32 ? f.constant<int32_t>(operand.dims, as<int32_t>(operand.values))
                                       : f.constant<float>(operand.dims, as<float>(operand.values));
  case Operand::variable:
    given.emplace_back(ElementType::f32, dims);
    std::fill_n(given.back().as<float>(), given.back().elements(), 0.0f);
    return f.variable(name, operand.dims);
  case Operand::input:
    break;
  }
  if (operand.type == Type::INT32) {
    given.push_back(Tensor::of<int32_t>(dims, as<int32_t>(operand.values)));
  } else if (operand.type == Type::BOOL) {
    given.emplace_back(ElementType::boolean, dims);
    std::copy(operand.values.begin(), operand.values.end(), given.back().as<bool>());
  } else {
    given.push_back(Tensor::of<float>(dims, as<float>(operand.values)));
  }
  return f.input(name, operand.dims, operand.type);
}

std::string nameOf(BuiltinOperator code) { return file::EnumNameBuiltinOperator(code); }

class SingleOperators : public testing::TestWithParam<Single> {};

TEST_P(SingleOperators, AsDefined) {
  const Single &single = GetParam();
  TestFile f;
  std::vector<Tensor> given;
  Ints ins, outs;
  for (const Operand &operand : single.operands)
    ins.push_back(add(f, operand, ins.size(), given));
  Ints dims = single.dims.empty() ? Ints{static_cast<int32_t>(single.wanted.size())} : single.dims;
  outs.push_back(f.value(dims, single.result, "y"));
  for (Type type : single.others)
    outs.push_back(f.value(single.dims, type, fmt::format("y{}", outs.size())));
  f.op(single.code, ins, outs, single.kind, single.options ? single.options(f.builder) : 0);
  for (int out : outs)
    f.output(out);
  std::vector<Tensor> got = evaluated(f.bytes(), given);
  EXPECT_THAT(numbers(got.at(0)), testing::Pointwise(testing::DoubleNear(1e-6), single.wanted));
}

INSTANTIATE_TEST_SUITE_P(Cases, SingleOperators, testing::ValuesIn(singles),
                         [](auto &info) { return nameOf(info.param.code); });

} // namespace
} // namespace lathe::tflite
