// Compares CudnnRNN in all modes, directions and versions with plain loops over cuDNN's equations.
#include "import/tensorflow/GraphTesting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace lathe::tensorflow {
namespace {

using testing::DoubleNear;
using testing::Pointwise;
using G = TestGraph;

constexpr size_t steps = 4, batch = 3, inputs = 2, units = 3, layers = 2;
const std::vector<int32_t> lengths = {4, 1, 3};

std::vector<float> sample(size_t count, size_t seed) {
  std::vector<float> values;
  for (size_t i = 0; i < count; ++i)
    values.push_back(0.1f * static_cast<float>((i * 31 + seed * 17) % 19) - 0.9f);
  return values;
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

struct Mode {
  std::string name;
  size_t gates;
  bool isLstm() const { return name == "lstm"; }
};

/// A layer of one direction: its weights in the buffer.
struct Part {
  size_t in, weights, biases;
};

/// A network as plain loops, row by row, with its buffer of weights.
struct Network {
  Mode mode;
  size_t directions;
  std::vector<Part> parts;
  std::vector<float> buffer;

  Network(const Mode &mode, size_t directions) : mode(mode), directions(directions) {
    size_t at = 0;
    for (size_t layer = 0; layer < layers; ++layer)
      for (size_t direction = 0; direction < directions; ++direction) {
        parts.push_back({layer ? directions * units : inputs, at, 0});
        at += mode.gates * units * (parts.back().in + units);
      }
    for (Part &part : parts) {
      part.biases = at;
      at += 2 * mode.gates * units;
    }
    buffer = sample(at, mode.gates);
  }

  /// The weighted sum of a gate's unit over the input, or over the state.
  double sum(const Part &part, bool state, size_t gate, size_t unit, const Numbers &x) const {
    size_t row = gate * units + unit, width = state ? units : part.in;
    size_t begin = part.weights + (state ? mode.gates * units * part.in : 0) + row * width;
    double total = buffer[part.biases + (state ? mode.gates * units : 0) + row];
    for (size_t i = 0; i < width; ++i)
      total += buffer[begin + i] * x[i];
    return total;
  }

  void step(const Part &part, const Numbers &x, Numbers &h, Numbers &c) const {
    Numbers next = h;
    for (size_t unit = 0; unit < units; ++unit) {
      auto both = [&](size_t gate) { return sum(part, false, gate, unit, x) + sum(part, true, gate, unit, h); };
      if (mode.isLstm()) {
        c[unit] = sigmoid(both(1)) * c[unit] + sigmoid(both(0)) * std::tanh(both(2));
        next[unit] = sigmoid(both(3)) * std::tanh(c[unit]);
      } else if (mode.name == "gru") {
        double fresh = std::tanh(sum(part, false, 2, unit, x) + sigmoid(both(0)) * sum(part, true, 2, unit, h));
        double update = sigmoid(both(1));
        next[unit] = (1 - update) * fresh + update * h[unit];
      } else {
        next[unit] = mode.name == "rnn_tanh" ? std::tanh(both(0)) : std::max(0.0, both(0));
      }
    }
    h = next;
  }

  /// Runs one row through all layers; each part has its states. Steps beyond `length` give zeros.
  std::vector<Numbers> run(std::vector<Numbers> row, size_t length, std::vector<Numbers> &h,
                           std::vector<Numbers> &c) const {
    for (size_t layer = 0; layer < layers; ++layer) {
      std::vector<Numbers> out(row.size(), Numbers(directions * units));
      for (size_t direction = 0; direction < directions; ++direction) {
        size_t at = layer * directions + direction;
        for (size_t t = 0; t < length; ++t) {
          size_t place = direction ? length - 1 - t : t;
          step(parts[at], row[place], h[at], c[at]);
          std::copy(h[at].begin(), h[at].end(), out[place].begin() + static_cast<int64_t>(direction * units));
        }
      }
      row = out;
    }
    return row;
  }
};

/// Compares the results of the node (the sequence, h, and c of an LSTM) with the results of the loops, in the order
/// time, row, ....
void check(const Mode &mode, size_t directions, const std::string &version, bool timeMajor) {
  SCOPED_TRACE(mode.name + " in " + std::to_string(directions) + " directions by " + version);
  Network network(mode, directions);
  size_t parts = network.parts.size();
  bool third = version.ends_with("3");
  std::vector<float> h0 = sample(parts * batch * units, 5), c0 = sample(parts * batch * units, 7);
  Numbers x;
  for (float each : sample(steps * batch * inputs, 11))
    x.push_back(each);

  Numbers sequence(steps * batch * directions * units), last(parts * batch * units), cells = last;
  for (size_t row = 0; row < batch; ++row) {
    auto stateAt = [&](size_t part, size_t unit) { return (part * batch + row) * units + unit; };
    std::vector<Numbers> in(steps), h(parts, Numbers(units)), c = h;
    for (size_t t = 0; t < steps; ++t)
      in[t].assign(x.begin() + static_cast<int64_t>((t * batch + row) * inputs),
                   x.begin() + static_cast<int64_t>((t * batch + row + 1) * inputs));
    for (size_t part = 0; part < parts; ++part)
      for (size_t unit = 0; unit < units; ++unit)
        h[part][unit] = h0[stateAt(part, unit)], c[part][unit] = c0[stateAt(part, unit)];
    std::vector<Numbers> out = network.run(in, third ? static_cast<size_t>(lengths[row]) : steps, h, c);
    for (size_t t = 0; t < steps; ++t)
      std::copy(out[t].begin(), out[t].end(),
                sequence.begin() + static_cast<int64_t>((t * batch + row) * directions * units));
    for (size_t part = 0; part < parts; ++part)
      for (size_t unit = 0; unit < units; ++unit)
        last[stateAt(part, unit)] = h[part][unit], cells[stateAt(part, unit)] = c[part][unit];
  }

  G g;
  auto turned = [&](const std::string &value) { // for nodes with the rows first
    return timeMajor ? value : g.op("Transpose", {value, g.ints({1, 0, 2})});
  };
  Extents states = {int64_t(parts), int64_t(batch), int64_t(units)};
  std::string in = g.placeholder("x", {int64_t(steps), int64_t(batch), int64_t(inputs)});
  std::vector<std::string> operands = {turned(in), turned(g.constant<float>(states, h0)),
                                       turned(g.constant<float>(states, c0)),
                                       g.constant<float>({int64_t(network.buffer.size())}, network.buffer)};
  std::vector<Attr> attrs = {
      text("rnn_mode", mode.name), text("input_mode", "linear_input"), truth("is_training", false),
      text("direction", directions == 2 ? "bidirectional" : "unidirectional"), real("dropout", 0)};
  if (third) {
    operands.push_back(g.ints(lengths));
    attrs.push_back(truth("time_major", timeMajor));
  }
  g.op(version, operands, attrs, "rnn");
  g.op("Identity", {turned("rnn")}, {}, "y");
  g.op("Identity", {turned("rnn:1")}, {}, "h");
  if (mode.isLstm())
    g.op("Identity", {turned("rnn:2")}, {}, "c");
  std::vector<Tensor> got = results(g.bytes(), {floats({int64_t(steps), int64_t(batch), int64_t(inputs)}, x)});
  EXPECT_THAT(numbersOf(got.at(0)), Pointwise(DoubleNear(1e-5), sequence));
  EXPECT_THAT(numbersOf(got.at(1)), Pointwise(DoubleNear(1e-5), last));
  if (mode.isLstm())
    EXPECT_THAT(numbersOf(got.at(2)), Pointwise(DoubleNear(1e-5), cells));
}

TEST(Cudnn, AllModesDirectionsAndVersions) {
  for (const Mode &mode : {Mode{"lstm", 4}, {"gru", 3}, {"rnn_tanh", 1}, {"rnn_relu", 1}})
    for (size_t directions : {1, 2}) {
      for (const char *version : {"CudnnRNN", "CudnnRNNV2", "CudnnRNNV3"})
        check(mode, directions, version, true);
      check(mode, directions, "CudnnRNNV3", false);
    }
}

} // namespace
} // namespace lathe::tensorflow
