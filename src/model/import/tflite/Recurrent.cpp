// Recurrent layers on float activations. Their states are variables, to which the operator gives new values.
#include "import/parts/Recurrent.h"
#include "import/tflite/Tflite.h"

namespace lathe::tflite {
namespace {

using enum BuiltinOperator;

/// Positions of the operands of one direction of an LSTM; weights are in the order of the gates i, f, c, o.
struct LstmOperands {
  size_t input, recurrent, peephole, bias, projection; // peephole: i, f, o; projection: weights, bias
  size_t hidden, cell;
  size_t norm; // 0: none
};

/// Data that the steps of one direction share.
class Lstm {
public:
  Lstm(Operator &op, const LstmOperands &at, Activation activation, double cellClip, double projectionClip,
       bool asymmetric)
      : op(op), node(op.node), at(at), activation(activation), cellClip(cellClip), projectionClip(projectionClip),
        asymmetric(asymmetric), coupled(!has(at.input)) {
    for (size_t gate = coupled ? 1 : 0; gate < 4; ++gate)
      require(has(at.input + gate) && has(at.recurrent + gate), "lacks the weights of gate {}", gate);
  }

  /// x: steps x batch x inputs. Returns the hidden states of all steps; sets both variables.
  mlir::Value run(mlir::Value x, bool reverse) {
    require(op.rank(x) == 3, "the operand has rank {}, expected 3", op.rank(x));
    return isPlain() ? asOperator(x, reverse) : stepByStep(x, reverse);
  }

private:
  Operator &op;
  Node &node;
  const LstmOperands at;
  const Activation activation;
  const double cellClip, projectionClip;
  const bool asymmetric, coupled; // coupled: the input gate is 1 - forget gate

  bool has(size_t index) const { return op.node.has(index); }
  mlir::Value operand(size_t index) const { return op.in(index); }
  bool isHybridLayer() const { return op.inputType(at.input + 1) != op.inputType(0); }

  /// True if nn.lstm computes the layer.
  bool isPlain() const {
    bool norms = at.norm && (has(at.norm + 1) || has(at.norm + 2));
    return activation == Activation::TANH && cellClip == 0 && !has(at.projection) && !norms && !isHybridLayer();
  }

  mlir::Value concat(const Values &parts, int64_t axis) {
    return parts.size() == 1 ? parts[0] : node.emit("concat", parts, {{"axis", axis}});
  }
  mlir::Value oneMore(mlir::Value value) { return withAxis(node, value); }

  /// Operands of the gates in the order i, o, f, c. A coupled gate is 1 - sigmoid(z) = sigmoid(-z): its weights are the
  /// negated weights of the forget gate.
  mlir::Value gates(size_t first, bool peephole = false) {
    size_t forget = first + 1, output = peephole ? first + 2 : first + 3;
    mlir::Value input = coupled ? node.emit("neg", {operand(forget)}) : operand(first);
    Values parts = {input, operand(output), operand(forget)};
    if (!peephole)
      parts.push_back(operand(first + 2));
    return concat(parts, 0);
  }

  mlir::Value asOperator(mlir::Value x, bool reverse) {
    mlir::Value w = oneMore(gates(at.input)), r = oneMore(gates(at.recurrent)), p, b;
    if (has(at.bias + 1)) {
      mlir::Value bias = gates(at.bias);
      mlir::Value zeros = node.emit("sub", {bias, bias});
      b = oneMore(concat({bias, zeros}, 0));
    }
    if (has(at.peephole + 1))
      p = oneMore(gates(at.peephole, /*peephole=*/true));
    mlir::Operation *lstm =
        node.emitOp("lstm", {x, w, r, b, {}, oneMore(operand(at.hidden)), oneMore(operand(at.cell)), p},
                    {{"direction", reverse ? "reverse" : "forward"}, {"input_forget", coupled}});
    auto first = [&](mlir::Value value) { // removes the axis of directions, the third from the end
      return withoutAxis(node, value, op.dims(value).size() - 3);
    };
    op.setVariable(at.hidden, first(lstm->getResult(1)));
    op.setVariable(at.cell, first(lstm->getResult(2)));
    return first(lstm->getResult(0));
  }

  /// The product of x and the weights of one gate: x * w^T.
  mlir::Value product(mlir::Value x, size_t weights) {
    if (!isHybrid(op, weights))
      return node.emit("gemm", {x, operand(weights), {}}, {{"trans_b", true}});
    return hybridProduct(op, x, weights, asymmetric);
  }

  mlir::Value preactivation(size_t gate, mlir::Value x, mlir::Value h, mlir::Value c) {
    mlir::Value z = node.emit("add", {product(x, at.input + gate), product(h, at.recurrent + gate)});
    size_t peephole = at.peephole + (gate == 3 ? 2 : gate);
    if (gate != 2 && has(peephole))
      z = node.emit("add", {z, node.emit("mul", {c, operand(peephole)})});
    if (at.norm && has(at.norm + gate))
      z = normalized(z, operand(at.norm + gate));
    return has(at.bias + gate) ? node.emit("add", {z, operand(at.bias + gate)}) : z;
  }

  mlir::Value normalized(mlir::Value z, mlir::Value scale) {
    return node.emit("layer_norm", {z, scale, {}}, {{"axis", -1}, {"epsilon", 1e-8}});
  }

  static mlir::Value clipped(Node &node, mlir::Value x, double limit) {
    return limit > 0 ? node.emit("clip", {x}, {{"min", -limit}, {"max", limit}}) : x;
  }

  /// One step: the new hidden and cell states.
  std::pair<mlir::Value, mlir::Value> step(mlir::Value x, mlir::Value h, mlir::Value c) {
    mlir::Value f = node.emit("sigmoid", {preactivation(1, x, h, c)});
    mlir::Value i = coupled ? node.emit("sub", {node.constantScalar(ElementType::f32, 1), f})
                            : node.emit("sigmoid", {preactivation(0, x, h, c)});
    mlir::Value g = activate(node, preactivation(2, x, h, c), activation);
    c = clipped(node, node.emit("add", {node.emit("mul", {f, c}), node.emit("mul", {i, g})}), cellClip);
    mlir::Value o = node.emit("sigmoid", {preactivation(3, x, h, c)});
    h = node.emit("mul", {o, activate(node, c, activation)});
    if (has(at.projection)) {
      h = product(h, at.projection);
      if (has(at.projection + 1))
        h = node.emit("add", {h, operand(at.projection + 1)});
      h = clipped(node, h, projectionClip);
    }
    return {h, c};
  }

  mlir::Value stepByStep(mlir::Value x, bool reverse) {
    mlir::Value h = operand(at.hidden), c = operand(at.cell);
    Values all = unrolled(node, x, 0, reverse, "a layer with projection, clipping or quantised weights",
                          [&](mlir::Value one, int64_t) {
                            std::tie(h, c) = step(one, h, c);
                            return h;
                          });
    op.setVariable(at.hidden, h);
    op.setVariable(at.cell, c);
    return concat(all, 0);
  }
};

/// Checks the number of operands; operands of gates may be absent.
void expectPlaces(const Operator &op, size_t least, size_t most) {
  size_t count = op.node.inputCount();
  require(count >= least && count <= most, "has {} inputs, expected {} to {}", count, least, most);
}

size_t sizeOfOutputs(const Operator &op) { return op.source.op->outputs() ? op.source.op->outputs()->size() : 0; }

/// Sets the results of both directions: concatenated along the last axis, or two results.
void setDirections(Operator &op, const Values &both, bool merged) {
  if (merged) {
    op.set(op.emit("concat", both, {{"axis", -1}}));
    return;
  }
  op.set(both[0]);
  op.node.set(1, both[1]);
}

mlir::Value swapped(Operator &op, mlir::Value x, bool swap) { return swap ? transpose(op.node, x, {1, 0, 2}) : x; }

void importSequenceLstm(Operator &op) {
  expectPlaces(op, 20, 24);
  const auto &options = op.options<file::UnidirectionalLstmOptions>(BuiltinOptions::UnidirectionalSequenceLSTM);
  if (options.diagonal_recurrent())
    op.unsupported("diagonal recurrent weights");
  Lstm lstm(op, {1, 5, 9, 12, 16, 18, 19, 20}, options.activation(), options.cell_clip(), options.proj_clip(),
            options.asymmetric_inputs());
  mlir::Value y = lstm.run(swapped(op, op.in(0), !options.time_major()), /*reverse=*/false);
  op.set(swapped(op, y, !options.time_major()));
}

/// A single step of TensorFlow's BasicLSTMCell: one matrix for input and hidden state, gates in the order i, c, f, o.
/// The states are operands and results.
void importBasicLstm(Operator &op) {
  op.node.expectInputs(5, 5);
  mlir::Value both = op.emit("concat", {op.in(0), op.in(1)}, {{"axis", -1}});
  mlir::Value z = op.emit("gemm", {both, op.in(2), op.in(3)}, {{"trans_b", true}});
  const Dims dims = op.dims(op.in(4));
  require(dims.size() == 2 && dims[1].isConstant(), "the state has extents {}, expected two", str(dims));
  mlir::Operation *parts = op.node.emitOp("split", {z}, {{"axis", 1}, {"sizes", Ints(4, dims[1].constant())}});
  auto gate = [&](unsigned index) { return op.emit(index == 1 ? "tanh" : "sigmoid", {parts->getResult(index)}); };
  mlir::Value cell = op.emit("add", {op.emit("mul", {gate(0), gate(1)}), op.emit("mul", {gate(2), op.in(4)})});
  mlir::Value hidden = op.emit("mul", {gate(3), op.emit("tanh", {cell})});
  op.set(hidden);
  op.node.set(1, cell);
  op.setVariable(1, hidden);
  op.setVariable(4, cell);
  if (op.node.wants(2)) // scratch of TensorFlow Lite, never read
    op.node.set(2, both);
  if (op.node.wants(3))
    op.node.set(3, z);
}

/// A single step. Old files have scratch results before the output.
void importLstm(Operator &op) {
  const auto &options = op.options<file::LstmOptions>(BuiltinOptions::LSTM);
  if (options.kernel() == file::LstmKernel::BASIC)
    return importBasicLstm(op);
  expectPlaces(op, 20, 24);
  Lstm lstm(op, {1, 5, 9, 12, 16, 18, 19, 20}, options.activation(), options.cell_clip(), options.proj_clip(),
            options.asymmetric_inputs());
  Dims dims = op.dims(op.in(0));
  require(dims.size() == 2, "the operand has rank {}, expected 2", dims.size());
  mlir::Value y = lstm.run(op.node.reshape(op.in(0), {Dim(1), dims[0], dims[1]}), /*reverse=*/false);
  Dims rows = op.dims(y);
  rows.erase(rows.begin());
  require(sizeOfOutputs(op) > 0, "has no result");
  op.node.set(sizeOfOutputs(op) - 1, op.node.reshape(y, rows));
}

void importBidirectionalLstm(Operator &op) {
  expectPlaces(op, 39, 48);
  const auto &options = op.options<file::BidirectionalLstmOptions>(BuiltinOptions::BidirectionalSequenceLSTM);
  for (size_t i = 39; i < op.node.inputCount(); ++i)
    if (op.node.has(i))
      op.unsupported("an auxiliary input");
  mlir::Value x = swapped(op, op.in(0), !options.time_major());
  Values both;
  for (bool backward : {false, true}) {
    size_t base = backward ? 17 : 0;
    Lstm lstm(op, {base + 1, base + 5, base + 9, base + 12, base + 16, backward ? 37u : 35u, backward ? 38u : 36u, 0},
              options.activation(), options.cell_clip(), options.proj_clip(), options.asymmetric_inputs());
    both.push_back(swapped(op, lstm.run(x, backward), !options.time_major()));
  }
  setDirections(op, both, options.merge_outputs());
}

// ---- Simple recurrent layers --------------------------------------------------------------------------------------

/// The result of a step of an RNN: activation(x w^T + h r^T + bias).
mlir::Value rnnStep(Operator &op, mlir::Value x, mlir::Value h, size_t weights, Activation activation,
                    bool asymmetric) {
  auto product = [&](mlir::Value value, size_t index) {
    return isHybrid(op, index) ? hybridProduct(op, value, index, asymmetric)
                               : op.emit("gemm", {value, op.in(index), {}}, {{"trans_b", true}});
  };
  mlir::Value z = op.emit("add", {product(x, weights), product(h, weights + 1)});
  return activate(op.node, op.emit("add", {z, op.in(weights + 2)}), activation);
}

void importRnn(Operator &op) {
  const auto &options = op.options<file::RnnOptions>(BuiltinOptions::RNN);
  mlir::Value h = rnnStep(op, op.in(0), op.in(4), 1, options.activation(), options.asymmetric_inputs());
  op.setVariable(4, h);
  op.set(h);
}

/// Unrolls all steps of one direction.
mlir::Value rnnSteps(Operator &op, mlir::Value x, size_t weights, Activation activation, bool asymmetric,
                     bool reverse) {
  require(op.rank(x) == 3, "the operand has rank {}, expected 3", op.rank(x));
  mlir::Value h = op.in(weights + 3);
  Values all = unrolled(op.node, x, 0, reverse, "a layer", [&](mlir::Value one, int64_t) {
    return h = rnnStep(op, one, h, weights, activation, asymmetric);
  });
  op.setVariable(weights + 3, h);
  return op.emit("concat", all, {{"axis", 0}});
}

void importSequenceRnn(Operator &op) {
  const auto &options = op.options<file::SequenceRnnOptions>(BuiltinOptions::SequenceRNN);
  mlir::Value x = swapped(op, op.in(0), !options.time_major());
  mlir::Value y = rnnSteps(op, x, 1, options.activation(), options.asymmetric_inputs(), /*reverse=*/false);
  op.set(swapped(op, y, !options.time_major()));
}

void importBidirectionalRnn(Operator &op) {
  expectPlaces(op, 9, 12);
  const auto &options = op.options<file::BidirectionalRnnOptions>(BuiltinOptions::BidirectionalSequenceRNN);
  for (size_t i = 9; i < op.node.inputCount(); ++i)
    if (op.node.has(i))
      op.unsupported("an auxiliary input");
  mlir::Value x = swapped(op, op.in(0), !options.time_major());
  Values both;
  for (bool backward : {false, true}) {
    mlir::Value y =
        rnnSteps(op, x, backward ? 5 : 1, options.activation(), options.asymmetric_inputs(), /*reverse=*/backward);
    both.push_back(swapped(op, y, !options.time_major()));
  }
  setDirections(op, both, options.merge_outputs());
}

/// The state holds the last `memory` results of every filter, the newest one at the end.
void importSvdf(Operator &op) {
  const auto &options = op.options<file::SvdfOptions>(BuiltinOptions::SVDF);
  mlir::Value x = op.in(0), time = op.in(2), state = op.in(4);
  const Dims timeDims = op.dims(time), stateDims = op.dims(state);
  require(timeDims.size() == 2 && allConstant(timeDims) && stateDims.size() == 2,
          "has time weights {} and a state of {}, expected rank 2", str(timeDims), str(stateDims));
  int64_t filters = timeDims[0].constant(), memory = timeDims[1].constant(), rank = options.rank();
  require(rank >= 1 && filters % rank == 0 && memory >= 1, "has rank {} and {} filters of {} steps", rank, filters,
          memory);
  mlir::Value newest = isHybrid(op, 1) ? hybridProduct(op, x, 1, options.asymmetric_inputs())
                                       : op.emit("gemm", {x, op.in(1), {}}, {{"trans_b", true}});
  if (op.inputType(2) != ElementType::f32)
    op.unsupported("quantised time weights beside float activations");
  Dims whole = {stateDims[0], Dim(filters), Dim(memory)};
  mlir::Value past = op.emit("slice", {op.node.reshape(state, whole)},
                             {{"starts", Ints{1}}, {"ends", Ints{memory}}, {"axes", Ints{2}}});
  mlir::Value column = op.node.reshape(newest, {stateDims[0], Dim(filters), Dim(1)});
  mlir::Value moved = op.emit("concat", {past, column}, {{"axis", 2}});
  op.setVariable(4, op.node.reshape(moved, stateDims));
  mlir::Value sums = op.emit("reduce_sum", {op.emit("mul", {moved, time})}, {{"axes", Ints{2}}, {"keepdims", false}});
  sums = op.node.reshape(sums, {stateDims[0], Dim(filters / rank), Dim(rank)});
  mlir::Value y = op.emit("reduce_sum", {sums}, {{"axes", Ints{2}}, {"keepdims", false}});
  if (op.node.has(3))
    y = op.emit("add", {y, op.in(3)});
  op.set(activate(op.node, y, options.activation()));
}

} // namespace

void addRecurrentImporters(Importers &table) {
  table[UNIDIRECTIONAL_SEQUENCE_LSTM] = {importSequenceLstm};
  table[BIDIRECTIONAL_SEQUENCE_LSTM] = {importBidirectionalLstm};
  table[LSTM] = {importLstm};
  table[RNN] = {importRnn, 5};
  table[UNIDIRECTIONAL_SEQUENCE_RNN] = {importSequenceRnn, 5};
  table[BIDIRECTIONAL_SEQUENCE_RNN] = {importBidirectionalRnn};
  table[SVDF] = {importSvdf, 5};
}

} // namespace lathe::tflite
