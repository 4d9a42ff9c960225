// LSTM, GRU, SimpleRNN, RNN of cells, and Bidirectional.
//
// nn's recurrent operators compute the first steps of each row, but a Keras mask may leave out any steps. So the steps
// that count are moved to the start of their row before the operator, and the results are moved back after it.
#include "import/keras/Recurrent.h"

namespace lathe::keras {

using Ints = std::vector<int64_t>;

namespace {

mlir::Value swappedSteps(Layer &layer, mlir::Value x) { return transpose(layer.node, x, {1, 0, 2}); }

/// Activations that nn's recurrent operators have, with their two parameters.
struct CellActivation {
  std::string name;
  double alpha, beta;
};

std::optional<CellActivation> cellActivation(Layer &layer, const json &description) {
  if (description.is_null())
    return CellActivation{"affine", 1, 0};
  std::string name;
  if (description.is_string())
    name = description.get<std::string>();
  else if (textMember(description, "class_name") == "function" && member(description, "config").is_string())
    name = member(description, "config").get<std::string>();
  if (name == "linear")
    return CellActivation{"affine", 1, 0};
  if (name == "hard_sigmoid")
    return CellActivation{name, layer.version() >= 3 ? 1.0 / 6 : 0.2, 0.5};
  if (name == "elu")
    return CellActivation{name, 1, 0};
  for (const char *same : {"tanh", "sigmoid", "relu", "softsign", "softplus"})
    if (name == same)
      return CellActivation{name, 0, 0};
  return std::nullopt;
}

/// Reorders the gates of a matrix or a vector along its last axis.
mlir::Value reordered(Layer &layer, mlir::Value value, int64_t units, const Ints &order) {
  int64_t axis = layer.rank(value) - 1;
  mlir::Operation *parts = layer.node.emitOp("split", {value}, {{"axis", axis}, {"sizes", Ints(order.size(), units)}});
  Values gates;
  for (int64_t gate : order)
    gates.push_back(parts->getResult(static_cast<unsigned>(gate)));
  return layer.emit("concat", gates, {{"axis", axis}});
}

/// The steps that count, moved to the start of their rows.
struct Compaction {
  mlir::Value through; // i64, batch x steps: the number of steps that count, up to and including this one
  mlir::Value own;     // i64: 1 for a step that counts
  mlir::Value lengths; // i64, batch x 1
};

Compaction compaction(Layer &layer, mlir::Value mask) {
  mlir::Value own = layer.node.cast(mask, ElementType::i64);
  return {layer.emit("cum_sum", {own}, {{"axis", 1}}), own,
          layer.emit("reduce_sum", {own}, {{"axes", Ints{1}}, {"keepdims", true}})};
}

/// Expands positions, batch x steps, to the elements of the steps of `x`.
mlir::Value forElements(Layer &layer, mlir::Value positions, mlir::Value x) {
  return layer.node.expand(widened(layer, positions, layer.rank(x)), layer.dims(x), x);
}

mlir::Value compacted(Layer &layer, mlir::Value x, mlir::Value mask, const Compaction &c) {
  mlir::Value one = layer.node.constantScalar(ElementType::i64, 1);
  mlir::Value others = layer.emit("cum_sum", {layer.emit("sub", {one, c.own})}, {{"axis", 1}});
  mlir::Value target = layer.emit("where", {mask, c.through, layer.emit("add", {c.lengths, others})});
  mlir::Value positions = forElements(layer, layer.emit("sub", {target, one}), x);
  return layer.emit("scatter_elements", {x, positions, x}, {{"axis", 1}});
}

/// Moves the results of compacted steps back to the steps. A step that does not count has the result of the previous
/// computed step, or zero if there is none.
mlir::Value placed(Layer &layer, mlir::Value y, const RecurrentInput &input, const Compaction &c) {
  mlir::Value zero = layer.node.constantScalar(ElementType::i64, 0),
              one = layer.node.constantScalar(ElementType::i64, 1);
  mlir::Value index, exists;
  if (input.reverse) {
    index = layer.emit("sub", {c.through, c.own});
    exists = layer.emit("less", {index, c.lengths});
    index = layer.emit("where", {exists, index, zero});
  } else {
    exists = layer.emit("greater", {c.through, zero});
    index = layer.emit("max", {layer.emit("sub", {c.through, one}), zero});
  }
  mlir::Value gathered = layer.emit("gather_elements", {y, forElements(layer, index, y)}, {{"axis", 1}});
  mlir::Value kept = input.zeroMasked ? input.mask : exists;
  return layer.emit("where", {widened(layer, kept, 3), gathered, layer.scalar(0)});
}

/// Operands of the operator: weights, recurrent weights, biases.
struct OperatorWeights {
  mlir::Value w, r, b;
};

OperatorWeights operatorWeights(Layer &layer, const RecurrentCell &cell) {
  auto gates = [&](mlir::Value value) {
    return cell.kind == "LSTM" ? reordered(layer, value, cell.units, gateOrder("ifco")) : value;
  };
  auto matrix = [&](mlir::Value value) { return withAxis(layer.node, transpose(layer.node, gates(value), {1, 0})); };
  OperatorWeights result{matrix(cell.kernel), matrix(cell.recurrent), {}};
  if (cell.bias && layer.rank(cell.bias) == 2) { // a GRU with reset_after: a bias for each of the two products
    Dims flat = {Dim(1), product(layer.dims(cell.bias))};
    result.b = layer.node.reshape(cell.bias, flat);
  } else if (cell.bias) {
    mlir::Value bias = gates(cell.bias), none = layer.emit("sub", {bias, bias});
    result.b = withAxis(layer.node, layer.emit("concat", {bias, none}, {{"axis", 0}}));
  }
  return result;
}

/// The activations of the cell as attributes; nothing if nn lacks one of them or the user defines one.
std::optional<Fields> activationFields(Layer &layer, const RecurrentCell &cell) {
  json inner = "tanh", gate = "sigmoid";
  if (cell.config->contains("activation"))
    inner = (*cell.config)["activation"];
  if (cell.config->contains("recurrent_activation"))
    gate = (*cell.config)["recurrent_activation"];
  const auto &custom = layer.node.graph.options.custom;
  if (custom.contains(activationName(inner)) || (cell.kind != "SimpleRNN" && custom.contains(activationName(gate))))
    return std::nullopt;
  auto f = cellActivation(layer, gate), g = cellActivation(layer, inner);
  if (!f || !g)
    return std::nullopt;
  std::vector<CellActivation> all;
  if (cell.kind == "LSTM")
    all = {*f, *g, *g};
  else if (cell.kind == "GRU")
    all = {*f, *g};
  else
    all = {*g};
  std::string names;
  std::vector<double> alphas, betas;
  for (const CellActivation &each : all) {
    names += (names.empty() ? "" : ",") + each.name;
    alphas.push_back(each.alpha);
    betas.push_back(each.beta);
  }
  Fields fields = {{"activations", names}};
  if (std::any_of(all.begin(), all.end(), [](const CellActivation &each) { return each.alpha != 0; })) {
    fields.emplace_back("activation_alpha", alphas);
    fields.emplace_back("activation_beta", betas);
  }
  return fields;
}

RecurrentResult runOperator(Layer &layer, const RecurrentCell &cell, const RecurrentInput &input, Fields fields) {
  std::optional<Compaction> c;
  mlir::Value x = input.x, lengths;
  if (input.mask) {
    c = compaction(layer, input.mask);
    x = compacted(layer, x, input.mask, *c);
    lengths = layer.node.cast(layer.node.reshape(c->lengths, {layer.dims(c->lengths)[0]}), ElementType::i32);
  }
  OperatorWeights weights = operatorWeights(layer, cell);
  Values operands = {swappedSteps(layer, x), weights.w, weights.r, weights.b, lengths};
  for (mlir::Value state : input.states)
    operands.push_back(withAxis(layer.node, state));
  fields.emplace_back("direction", input.reverse ? "reverse" : "forward");
  if (cell.kind == "GRU")
    fields.emplace_back("linear_before_reset", flagMember(*cell.config, "reset_after", false));
  const char *mnemonic = cell.kind == "LSTM" ? "lstm" : cell.kind == "GRU" ? "gru" : "rnn";
  mlir::Operation *op = layer.node.emitOp(mnemonic, operands, fields);
  RecurrentResult result;
  result.sequence = swappedSteps(layer, withoutAxis(layer.node, op->getResult(0), 1));
  result.last = withoutAxis(layer.node, op->getResult(1), 0);
  for (size_t i = 0; i < cell.states(); ++i)
    result.states.push_back(withoutAxis(layer.node, op->getResult(static_cast<unsigned>(1 + i)), 0));
  if (!c)
    return result;
  result.sequence = placed(layer, result.sequence, input, *c);
  mlir::Value any = layer.emit("greater", {c->lengths, layer.node.constantScalar(ElementType::i64, 0)});
  for (size_t i = 0; i < input.states.size(); ++i)
    result.states[i] = layer.emit("where", {any, result.states[i], input.states[i]});
  if (input.zeroMasked) { // the last step may be one that does not count
    int64_t at = input.reverse ? 0 : -1;
    mlir::Value step = layer.emit("slice", {input.mask},
                                  {{"starts", Ints{at}}, {"ends", Ints{at == 0 ? 1 : INT64_MAX}}, {"axes", Ints{1}}});
    result.last = layer.emit("where", {step, result.last, layer.scalar(0)});
  }
  return result;
}

// ---- Layers -------------------------------------------------------------------------------------------------------

/// A layer of the file: its cells and its options.
struct RecurrentLayer {
  std::vector<RecurrentCell> cells;
  const json *options = nullptr;
  bool flag(const char *key) const { return flagMember(*options, key, false); }
  size_t states() const {
    size_t count = 0;
    for (const RecurrentCell &cell : cells)
      count += cell.states();
    return count;
  }
};

void addCell(Layer &layer, const std::string &className, const json &config, size_t &weight,
             std::vector<RecurrentCell> &cells) {
  std::string kind = className.ends_with("Cell") ? className.substr(0, className.size() - 4) : className;
  if (kind == "StackedRNNCells") {
    for (const json &cell : member(config, "cells"))
      addCell(layer, textMember(cell, "class_name"), member(cell, "config"), weight, cells);
    return;
  }
  if (kind == "CuDNNLSTM" || kind == "CuDNNGRU")
    return cells.push_back(cellOfCudnn(layer, kind, config, weight));
  if (kind != "LSTM" && kind != "GRU" && kind != "SimpleRNN")
    layer.unsupported(fmt::format("cells of class '{}' are not supported", className));
  bool apart = layer.version() == 1 && kind != "SimpleRNN" && textMember(config, "consume_less", "cpu") != "gpu";
  auto next = [&] { return layer.weight(weight++); };
  RecurrentCell cell =
      apart ? cellOfGates(layer, kind, config, weight) : RecurrentCell{kind, &config, next(), next(), {}, 0};
  if (!apart && flagMember(config, "use_bias", true))
    cell.bias = next();
  cell.units = integerMember(config, "units", integerMember(config, "output_dim", 0));
  require(layer.rank(cell.recurrent) == 2 && layer.dims(cell.recurrent)[0] == Dim(cell.units),
          "the recurrent kernel has extents {}, expected {} units", str(layer.dims(cell.recurrent)), cell.units);
  cells.push_back(cell);
}

RecurrentLayer readRecurrent(Layer &layer, const std::string &className, const json &config, size_t &weight) {
  RecurrentLayer result;
  result.options = &config;
  if (className == "RNN") {
    const json &cell = member(config, "cell");
    addCell(layer, textMember(cell, "class_name"), member(cell, "config"), weight, result.cells);
  } else {
    addCell(layer, className, config, weight, result.cells);
  }
  require(!result.cells.empty(), "has no cells");
  return result;
}

/// Runs the cells one after the other: each cell reads the results of the previous cell.
RecurrentResult runLayer(Layer &layer, const RecurrentLayer &recurrent, RecurrentInput input) {
  Values given = std::move(input.states);
  require(given.empty() || given.size() == recurrent.states(), "is given {} initial states, expected {}", given.size(),
          recurrent.states());
  RecurrentResult result;
  Values states;
  size_t next = 0;
  for (const RecurrentCell &cell : recurrent.cells) {
    input.states.clear();
    for (size_t i = 0; i < cell.states() && !given.empty(); ++i)
      input.states.push_back(given[next++]);
    result = runCell(layer, cell, input);
    input.x = result.sequence;
    states.insert(states.end(), result.states.begin(), result.states.end());
  }
  result.states = states;
  return result;
}

/// All tensors of the call after the first one, without masks.
Values initialStates(Layer &layer) {
  Values states;
  std::vector<size_t> masks = layer.tensorsIn(member(layer.source.call->keywords, "mask"));
  for (size_t i = 1; i < layer.tensorCount(); ++i)
    if (std::find(masks.begin(), masks.end(), i) == masks.end())
      states.push_back(layer.in(i));
  return states;
}

RecurrentInput inputOf(Layer &layer, const RecurrentLayer &recurrent) {
  RecurrentInput input;
  input.x = layer.in();
  input.mask = layer.mask();
  if (recurrent.flag("time_major")) {
    input.x = swappedSteps(layer, input.x);
    input.mask = input.mask ? transpose(layer.node, input.mask, {1, 0}) : input.mask;
  }
  require(layer.rank(input.x) == 3, "the operand has rank {}, expected 3", layer.rank(input.x));
  input.zeroMasked = recurrent.flag("zero_output_for_mask");
  return input;
}

/// The part of the results that the layer returns; `flip`: in reverse order of time.
mlir::Value resultOf(Layer &layer, const RecurrentLayer &recurrent, const RecurrentResult &result, bool flip) {
  if (!recurrent.flag("return_sequences"))
    return result.last;
  mlir::Value y = flip ? backwards(layer, result.sequence) : result.sequence;
  return recurrent.flag("time_major") ? swappedSteps(layer, y) : y;
}

/// Sets results from `first` on: the states that the layer returns, and the states for the next run.
void setStates(Layer &layer, const RecurrentLayer &recurrent, size_t first, const Values &states) {
  if (recurrent.flag("return_state"))
    for (size_t i = 0; i < states.size(); ++i)
      layer.node.set(first + i, states[i]);
  if (layer.source.stateful)
    for (size_t i = 0; i < states.size(); ++i)
      layer.node.set(layer.node.outputCount() - states.size() + i, states[i]);
}

void importRecurrent(Layer &layer) {
  size_t weight = 0;
  RecurrentLayer recurrent = readRecurrent(layer, layer.source.layer->className, layer.config, weight);
  layer.expectWeights(weight);
  RecurrentInput input = inputOf(layer, recurrent);
  input.states = initialStates(layer);
  input.reverse = recurrent.flag("go_backwards");
  RecurrentResult result = runLayer(layer, recurrent, input);
  layer.set(resultOf(layer, recurrent, result, input.reverse));
  setStates(layer, recurrent, 1, result.states);
}

mlir::Value merged(Layer &layer, const std::string &mode, mlir::Value forward, mlir::Value backward) {
  if (mode == "concat")
    return layer.emit("concat", {forward, backward}, {{"axis", -1}});
  if (mode == "sum")
    return layer.emit("add", {forward, backward});
  if (mode == "mul")
    return layer.emit("mul", {forward, backward});
  if (mode == "ave")
    return layer.emit("mul", {layer.emit("add", {forward, backward}), layer.scalar(0.5)});
  layer.unsupported(fmt::format("merge_mode '{}' is not supported", mode));
}

void importBidirectional(Layer &layer) {
  const json &forwardJson = member(layer.config, "layer"), &own = member(layer.config, "backward_layer");
  const json &backwardJson = own.is_null() ? forwardJson : own;
  size_t weight = 0;
  RecurrentLayer forward =
      readRecurrent(layer, textMember(forwardJson, "class_name"), member(forwardJson, "config"), weight);
  RecurrentLayer backward =
      readRecurrent(layer, textMember(backwardJson, "class_name"), member(backwardJson, "config"), weight);
  layer.expectWeights(weight);
  RecurrentInput input = inputOf(layer, forward);
  input.zeroMasked = forward.flag("return_sequences"); // Keras always sets zero_output_for_mask like this
  Values states = initialStates(layer);
  auto middle = states.begin() + static_cast<int64_t>(states.size() / 2);
  input.states.assign(states.begin(), middle);
  input.reverse = forward.flag("go_backwards");
  RecurrentResult ahead = runLayer(layer, forward, input);
  mlir::Value first = resultOf(layer, forward, ahead, input.reverse);
  input.states.assign(middle, states.end());
  input.reverse = !input.reverse;
  RecurrentResult behind = runLayer(layer, backward, input);
  // The results of the backward layer are reversed once more.
  mlir::Value second = resultOf(layer, backward, behind, !input.reverse);
  size_t next = 1;
  if (layer.config.contains("merge_mode") && layer.config["merge_mode"].is_null()) {
    layer.set(first);
    layer.node.set(next++, second);
  } else {
    layer.set(merged(layer, layer.text("merge_mode", "concat"), first, second));
  }
  Values all = ahead.states;
  all.insert(all.end(), behind.states.begin(), behind.states.end());
  setStates(layer, forward, next, all);
}

} // namespace

RecurrentResult runCell(Layer &layer, const RecurrentCell &cell, const RecurrentInput &input) {
  if (auto fields = activationFields(layer, cell))
    return runOperator(layer, cell, input, *fields);
  return runCellSteps(layer, cell, input);
}

void addRecurrentImporters(Importers &table) {
  table["LSTM"] = table["CuDNNLSTM"] = {importRecurrent, "`lstm`", MaskUse::steps};
  table["GRU"] = table["CuDNNGRU"] = {importRecurrent, "`gru`", MaskUse::steps};
  table["SimpleRNN"] = {importRecurrent, "`rnn`", MaskUse::steps};
  table["RNN"] = {importRecurrent, "`lstm`, `gru`, `rnn`, one for each cell", MaskUse::steps};
  table["Bidirectional"] = {importBidirectional, "the layer in both directions", MaskUse::steps};
  for (const char *name : {"ConvLSTM1D", "ConvLSTM2D", "ConvLSTM3D"})
    table[name] = {importConvLstm, "`conv` and arithmetic for every step", MaskUse::steps};
}

} // namespace lathe::keras
