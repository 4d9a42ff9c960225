// Recurrent layers and their cells.
#include "import/parts/Recurrent.h"
#include "import/tensorflow/TensorFlow.h"
#include "support/Text.h"

namespace lathe::tensorflow {
namespace {

// ---- LSTM: cell, and layer of cells -------------------------------------------------------------------------------

/// The weights and options of a cell: one matrix for all gates, (inputs + states) x 4 states.
struct LstmCell {
  mlir::Value w, b;
  mlir::Value peepholes[3]; // for the gates i, f, o; null: none
  double forgetBias = 0, clip = 0;
  std::string_view gates = "icfo"; // the order in the matrix

  bool hasPeepholes() const { return peepholes[0] != nullptr; }
};

/// Operands from `first` on: matrix, peepholes i, f, o, biases.
LstmCell readCell(Operator &op, size_t first) {
  LstmCell cell;
  cell.w = op.in(first);
  cell.b = op.in(first + 4);
  if (op.boolAttr("use_peephole", false))
    for (size_t i = 0; i < 3; ++i)
      cell.peepholes[i] = op.in(first + 1 + i);
  bool second = op.code() == "BlockLSTMV2"; // gates i, f, c, o and no bias of the forget gate
  if (second)
    cell.gates = "ifco";
  cell.forgetBias = second ? 0 : op.node.floatAttr("forget_bias", 1);
  cell.clip = op.node.floatAttr("cell_clip", second ? 0 : 3);
  return cell;
}

/// i, cs, f, o, ci, co and h, in the order of the operators' results.
struct LstmStep {
  mlir::Value values[7];
  mlir::Value cell() const { return values[1]; }
  mlir::Value hidden() const { return values[6]; }
};

LstmStep lstmStep(Operator &op, const LstmCell &cell, mlir::Value x, mlir::Value c, mlir::Value h) {
  mlir::Value z = op.emit("gemm", {op.emit("concat", {x, h}, {{"axis", 1}}), cell.w, cell.b});
  int64_t states = knownExtent(op, op.dims(c).at(1), "the states");
  mlir::Operation *split = op.node.emitOp("split", {z}, {{"axis", 1}, {"sizes", Ints(4, states)}});
  auto gate = [&](char name) { return split->getResult(static_cast<unsigned>(cell.gates.find(name))); };
  auto peeped = [&](mlir::Value value, mlir::Value state, size_t index) {
    return cell.hasPeepholes() ? op.emit("add", {value, op.emit("mul", {state, cell.peepholes[index]})}) : value;
  };
  mlir::Value f = gate('f');
  if (cell.forgetBias != 0)
    f = op.emit("add", {f, op.number(op.typeOf(f), cell.forgetBias)});
  mlir::Value i = op.emit("sigmoid", {peeped(gate('i'), c, 0)});
  f = op.emit("sigmoid", {peeped(f, c, 1)});
  mlir::Value ci = op.emit("tanh", {gate('c')});
  mlir::Value cs = op.emit("add", {op.emit("mul", {ci, i}), op.emit("mul", {c, f})});
  if (cell.clip > 0)
    cs = op.emit("clip", {cs}, {{"min", -cell.clip}, {"max", cell.clip}});
  mlir::Value o = op.emit("sigmoid", {peeped(gate('o'), cs, 2)});
  mlir::Value co = op.emit("tanh", {cs});
  return {{i, cs, f, o, ci, co, op.emit("mul", {co, o})}};
}

void importLstmCell(Operator &op) { // x, cell, hidden, then the cell's operands
  LstmStep step = lstmStep(op, readCell(op, 3), op.in(0), op.in(1), op.in(2));
  for (size_t i = 0; i < 7; ++i)
    op.node.set(i, step.values[i]);
}

/// Reorders the rows of a matrix in groups of `each`.
mlir::Value reordered(Operator &op, mlir::Value rows, int64_t each, const Ints &order) {
  Values parts;
  for (int64_t group : order)
    parts.push_back(cut(op, rows, 0, group * each, (group + 1) * each));
  return op.emit("concat", parts, {{"axis", 0}});
}

/// Computes the hidden states of all steps with nn.lstm.
mlir::Value lstmLayer(Operator &op, const LstmCell &cell, mlir::Value lengths) {
  mlir::Value x = op.in(1);
  int64_t inputs = knownExtent(op, op.dims(x).at(2), "the inputs"),
          states = knownExtent(op, op.dims(op.in(2)).at(1), "the states");
  Ints order = gateOrder(cell.gates);
  mlir::Value turned = transpose(op.node, cell.w, {1, 0});
  mlir::Value rows = reordered(op, turned, states, order), bias = reordered(op, cell.b, states, order);
  ElementType type = op.typeOf(x);
  TensorData forget{ElementType::f32, {4 * states}, {}, {}};
  std::vector<float> values(static_cast<size_t>(4 * states), 0);
  std::fill(values.begin() + 2 * states, values.begin() + 3 * states, static_cast<float>(cell.forgetBias));
  forget.bytes.assign(reinterpret_cast<const char *>(values.data()),
                      reinterpret_cast<const char *>(values.data() + values.size()));
  mlir::Value biases = op.emit("concat", {bias, op.node.cast(op.node.constant(forget), type)}, {{"axis", 0}}), p;
  if (cell.hasPeepholes())
    p = withAxis(op.node, op.emit("concat", {cell.peepholes[0], cell.peepholes[2], cell.peepholes[1]}, {{"axis", 0}}));
  mlir::Value y =
      op.emit("lstm", {x, withAxis(op.node, cut(op, rows, 1, 0, inputs)),
                       withAxis(op.node, cut(op, rows, 1, inputs, inputs + states)), withAxis(op.node, biases), lengths,
                       withAxis(op.node, op.in(3)), withAxis(op.node, op.in(2)), p});
  return withoutAxis(op.node, y, 1); // from time, direction, batch, states
}

/// Operands: number of steps, x (time x batch x inputs), cell state, hidden state, then the operands of readCell.
void importLstmLayer(Operator &op) {
  LstmCell cell = readCell(op, 4);
  mlir::Value x = op.in(1);
  require(op.rank(x) == 3, "the operand has rank {}, expected 3", op.rank(x));
  const Dims dims = op.dims(x);
  const auto &steps = op.node.info(op.in(0)).contents;
  auto known = op.node.staticInts(op.in(0));
  bool whole =
      known ? *known == Ints{dims[0].constantOr(-1)} : steps && steps->size() == 1 && steps->front() == dims[0];
  bool others = false;
  for (size_t i = 0; i < 6; ++i)
    others |= op.node.wants(i);
  if (cell.clip <= 0 && !others) {
    mlir::Value lengths;
    if (!whole)
      lengths = op.node.expand(op.node.reshape(op.node.cast(op.in(0), ElementType::i32), {Dim(1)}), {dims[1]},
                               cut(op, x, 0, 0, 1));
    op.node.set(6, lstmLayer(op, cell, lengths));
    return;
  }
  if (!whole)
    op.unsupported("a layer that clips its cell, or whose gates are used, on fewer steps than its operand has");
  Values all[7];
  mlir::Value c = op.in(2), h = op.in(3);
  all[6] = unrolled(op.node, x, 0, false, "a layer that clips its cell, or whose gates are used,",
                    [&](mlir::Value one, int64_t) {
                      LstmStep step = lstmStep(op, cell, one, c, h);
                      c = step.cell(), h = step.hidden();
                      for (size_t i = 0; i < 6; ++i)
                        all[i].push_back(withAxis(op.node, step.values[i]));
                      return h;
                    });
  for (size_t i = 0; i < 7; ++i)
    if (op.node.wants(i))
      op.node.set(i, op.emit("concat", all[i], {{"axis", 0}}));
}

/// Operands: x, hidden, matrix of reset and update, matrix of the candidate, biases of both.
void importGruCell(Operator &op) {
  mlir::Value x = op.in(0), h = op.in(1);
  int64_t states = knownExtent(op, op.dims(h).at(1), "the states");
  auto product = [&](mlir::Value state, size_t w, size_t b) {
    return op.emit("gemm", {op.emit("concat", {x, state}, {{"axis", 1}}), op.in(w), op.in(b)});
  };
  mlir::Value both = op.emit("sigmoid", {product(h, 2, 4)});
  mlir::Value r = cut(op, both, 1, 0, states), u = cut(op, both, 1, states, 2 * states);
  mlir::Value c = op.emit("tanh", {product(op.emit("mul", {r, h}), 3, 5)});
  mlir::Value rest = op.emit("mul", {op.emit("sub", {op.number(op.typeOf(u), 1), u}), c});
  mlir::Value values[] = {r, u, c, op.emit("add", {op.emit("mul", {u, h}), rest})};
  for (size_t i = 0; i < 4; ++i)
    op.node.set(i, values[i]);
}

// ---- CudnnRNN -----------------------------------------------------------------------------------------------------

/// The order in the buffer of weights for a kind of layer: matrices of all gates for the input, then for the state; the
/// biases follow behind all matrices of all layers, in the same order.
struct CudnnKind {
  const char *mode, *mnemonic, *activations;
  Ints order; // order of the gates in nn
};

const CudnnKind &kindOf(const std::string &mode) {
  static const CudnnKind kinds[] = {{"lstm", "lstm", "", gateOrder("ifco")},
                                    {"gru", "gru", "", gateOrder("rzh")},
                                    {"rnn_tanh", "rnn", "tanh", {0}},
                                    {"rnn_relu", "rnn", "relu", {0}}};
  for (const CudnnKind &kind : kinds)
    if (mode == kind.mode)
      return kind;
  fail("rnn_mode is '{}', expected lstm, gru, rnn_tanh or rnn_relu", oneLine(mode));
}

class Cudnn {
public:
  explicit Cudnn(Operator &op) : op(op), kind(kindOf(op.node.stringAttr("rnn_mode", "lstm"))) {}

  void run() {
    readOptions();
    bool timeFirst = op.boolAttr("time_major", true);
    auto swapped = [&](mlir::Value value) { return timeFirst ? value : transpose(op.node, value, {1, 0, 2}); };
    mlir::Value x = swapped(op.in(0)), h0 = swapped(op.in(1));
    mlir::Value c0 = isLstm() ? swapped(op.in(2)) : mlir::Value();
    require(op.rank(x) == 3 && op.rank(h0) == 3, "operands have ranks {} and {}, expected 3", op.rank(x), op.rank(h0));
    states = knownExtent(op, op.dims(h0)[2], "the states");
    int64_t count = knownExtent(op, op.dims(h0)[0], "the layers");
    require(count >= 1 && count % directions == 0 && states >= 1, "has {} layers of {} directions", count, directions);
    layers = count / directions;
    mlir::Value lengths = op.node.has(4) ? op.node.cast(op.in(4), ElementType::i32) : mlir::Value();
    locate(knownExtent(op, op.dims(x)[2], "the inputs"));
    Values hidden, cells;
    for (int64_t layer = 0; layer < layers; ++layer)
      x = emitLayer(layer, x, h0, c0, lengths, hidden, cells);
    op.set(swapped(x));
    op.node.set(1, swapped(op.emit("concat", hidden, {{"axis", 0}})));
    op.node.set(2, isLstm() ? swapped(op.emit("concat", cells, {{"axis", 0}})) : op.in(2));
  }

private:
  Operator &op;
  const CudnnKind &kind;
  int64_t directions = 1, layers = 1, states = 0;
  Ints inputs, weights; // for each layer: extent of its input, start of its weights
  int64_t biases = 0;   // start of the biases

  bool isLstm() const { return std::string_view(kind.mnemonic) == "lstm"; }
  int64_t gates() const { return static_cast<int64_t>(kind.order.size()); }

  void readOptions() {
    std::string direction = op.node.stringAttr("direction", "unidirectional");
    require(direction == "unidirectional" || direction == "bidirectional",
            "direction is '{}', expected unidirectional or bidirectional", oneLine(direction));
    directions = direction == "bidirectional" ? 2 : 1;
    std::string mode = op.node.stringAttr("input_mode", "linear_input");
    if (mode != "linear_input" && mode != "auto_select")
      op.unsupported("input_mode '" + oneLine(mode) + "'");
    if (op.node.intAttr("num_proj", 0) != 0)
      op.unsupported("projections of the states");
    double dropout = op.node.floatAttr("dropout", 0);
    if (op.boolAttr("is_training", true) && dropout != 0)
      op.unsupported("is_training is set, with dropout");
  }

  void locate(int64_t first) {
    int64_t at = 0;
    for (int64_t layer = 0; layer < layers; ++layer) {
      inputs.push_back(layer ? directions * states : first);
      for (int64_t direction = 0; direction < directions; ++direction) {
        weights.push_back(at);
        at += gates() * states * (inputs.back() + states);
      }
    }
    biases = at;
    at += layers * directions * 2 * gates() * states;
    int64_t given = knownExtent(op, op.dims(op.in(3)).at(0), "the weights");
    require(given == at, "has {}, expected {}", counted(given, "weight"), at);
  }

  /// `rows` x `columns` weights of all gates, starting at `begin`, in the order of nn; a vector if `columns` is 0.
  mlir::Value part(int64_t begin, int64_t columns) {
    int64_t count = gates() * states * std::max<int64_t>(columns, 1);
    mlir::Value all = cut(op, op.in(3), 0, begin, begin + count);
    if (columns)
      all = op.node.reshape(all, {Dim(gates() * states), Dim(columns)});
    return gates() == 1 ? all : reordered(op, all, states, kind.order);
  }

  mlir::Value both(const Values &parts) { // stacks the directions along a first axis
    Values rows;
    for (mlir::Value one : parts)
      rows.push_back(withAxis(op.node, one));
    return rows.size() == 1 ? rows[0] : op.emit("concat", rows, {{"axis", 0}});
  }

  mlir::Value emitLayer(int64_t layer, mlir::Value x, mlir::Value h0, mlir::Value c0, mlir::Value lengths,
                        Values &hidden, Values &cells) {
    Values w, r, b;
    for (int64_t direction = 0; direction < directions; ++direction) {
      int64_t index = layer * directions + direction, at = weights[static_cast<size_t>(index)];
      int64_t in = inputs[static_cast<size_t>(layer)], bias = biases + index * 2 * gates() * states;
      w.push_back(part(at, in));
      r.push_back(part(at + gates() * states * in, states));
      b.push_back(op.emit("concat", {part(bias, 0), part(bias + gates() * states, 0)}, {{"axis", 0}}));
    }
    Fields fields = {{"direction", directions == 2 ? "bidirectional" : "forward"}};
    if (*kind.activations)
      fields.emplace_back("activations", directions == 2 ? std::string(kind.activations) + "," + kind.activations
                                                         : std::string(kind.activations));
    if (std::string_view(kind.mnemonic) == "gru")
      fields.emplace_back("linear_before_reset", true);
    auto own = [&](mlir::Value all) { return cut(op, all, 0, layer * directions, (layer + 1) * directions); };
    Values operands = {x, both(w), both(r), both(b), lengths, own(h0)};
    if (isLstm())
      operands.insert(operands.end(), {own(c0), mlir::Value()});
    mlir::Operation *made = op.node.emitOp(kind.mnemonic, operands, fields);
    hidden.push_back(made->getResult(1));
    if (isLstm())
      cells.push_back(made->getResult(2));
    const Dims dims = op.dims(made->getResult(0)); // time, direction, batch, states
    return op.node.reshape(transpose(op.node, made->getResult(0), {0, 2, 1, 3}),
                           {dims[0], dims[2], Dim(directions * states)});
  }
};

void importCudnn(Operator &op) { Cudnn(op).run(); }

} // namespace

void addRecurrentImporters(Importers &table) {
  table["LSTMBlockCell"] = {importLstmCell, 8};
  table["BlockLSTM"] = table["BlockLSTMV2"] = {importLstmLayer, 9};
  table["GRUBlockCell"] = {importGruCell, 6};
  table["CudnnRNN"] = table["CudnnRNNV2"] = {importCudnn, 4};
  table["CudnnRNNV3"] = {importCudnn, 5};
}

} // namespace lathe::tensorflow
