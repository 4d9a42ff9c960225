// A quantised LSTM for tests: as a TFLite file, and evaluated in plain loops with TensorFlow Lite's integer
// arithmetic.
#pragma once

#include "import/tflite/FileTesting.h"
#include "import/tflite/FixedPoint.h"

#include <algorithm>
#include <cmath>

namespace lathe::tflite::lstm {

using enum BuiltinOperator;
using Ints = TestFile::Ints;
using Type = file::TensorType;
using Numbers = std::vector<int32_t>;

constexpr int batch = 2, steps = 3, inputs = 5, cells = 4;

inline int32_t limited(int64_t x, int bits) {
  int64_t half = int64_t(1) << (bits - 1);
  return static_cast<int32_t>(std::clamp(x, -half, half - 1));
}

/// Test data: `count` integers from -most to most that do not repeat for a long time.
template <class T> std::vector<T> mixed(size_t count, int most, size_t seed) {
  std::vector<T> values(count);
  for (size_t i = 0; i < count; ++i)
    values[i] = static_cast<T>(
        static_cast<int>((i * 1009 + seed * 7919 + i * i * 31) % static_cast<size_t>(2 * most + 1)) - most);
  return values;
}

inline Numbers integers(const Tensor &tensor) {
  Numbers result;
  for (int64_t i = 0; i < tensor.elements(); ++i)
    result.push_back(static_cast<int32_t>(tensor.asInteger(i)));
  return result;
}

struct Form {
  const char *name;
  bool coupled = false, peephole = false, norm = false;
  int outputs = cells; // number of outputs; a projection makes it differ from the number of cells
  float cellClip = 0, projectionClip = 0;
  /// `single`: the operator is LSTM, not UNIDIRECTIONAL_SEQUENCE_LSTM.
  bool timeMajor = false, single = false;
  int innerZero = 0;
};

/// The quantised LSTM layer of the test: weights, scales and the evaluation of a step in plain loops.
struct Layer {
  const Form &form;
  float xScale = 0.05f, hScale = 0.008f, innerScale = 0.0071f, cellScale = 0x1p-11f;
  int32_t xZero = 4, hZero = -3;
  std::vector<int8_t> input[4], recurrent[4], projection;
  std::vector<int16_t> peephole[3], norm[4];
  std::vector<int32_t> bias[4], projectionBias;
  float inputScale[4], recurrentScale[4], peepholeScale = 0.0002f, projectionScale = 0.011f, normScale = 0.00003f,
                                          before = 0;

  explicit Layer(const Form &form) : form(form) {
    auto outputs = static_cast<size_t>(form.outputs);
    before = form.norm ? 0.001f : 0x1p-12f;
    for (size_t gate = form.coupled ? 1 : 0; gate < 4; ++gate) {
      inputScale[gate] = 0.01f + 0.003f * static_cast<float>(gate);
      recurrentScale[gate] = 0.02f - 0.002f * static_cast<float>(gate);
      input[gate] = mixed<int8_t>(cells * inputs, 127, gate);
      recurrent[gate] = mixed<int8_t>(cells * outputs, 120, gate + 7);
      bias[gate] = mixed<int32_t>(cells, form.norm ? 2000000 : 900, gate + 3);
      if (form.norm)
        norm[gate] = mixed<int16_t>(cells, 20000, gate + 11);
    }
    for (size_t gate = form.coupled ? 1 : 0; gate < 3 && form.peephole; ++gate)
      peephole[gate] = mixed<int16_t>(cells, 9000, gate + 5);
    if (form.outputs != cells) {
      projection = mixed<int8_t>(outputs * cells, 90, 21);
      projectionBias = mixed<int32_t>(outputs, 500, 22);
    }
  }

  static int64_t dot(const std::vector<int8_t> &w, size_t row, const int32_t *x, size_t count, int32_t zero) {
    int64_t sum = 0;
    for (size_t k = 0; k < count; ++k)
      sum += int64_t(w[row * count + k]) * (x[k] - zero);
    return sum;
  }
  static Multiplier of(float factor) { return multiplierOf(double(factor)); }

  /// Layer normalisation of the cells of one row of the batch.
  void normalise(size_t gate, Numbers &z) const {
    int64_t sum = 0, squares = 0;
    for (int32_t value : z) {
      sum += value;
      squares += int64_t(value) * value;
    }
    auto mean = static_cast<int32_t>(sum * 1024 / cells);
    int64_t variance = (squares * ((1 << 20) / cells) - int64_t(mean) * mean) / (1 << 20);
    auto used = static_cast<int32_t>(variance < 1 ? std::max(1, static_cast<int>(10000 * normScale)) : variance);
    Multiplier root = inverseRoot(used), factor = of(normScale);
    for (size_t u = 0; u < cells; ++u) {
      int32_t centred = scaled(1024 * z[u] - mean, root);
      int64_t value = int64_t(centred) * norm[gate][u] + bias[gate][u];
      auto rounded = static_cast<int32_t>((value > 0 ? value + 512 : value - 512) / 1024);
      z[u] = limited(scaled(rounded, {factor.value, factor.shift + 12}), 16);
    }
  }

  Numbers gate(size_t g, const int32_t *x, const int32_t *h, const Numbers &c) const {
    Numbers z(cells);
    for (size_t u = 0; u < cells; ++u) {
      int64_t in = dot(input[g], u, x, inputs, xZero) + (form.norm ? 0 : bias[g][u]);
      z[u] = limited(scaled(static_cast<int32_t>(in), of(inputScale[g] * xScale / before)), 16);
      int64_t back = dot(recurrent[g], u, h, static_cast<size_t>(form.outputs), hZero);
      z[u] = limited(int64_t(z[u]) + scaled(static_cast<int32_t>(back), of(recurrentScale[g] * hScale / before)), 16);
      if (size_t p = g == 3 ? 2 : g; g != 2 && form.peephole && !peephole[p].empty()) {
        auto factor = static_cast<float>(double(cellScale) * double(peepholeScale) / double(before));
        z[u] = limited(int64_t(z[u]) + scaled(peephole[p][u] * c[u], of(factor)), 16);
      }
    }
    if (form.norm)
      normalise(g, z);
    for (int32_t &value : z)
      value = g == 2 ? hyperbolicTangent(static_cast<int16_t>(value), 3) : logistic(static_cast<int16_t>(value), 3);
    return z;
  }

  /// Computes the new states of one row of the batch in one step.
  void step(const int32_t *x, Numbers &h, Numbers &c) const {
    Numbers f = gate(1, x, h.data(), c), g = gate(2, x, h.data(), c);
    Numbers i = form.coupled ? Numbers(cells) : gate(0, x, h.data(), c);
    for (size_t u = 0; u < cells; ++u) {
      int32_t in = form.coupled ? 32767 - f[u] : i[u];
      c[u] = limited(int64_t(divideByPowerOfTwo(f[u] * c[u], 15)) + divideByPowerOfTwo(in * g[u], 30 - 11), 16);
      if (form.cellClip > 0) {
        auto most = static_cast<int32_t>(form.cellClip / cellScale);
        c[u] = std::clamp(c[u], -most, most);
      }
    }
    Numbers o = gate(3, x, h.data(), c), inner(cells);
    auto factor = static_cast<float>(0x1p-15 / double(innerScale) * 0x1p-15);
    for (size_t u = 0; u < cells; ++u)
      inner[u] =
          limited(scaled(o[u] * hyperbolicTangent(static_cast<int16_t>(c[u]), 4), of(factor)) - form.innerZero, 8);
    h = inner;
    if (projection.empty())
      return;
    h.resize(static_cast<size_t>(form.outputs));
    for (size_t k = 0; k < h.size(); ++k) {
      int64_t sum = dot(projection, k, inner.data(), cells, -form.innerZero) + projectionBias[k];
      h[k] = limited(int64_t(scaled(static_cast<int32_t>(sum), of(projectionScale * innerScale / hScale))) + hZero, 8);
      if (form.projectionClip > 0) {
        auto most = static_cast<int32_t>(form.projectionClip / hScale);
        h[k] = std::clamp(h[k], -most, most);
      }
    }
  }

  /// Adds the LSTM operator with its operands and states to the file `f`; returns the number of its result.
  int add(TestFile &f, int x, const Ints &dims) const {
    int32_t outputs = form.outputs;
    Ints operands{x};
    auto weights = [&](const auto &values, const Ints &extents, float scale) {
      operands.push_back(values.empty() ? -1 : f.constant(extents, values, f.scale({scale}, {0})));
    };
    for (size_t gate = 0; gate < 4; ++gate)
      weights(input[gate], {cells, inputs}, inputScale[gate]);
    for (size_t gate = 0; gate < 4; ++gate)
      weights(recurrent[gate], {cells, outputs}, recurrentScale[gate]);
    for (const auto &values : peephole)
      weights(values, {cells}, peepholeScale);
    for (const auto &values : bias)
      weights(values, {cells}, 1e-4f);
    weights(projection, {outputs, cells}, projectionScale);
    weights(projectionBias, {outputs}, 1e-4f);
    operands.push_back(f.quantisedVariable("h", {batch, outputs}, Type::INT8, hScale, hZero));
    operands.push_back(f.quantisedVariable("c", {batch, cells}, Type::INT16, cellScale, 0));
    if (form.norm)
      for (const auto &values : norm)
        weights(values, {cells}, normScale);
    Ints inner;
    for (int i = 0; i < 4; ++i)
      inner.push_back(f.quantisedValue({}, Type::INT16, before, 0));
    inner.push_back(f.quantisedValue({}, Type::INT8, innerScale, form.innerZero));
    int y = f.quantisedValue(dims, Type::INT8, hScale, hZero, "y");
    if (form.single)
      f.op(LSTM, operands, {y}, BuiltinOptions::LSTM,
           file::CreateLstmOptions(f.builder, Activation::TANH, form.cellClip, form.projectionClip).Union(), "", {},
           inner);
    else
      f.op(UNIDIRECTIONAL_SEQUENCE_LSTM, operands, {y}, BuiltinOptions::UnidirectionalSequenceLSTM,
           file::CreateUnidirectionalLstmOptions(f.builder, Activation::TANH, form.cellClip, form.projectionClip,
                                                 form.timeMajor)
               .Union(),
           "", {}, inner);
    f.output(y);
    return y;
  }
};

} // namespace lathe::tflite::lstm
