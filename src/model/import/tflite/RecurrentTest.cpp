// Compares recurrent layers with plain loops over the steps, and tests the variables that keep their states.
#include "import/tflite/FileTesting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace lathe::tflite {
namespace {

using enum BuiltinOperator;
using testing::FloatNear;
using testing::HasSubstr;
using testing::Pointwise;
using Row = std::vector<float>;

constexpr int batch = 2, steps = 3, inputs = 3, hidden = 2;

float sigmoid(float x) { return 1 / (1 + std::exp(-x)); }

std::vector<float> floats(const Tensor &tensor) {
  std::vector<float> values;
  for (double number : numbers(tensor))
    values.push_back(static_cast<float>(number));
  return values;
}

/// Weights of an LSTM; empty means absent.
struct Weights {
  Row input[4], recurrent[4], peephole[3], bias[4], projection;
  float cellClip = 0;
};

Weights weights(bool coupled, bool peephole) {
  Weights w;
  for (size_t gate = coupled ? 1 : 0; gate < 4; ++gate) {
    w.input[gate] = ramp(hidden * inputs, 0.03f + 0.01f * static_cast<float>(gate));
    w.recurrent[gate] = ramp(hidden * hidden, 0.05f - 0.01f * static_cast<float>(gate));
    w.bias[gate] = ramp(hidden, 0.02f * static_cast<float>(gate + 1));
  }
  for (size_t gate = coupled ? 1 : 0; gate < 3 && peephole; ++gate)
    w.peephole[gate] = ramp(hidden, 0.04f + 0.02f * static_cast<float>(gate));
  return w;
}

/// One step of one row: updates the hidden and the cell state.
void step(const Weights &w, const float *x, float *h, float *c) {
  float before[hidden], cells[hidden];
  std::copy(h, h + hidden, before);
  std::copy(c, c + hidden, cells);
  for (size_t u = 0; u < hidden; ++u) {
    auto gate = [&](size_t g, float cell) {
      float sum = w.bias[g].empty() ? 0 : w.bias[g][u];
      for (size_t i = 0; i < inputs; ++i)
        sum += w.input[g][u * inputs + i] * x[i];
      for (size_t i = 0; i < hidden; ++i)
        sum += w.recurrent[g][u * hidden + i] * before[i];
      size_t p = g == 3 ? 2 : g;
      return g != 2 && !w.peephole[p].empty() ? sum + w.peephole[p][u] * cell : sum;
    };
    float f = sigmoid(gate(1, cells[u])), i = w.input[0].empty() ? 1 - f : sigmoid(gate(0, cells[u]));
    c[u] = f * cells[u] + i * std::tanh(gate(2, 0));
    if (w.cellClip > 0)
      c[u] = std::clamp(c[u], -w.cellClip, w.cellClip);
    h[u] = sigmoid(gate(3, c[u])) * std::tanh(c[u]);
  }
}

/// The operands of an LSTM after x, from `w`, with variables for the states.
TestFile::Ints operands(TestFile &f, int x, const Weights &w, std::pair<int, int> states) {
  TestFile::Ints list{x};
  auto add = [&](const Row &values, TestFile::Ints dims) {
    list.push_back(values.empty() ? -1 : f.constant<float>(dims, values));
  };
  for (const Row &values : w.input)
    add(values, {hidden, inputs});
  for (const Row &values : w.recurrent)
    add(values, {hidden, hidden});
  for (const Row &values : w.peephole)
    add(values, {hidden});
  for (const Row &values : w.bias)
    add(values, {hidden});
  list.insert(list.end(), {-1, -1, states.first, states.second});
  return list;
}

struct LstmCase {
  const char *name;
  bool coupled, peephole, timeMajor;
  float clip;
};

class SequenceLstm : public testing::TestWithParam<LstmCase> {};

/// Two runs; the second run begins with the states after the first run.
TEST_P(SequenceLstm, StatesGoOn) {
  const LstmCase &c = GetParam();
  Weights w = weights(c.coupled, c.peephole);
  w.cellClip = c.clip;
  TestFile f;
  TestFile::Ints dims = c.timeMajor ? TestFile::Ints{steps, batch, inputs} : TestFile::Ints{batch, steps, inputs};
  int x = f.input("x", dims), y = f.value({}, file::TensorType::FLOAT32, "y");
  std::pair states{f.variable("h", {batch, hidden}), f.variable("c", {batch, hidden})};
  f.op(UNIDIRECTIONAL_SEQUENCE_LSTM, operands(f, x, w, states), {y}, BuiltinOptions::UnidirectionalSequenceLSTM,
       file::CreateUnidirectionalLstmOptions(f.builder, Activation::TANH, c.clip, 0, c.timeMajor).Union());
  f.output(y);
  std::string bytes = f.bytes();

  Row given = ramp(batch * steps * inputs), h(batch * hidden), cell(batch * hidden);
  std::vector<int64_t> extents(dims.begin(), dims.end());
  Tensor hidden0 = Tensor::of<float>({batch, hidden}, h), cell0 = hidden0;
  for (int run = 0; run < 2; ++run) {
    std::vector<Tensor> got = evaluated(bytes, {Tensor::of<float>(extents, given), hidden0, cell0});
    ASSERT_EQ(got.size(), 3u) << "the new states are results";
    Row want(batch * steps * hidden);
    for (int t = 0; t < steps; ++t)
      for (int b = 0; b < batch; ++b) {
        auto at = static_cast<size_t>(c.timeMajor ? t * batch + b : b * steps + t);
        auto row = static_cast<size_t>(b * hidden);
        step(w, &given[at * inputs], &h[row], &cell[row]);
        std::copy(&h[row], &h[row] + hidden, &want[at * hidden]);
      }
    EXPECT_THAT(floats(got[0]), Pointwise(FloatNear(1e-5f), want));
    EXPECT_THAT(floats(got[1]), Pointwise(FloatNear(1e-5f), h));
    EXPECT_THAT(floats(got[2]), Pointwise(FloatNear(1e-5f), cell));
    hidden0 = got[1], cell0 = got[2];
  }
}

INSTANTIATE_TEST_SUITE_P(
    Forms, SequenceLstm,
    testing::Values(LstmCase{"plain", false, false, false, 0}, LstmCase{"timeMajor", false, false, true, 0},
                    LstmCase{"coupled", true, false, false, 0}, LstmCase{"peephole", false, true, false, 0},
                    LstmCase{"coupledPeephole", true, true, true, 0}, LstmCase{"clipped", false, true, false, 0.05f}),
    [](auto &info) { return std::string(info.param.name); });

TEST(Recurrent, VariablesAreInputsWithSuccessors) {
  TestFile f;
  int x = f.input("x", {batch, steps, inputs}), y = f.value({}, file::TensorType::FLOAT32, "y");
  std::pair states{f.variable("h", {batch, hidden}), f.variable("c", {batch, hidden})};
  f.op(UNIDIRECTIONAL_SEQUENCE_LSTM, operands(f, x, weights(false, false), states), {y},
       BuiltinOptions::UnidirectionalSequenceLSTM,
       file::CreateUnidirectionalLstmOptions(f.builder, Activation::TANH).Union());
  f.output(y);
  std::string bytes = f.bytes();
  ModelRecord record = readModel(bytes, "m.tflite", ".");
  std::vector<std::string> ins, outs;
  for (const ValueRecord &input : record.graph.inputs)
    ins.push_back(input.name);
  for (const ValueRecord &output : record.graph.outputs)
    outs.push_back(output.name);
  EXPECT_THAT(ins, testing::ElementsAre("x", "h.past", "c.past"));
  EXPECT_THAT(outs, testing::ElementsAre("y", "h.next", "c.next"));
}

TEST(Recurrent, SimpleLayer) {
  Row w = ramp(hidden * inputs, 0.1f), r = ramp(hidden * hidden, 0.05f), b = ramp(hidden, 0.2f),
      x = ramp(batch * inputs);
  TestFile f;
  int in = f.input("x", {batch, inputs}), out = f.value({}), state = f.variable("h", {batch, hidden});
  f.op(RNN,
       {in, f.constant<float>({hidden, inputs}, w), f.constant<float>({hidden, hidden}, r),
        f.constant<float>({hidden}, b), state},
       {out}, BuiltinOptions::RNN, file::CreateRnnOptions(f.builder, Activation::RELU).Union());
  f.output(out);
  Row h0 = {1, -2, 0.5f, 3}, want;
  for (size_t n = 0; n < batch; ++n)
    for (size_t u = 0; u < hidden; ++u) {
      float sum = b[u];
      for (size_t i = 0; i < inputs; ++i)
        sum += w[u * inputs + i] * x[n * inputs + i];
      for (size_t i = 0; i < hidden; ++i)
        sum += r[u * hidden + i] * h0[n * hidden + i];
      want.push_back(std::max(sum, 0.0f));
    }
  std::vector<Tensor> got =
      evaluated(f.bytes(), {Tensor::of<float>({batch, inputs}, x), Tensor::of<float>({batch, hidden}, h0)});
  EXPECT_THAT(floats(got.at(0)), Pointwise(FloatNear(1e-5f), want));
  EXPECT_THAT(floats(got.at(1)), Pointwise(FloatNear(1e-5f), want));
}

/// Filters of rank 2 with a memory of 3 steps.
TEST(Recurrent, SingularValueFilter) {
  constexpr size_t units = 2, rank = 2, filters = units * rank, memory = 3;
  Row feature = ramp(filters * inputs, 0.1f), time = ramp(filters * memory, 0.3f), x = ramp(inputs),
      state = ramp(filters * memory, 0.05f);
  TestFile f;
  int in = f.input("x", {1, inputs}), out = f.value({}), past = f.variable("s", {1, filters * memory});
  f.op(SVDF,
       {in, f.constant<float>({filters, inputs}, feature), f.constant<float>({filters, memory}, time),
        f.constant<float>({units}, {0.5f, -0.5f}), past},
       {out}, BuiltinOptions::SVDF, file::CreateSvdfOptions(f.builder, rank).Union());
  f.output(out);
  Row moved, want = {0.5f, -0.5f};
  for (size_t k = 0; k < filters; ++k) {
    float newest = 0;
    for (size_t i = 0; i < inputs; ++i)
      newest += feature[k * inputs + i] * x[i];
    moved.insert(moved.end(), {state[k * memory + 1], state[k * memory + 2], newest});
    for (size_t m = 0; m < memory; ++m)
      want[k / rank] += moved[k * memory + m] * time[k * memory + m];
  }
  std::vector<Tensor> got =
      evaluated(f.bytes(), {Tensor::of<float>({1, inputs}, x), Tensor::of<float>({1, filters * memory}, state)});
  EXPECT_THAT(floats(got.at(0)), Pointwise(FloatNear(1e-5f), want));
  EXPECT_THAT(floats(got.at(1)), Pointwise(FloatNear(1e-5f), moved));
}

} // namespace
} // namespace lathe::tflite
