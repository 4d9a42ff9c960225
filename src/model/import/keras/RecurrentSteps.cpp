// Recurrent layers step by step: cells with activations that nn's recurrent operators lack, and convolutional cells.
#include "import/keras/Recurrent.h"
#include "import/keras/Windows.h"

namespace lathe::keras {
mlir::Value zeroState(Layer &layer, mlir::Value like, int64_t count) {
  return layer.node.expand(layer.scalar(0), {layer.dims(like)[0], Dim(count)}, like);
}

mlir::Value backwards(Layer &layer, mlir::Value x) {
  return layer.emit("slice", {x},
                    {{"starts", Ints{-1}}, {"ends", Ints{INT64_MIN}}, {"axes", Ints{1}}, {"steps", Ints{-1}}});
}

mlir::Value widened(Layer &layer, mlir::Value mask, int64_t rank) {
  Dims dims = layer.dims(mask);
  dims.resize(static_cast<size_t>(rank), Dim(1));
  return layer.node.reshape(mask, dims);
}

namespace {

using Ints = std::vector<int64_t>;

/// Computes one step. Returns its new states; the first of them is the result.
using Step = std::function<Values(mlir::Value x, const Values &states)>;

RecurrentResult runSteps(Layer &layer, const RecurrentInput &input, Values states, const Step &step) {
  mlir::Value before;
  Values all = unrolled(layer.node, input.x, 1, input.reverse, "a layer", [&](mlir::Value x, int64_t t) {
    Values next = step(x, states);
    mlir::Value result = next[0];
    if (input.mask) {
      mlir::Value counts = stepOf(layer.node, input.mask, 1, t);
      auto chosen = [&](mlir::Value yes, mlir::Value no) {
        return layer.emit("where", {widened(layer, counts, layer.rank(yes)), yes, no});
      };
      bool repeats = before && !input.zeroMasked;
      result = chosen(result, repeats ? before : layer.scalar(0));
      for (size_t k = 0; k < next.size(); ++k)
        next[k] = chosen(next[k], states[k]);
    }
    states = next;
    return before = result;
  });
  return {layer.emit("concat", all, {{"axis", 1}}), before, states};
}

Values gatesOf(Layer &layer, mlir::Value z, int64_t axis, int64_t units, size_t count) {
  mlir::Operation *parts = layer.node.emitOp("split", {z}, {{"axis", axis}, {"sizes", Ints(count, units)}});
  Values gates;
  for (size_t i = 0; i < count; ++i)
    gates.push_back(parts->getResult(static_cast<unsigned>(i)));
  return gates;
}

struct Activations {
  Layer &layer;
  json inner, gate;
  mlir::Value g(mlir::Value x) const { return activate(layer, x, inner); }
  mlir::Value f(mlir::Value x) const { return activate(layer, x, gate); }
};

Activations activationsOf(Layer &layer, const json &config, const char *gate) {
  Activations result{layer, "tanh", gate};
  if (config.contains("activation"))
    result.inner = config["activation"];
  if (config.contains("recurrent_activation"))
    result.gate = config["recurrent_activation"];
  return result;
}

/// c' = f c + i g(c~), h' = o g(c'): the states of an LSTM from the sums that enter its gates i, f, c, o.
Values lstmStates(Layer &layer, const Activations &by, const Values &gates, mlir::Value c) {
  mlir::Value kept = layer.emit("mul", {by.f(gates[1]), c}),
              fresh = layer.emit("mul", {by.f(gates[0]), by.g(gates[2])});
  mlir::Value cell = layer.emit("add", {kept, fresh});
  return {layer.emit("mul", {by.f(gates[3]), by.g(cell)}), cell};
}

mlir::Value product(Layer &layer, mlir::Value x, mlir::Value w, mlir::Value bias = {}) {
  return layer.emit("gemm", {x, w, bias});
}

/// Row `index` of a bias with two rows; a bias of one row counts as row 0.
mlir::Value biasRow(Layer &layer, mlir::Value bias, int64_t index) {
  if (!bias || layer.rank(bias) == 1)
    return index == 0 ? bias : mlir::Value();
  mlir::Value row =
      layer.emit("slice", {bias}, {{"starts", Ints{index}}, {"ends", Ints{index + 1}}, {"axes", Ints{0}}});
  return layer.node.reshape(row, {layer.dims(bias)[1]});
}

Values gruStep(Layer &layer, const RecurrentCell &cell, const Activations &by, mlir::Value x, mlir::Value h) {
  Values a = gatesOf(layer, product(layer, x, cell.kernel, biasRow(layer, cell.bias, 0)), 1, cell.units, 3);
  mlir::Value z, candidate;
  if (flagMember(*cell.config, "reset_after", false)) {
    Values b = gatesOf(layer, product(layer, h, cell.recurrent, biasRow(layer, cell.bias, 1)), 1, cell.units, 3);
    z = by.f(layer.emit("add", {a[0], b[0]}));
    mlir::Value r = by.f(layer.emit("add", {a[1], b[1]}));
    candidate = by.g(layer.emit("add", {a[2], layer.emit("mul", {r, b[2]})}));
  } else {
    Values r = gatesOf(layer, cell.recurrent, 1, cell.units, 3);
    z = by.f(layer.emit("add", {a[0], product(layer, h, r[0])}));
    mlir::Value reset = by.f(layer.emit("add", {a[1], product(layer, h, r[1])}));
    candidate = by.g(layer.emit("add", {a[2], product(layer, layer.emit("mul", {reset, h}), r[2])}));
  }
  mlir::Value rest = layer.emit("sub", {layer.scalar(1), z});
  return {layer.emit("add", {layer.emit("mul", {z, h}), layer.emit("mul", {rest, candidate})})};
}

/// x with channels first, and its convolution with a kernel of the file (spatial... x C x O).
struct StepConvolution {
  Layer &layer;
  size_t count;
  mlir::Value operator()(mlir::Value x, mlir::Value w, mlir::Value bias, Window window, bool same) const {
    Dims dims = layer.dims(w);
    window.kernel = constants(std::span(dims).first(count));
    window.pads.assign(2 * count, 0);
    checkWindow(window);
    if (same)
      padSame(Dims(layer.dims(x).begin() + 2, layer.dims(x).end()), window);
    Ints perm = {static_cast<int64_t>(count) + 1, static_cast<int64_t>(count)};
    for (size_t i = 0; i < count; ++i)
      perm.push_back(static_cast<int64_t>(i));
    return layer.emit("conv", {x, transpose(layer.node, w, perm), bias}, window.fields());
  }
};

} // namespace

RecurrentResult runCellSteps(Layer &layer, const RecurrentCell &cell, const RecurrentInput &input) {
  Activations by = activationsOf(layer, *cell.config, "sigmoid");
  Values states = input.states;
  for (size_t i = states.size(); i < cell.states(); ++i)
    states.push_back(zeroState(layer, input.x, cell.units));
  return runSteps(layer, input, states, [&](mlir::Value x, const Values &past) -> Values {
    if (cell.kind == "GRU")
      return gruStep(layer, cell, by, x, past[0]);
    mlir::Value z =
        layer.emit("add", {product(layer, x, cell.kernel, cell.bias), product(layer, past[0], cell.recurrent)});
    if (cell.kind == "SimpleRNN")
      return {by.g(z)};
    return lstmStates(layer, by, gatesOf(layer, z, 1, cell.units, 4), past[1]);
  });
}

/// Weights: kernel, recurrent kernel, bias. States and results have channels first until the end.
void importConvLstm(Layer &layer) {
  if (layer.flag("stateful", false))
    layer.unsupported("a stateful layer is not supported; give its state as initial_state and return_state");
  mlir::Value x = layer.in();
  auto count = static_cast<size_t>(layer.rank(x) - 3);
  require(layer.rank(x) >= 4 && layer.rank(x) <= 6, "the operand has rank {}, expected 4 to 6", layer.rank(x));
  bool hasBias = layer.flag("use_bias", true), last = layer.channelsLast();
  layer.expectWeights(hasBias ? 3 : 2);
  if (layer.tensorCount() > 1)
    layer.unsupported("initial states are not supported");
  int64_t filters = layer.integer("filters", 0);
  Activations by = activationsOf(layer, layer.config, "hard_sigmoid");
  StepConvolution convolution{layer, count};
  Window window{{}, layer.integers("strides", count, 1), layer.integers("dilation_rate", count, 1), {}};
  Window inner{{}, Ints(count, 1), Ints(count, 1), {}};
  bool same = layer.text("padding", "valid") == "same";
  mlir::Value bias = hasBias ? layer.weight(2) : mlir::Value(), w = layer.weight(0), r = layer.weight(1);
  auto inputOf = [&](mlir::Value step) {
    return convolution(last ? channelsFirst(layer.node, step) : step, w, bias, window, same);
  };
  // The states have the extents of the first step's convolution.
  Dims dims = layer.dims(inputOf(stepOf(layer.node, x, 1, 0)));
  dims[1] = Dim(filters);
  mlir::Value zeros = layer.node.expand(layer.scalar(0), dims, x);
  RecurrentInput input{x, layer.mask(), {}, layer.flag("go_backwards", false), false};
  RecurrentResult result = runSteps(layer, input, {zeros, zeros}, [&](mlir::Value step, const Values &past) {
    mlir::Value z = layer.emit("add", {inputOf(step), convolution(past[0], r, {}, inner, true)});
    return lstmStates(layer, by, gatesOf(layer, z, 1, filters, 4), past[1]);
  });
  auto finished = [&](mlir::Value value) { return last ? channelsLast(layer.node, value) : value; };
  if (layer.flag("return_sequences", false)) {
    mlir::Value y = input.reverse ? backwards(layer, result.sequence) : result.sequence;
    if (last) {
      Ints perm = {0, 1};
      for (int64_t axis = 3; axis < layer.rank(y); ++axis)
        perm.push_back(axis);
      perm.push_back(2);
      y = transpose(layer.node, y, perm);
    }
    layer.set(y);
  } else {
    layer.set(finished(result.last));
  }
  if (layer.flag("return_state", false)) {
    layer.set(finished(result.states[0]), 1);
    layer.set(finished(result.states[1]), 2);
  }
}

} // namespace lathe::keras
