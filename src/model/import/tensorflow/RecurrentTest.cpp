// Compares recurrent cells and layers with plain loops over TensorFlow's definitions.
#include "import/tensorflow/GraphTesting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace lathe::tensorflow {
namespace {

using testing::DoubleNear;
using testing::HasSubstr;
using testing::Pointwise;
using G = TestGraph;

constexpr size_t steps = 3, batch = 2, inputs = 2, states = 3;

/// Numbers between -1 and 1 that do not repeat for a long time.
std::vector<float> sample(size_t count, size_t first = 0) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i)
    values[i] = 0.09f * static_cast<float>(static_cast<int>((i + first) * 37 % 23) - 11);
  return values;
}
Numbers wide(const std::vector<float> &values) { return {values.begin(), values.end()}; }
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

/// The states of a row.
struct State {
  Numbers h = Numbers(states), c = Numbers(states);
};

/// The sums of [x, h] times w (rows of `columns` gates) and b.
Numbers sums(const double *x, const Numbers &h, const std::vector<float> &w, const std::vector<float> &b) {
  Numbers result(b.begin(), b.end());
  for (size_t column = 0; column < b.size(); ++column) {
    for (size_t i = 0; i < inputs; ++i)
      result[column] += x[i] * static_cast<double>(w[i * b.size() + column]);
    for (size_t i = 0; i < states; ++i)
      result[column] += h[i] * static_cast<double>(w[(inputs + i) * b.size() + column]);
  }
  return result;
}

/// One step of an LSTM with the gates i, c, f, o.
void lstmStep(State &state, const double *x, const std::vector<float> &w, const std::vector<float> &b,
              double forgetBias) {
  Numbers z = sums(x, state.h, w, b);
  for (size_t i = 0; i < states; ++i) {
    double in = sigmoid(z[i]), candidate = std::tanh(z[states + i]);
    double forget = sigmoid(z[2 * states + i] + forgetBias), out = sigmoid(z[3 * states + i]);
    state.c[i] = state.c[i] * forget + candidate * in;
    state.h[i] = std::tanh(state.c[i]) * out;
  }
}

/// Hidden states of all steps: steps x batch x states.
Numbers lstm(const Numbers &x, const std::vector<float> &w, const std::vector<float> &b, double forgetBias) {
  Numbers result(steps * batch * states);
  for (size_t row = 0; row < batch; ++row) {
    State state;
    for (size_t t = 0; t < steps; ++t) {
      lstmStep(state, &x[(t * batch + row) * inputs], w, b, forgetBias);
      std::copy(state.h.begin(), state.h.end(), result.begin() + static_cast<int64_t>((t * batch + row) * states));
    }
  }
  return result;
}

const Extents xDims = {steps, batch, inputs}, hDims = {batch, states};
std::string zeros(G &g) { return g.constant<float>(hDims, std::vector<float>(batch * states)); }

/// BlockLSTM without clipping; with `gates` the cell states are an output as well.
std::vector<Tensor> blockLstm(const std::vector<float> &w, const std::vector<float> &b, bool gates) {
  G g;
  std::string x = g.placeholder("x", xDims), none = g.constant<float>({int64_t(states)}, std::vector<float>(states));
  std::string length = g.constant<int64_t>({}, {int64_t(steps)});
  g.op("BlockLSTM",
       {length, x, zeros(g), zeros(g), g.constant<float>({int64_t(inputs + states), int64_t(4 * states)}, w), none,
        none, none, g.constant<float>({int64_t(4 * states)}, b)},
       {real("forget_bias", 1), real("cell_clip", -1), truth("use_peephole", false)}, "lstm");
  g.op("Identity", {"lstm:6"}, {}, "y");
  if (gates)
    g.op("Identity", {"lstm:1"}, {}, "cells");
  return results(g.bytes(), {floats(xDims, wide(sample(steps * batch * inputs)))});
}

TEST(Recurrent, BlockLstmByTheLayerAndStepByStep) {
  std::vector<float> w = sample((inputs + states) * 4 * states, 5), b = sample(4 * states, 9);
  Numbers want = lstm(wide(sample(steps * batch * inputs)), w, b, 1);
  EXPECT_THAT(numbersOf(blockLstm(w, b, false).at(0)), Pointwise(DoubleNear(1e-5), want));
  std::vector<Tensor> both = blockLstm(w, b, true);
  EXPECT_THAT(numbersOf(both.at(0)), Pointwise(DoubleNear(1e-5), want));
  ASSERT_EQ(both.size(), 2u);
}

/// Both versions with peepholes and clipped cells. The second version has the gates in the order i, f, c, o and no
/// forget bias.
TEST(Recurrent, BlockLstmWithItsOptions) {
  std::vector<float> w = sample((inputs + states) * 4 * states, 5), b = sample(4 * states, 9);
  std::vector<float> peepholes[] = {sample(states, 1), sample(states, 4), sample(states, 8)}; // i, f, o
  Numbers x = wide(sample(steps * batch * inputs));
  for (bool second : {false, true})
    for (double clip : {0.0, 0.25}) {
      size_t candidate = second ? 2 : 1, forgets = second ? 1 : 2;
      Numbers hidden(steps * batch * states), cells = hidden;
      for (size_t row = 0; row < batch; ++row) {
        State state;
        for (size_t t = 0; t < steps; ++t) {
          Numbers z = sums(&x[(t * batch + row) * inputs], state.h, w, b);
          for (size_t i = 0; i < states; ++i) {
            double before = state.c[i], &c = state.c[i];
            double in = sigmoid(z[i] + before * peepholes[0][i]);
            double forget = sigmoid(z[forgets * states + i] + (second ? 0 : 0.75) + before * peepholes[1][i]);
            c = std::tanh(z[candidate * states + i]) * in + before * forget;
            c = clip > 0 ? std::min(std::max(c, -clip), clip) : c;
            state.h[i] = std::tanh(c) * sigmoid(z[3 * states + i] + c * peepholes[2][i]);
            hidden[(t * batch + row) * states + i] = state.h[i];
            cells[(t * batch + row) * states + i] = c;
          }
        }
      }
      for (bool wantsCells : {false, true}) {
        SCOPED_TRACE(testing::Message() << "second " << second << ", clip " << clip << ", cells " << wantsCells);
        G g;
        std::vector<std::string> operands = {g.constant<int64_t>({}, {int64_t(steps)}), g.placeholder("x", xDims),
                                             zeros(g), zeros(g),
                                             g.constant<float>({int64_t(inputs + states), int64_t(4 * states)}, w)};
        for (const auto &each : peepholes)
          operands.push_back(g.constant<float>({int64_t(states)}, each));
        operands.push_back(g.constant<float>({int64_t(4 * states)}, b));
        std::vector<Attr> attrs = {real("cell_clip", static_cast<float>(clip     ? clip
                                                                        : second ? 0
                                                                                 : -1)),
                                   truth("use_peephole", true)};
        if (!second)
          attrs.push_back(real("forget_bias", 0.75f));
        g.op(second ? "BlockLSTMV2" : "BlockLSTM", operands, attrs, "lstm");
        g.op("Identity", {"lstm:6"}, {}, "y");
        if (wantsCells)
          g.op("Identity", {"lstm:1"}, {}, "cells");
        std::vector<Tensor> got = results(g.bytes(), {floats(xDims, x)});
        EXPECT_THAT(numbersOf(got.at(0)), Pointwise(DoubleNear(1e-5), hidden));
        if (wantsCells)
          EXPECT_THAT(numbersOf(got.at(1)), Pointwise(DoubleNear(1e-5), cells));
      }
    }
}

TEST(Recurrent, LstmCell) {
  std::vector<float> w = sample((inputs + states) * 4 * states, 5), b = sample(4 * states, 9);
  Numbers x = wide(sample(batch * inputs)), want(batch * states);
  for (size_t row = 0; row < batch; ++row) {
    State state;
    lstmStep(state, &x[row * inputs], w, b, 0.5);
    std::copy(state.h.begin(), state.h.end(), want.begin() + static_cast<int64_t>(row * states));
  }
  G g;
  std::string none = g.constant<float>({int64_t(states)}, std::vector<float>(states));
  g.op("LSTMBlockCell",
       {g.placeholder("x", {int64_t(batch), int64_t(inputs)}), zeros(g), zeros(g),
        g.constant<float>({int64_t(inputs + states), int64_t(4 * states)}, w), none, none, none,
        g.constant<float>({int64_t(4 * states)}, b)},
       {real("forget_bias", 0.5f), real("cell_clip", 0), truth("use_peephole", false)}, "cell");
  g.op("Identity", {"cell:6"}, {}, "y");
  std::vector<Tensor> got = results(g.bytes(), {floats({int64_t(batch), int64_t(inputs)}, x)});
  EXPECT_THAT(numbersOf(got.at(0)), Pointwise(DoubleNear(1e-5), want));
}

TEST(Recurrent, GruCell) {
  std::vector<float> both = sample((inputs + states) * 2 * states, 3), bothBias = sample(2 * states, 4);
  std::vector<float> w = sample((inputs + states) * states, 7), b = sample(states, 8);
  std::vector<float> before = sample(batch * states, 2);
  Numbers x = wide(sample(batch * inputs)), want(batch * states);
  for (size_t row = 0; row < batch; ++row) {
    Numbers h(before.begin() + static_cast<int64_t>(row * states),
              before.begin() + static_cast<int64_t>((row + 1) * states));
    Numbers z = sums(&x[row * inputs], h, both, bothBias), kept = h;
    for (size_t i = 0; i < states; ++i)
      kept[i] *= sigmoid(z[i]); // reset
    Numbers candidate = sums(&x[row * inputs], kept, w, b);
    for (size_t i = 0; i < states; ++i) {
      double update = sigmoid(z[states + i]);
      want[row * states + i] = update * h[i] + (1 - update) * std::tanh(candidate[i]);
    }
  }
  G g;
  g.op("GRUBlockCell",
       {g.placeholder("x", {int64_t(batch), int64_t(inputs)}), g.constant<float>(hDims, before),
        g.constant<float>({int64_t(inputs + states), int64_t(2 * states)}, both),
        g.constant<float>({int64_t(inputs + states), int64_t(states)}, w),
        g.constant<float>({int64_t(2 * states)}, bothBias), g.constant<float>({int64_t(states)}, b)},
       {}, "cell");
  g.op("Identity", {"cell:3"}, {}, "y");
  std::vector<Tensor> got = results(g.bytes(), {floats({int64_t(batch), int64_t(inputs)}, x)});
  EXPECT_THAT(numbersOf(got.at(0)), Pointwise(DoubleNear(1e-5), want));
}

/// cuDNN's buffer: matrices of the gates i, f, c, o for the input, then for the state, then both groups of biases.
TEST(Recurrent, CudnnLstm) {
  std::vector<float> w = sample((inputs + states) * 4 * states, 5), b = sample(4 * states, 9), buffer;
  const size_t order[] = {0, 2, 1, 3}; // i, f, c, o in a matrix of i, c, f, o
  auto append = [&](size_t first, size_t rows) {
    for (size_t gate : order)
      for (size_t state = 0; state < states; ++state)
        for (size_t row = first; row < first + rows; ++row)
          buffer.push_back(w[row * 4 * states + gate * states + state]);
  };
  append(0, inputs);
  append(inputs, states);
  for (size_t gate : order)
    for (size_t state = 0; state < states; ++state)
      buffer.push_back(b[gate * states + state]);
  buffer.resize(buffer.size() + 4 * states, 0);
  G g;
  std::string x = g.placeholder("x", xDims);
  std::string h = g.constant<float>({1, int64_t(batch), int64_t(states)}, std::vector<float>(batch * states));
  g.op("CudnnRNN", {x, h, h, g.constant<float>({int64_t(buffer.size())}, buffer)},
       {text("rnn_mode", "lstm"), text("direction", "unidirectional"), text("input_mode", "linear_input"),
        real("dropout", 0), truth("is_training", false)},
       "rnn");
  g.op("Identity", {"rnn"}, {}, "y");
  Numbers in = wide(sample(steps * batch * inputs));
  EXPECT_THAT(numbersOf(results(g.bytes(), {floats(xDims, in)}).at(0)), Pointwise(DoubleNear(1e-5), lstm(in, w, b, 0)));
}

TEST(Recurrent, ABufferOfTheWrongSizeIsNamed) {
  G g;
  std::string h = g.constant<float>({1, int64_t(batch), int64_t(states)}, std::vector<float>(batch * states));
  g.op("CudnnRNN", {g.placeholder("x", xDims), h, h, g.constant<float>({7}, sample(7))},
       {text("rnn_mode", "gru"), truth("is_training", false)}, "rnn");
  EXPECT_THAT(importError(g.bytes()), HasSubstr("has 7 weights, expected 63"));
}

} // namespace
} // namespace lathe::tensorflow
