// Recurrent layers on 8-bit activations with a state of 16 bits, unrolled step by step. Sources: lstm_eval.cc
// (LstmStepInteger8x8_16), svdf.h and portable_tensor_utils.cc of tensorflow/lite/kernels.
#include "import/parts/Recurrent.h"
#include "import/tflite/QuantizedParts.h"

#include <cmath>

namespace lathe::tflite {
namespace {

using enum BuiltinOperator;
constexpr Uniform sums{ElementType::i32, 1, 0};

/// Saturates to 16 bits in an i32, the form of values between operators.
mlir::Value saturated(Operator &op, mlir::Value x) {
  return op.emit("clip", {x}, {{"min", -32768.0}, {"max", 32767.0}});
}

mlir::Value wide(Operator &op, mlir::Value x) { return op.node.cast(x, ElementType::i32); }

/// x * w^T, where w has a row for every result, with the zero point of x.
mlir::Value product(Operator &op, mlir::Value x, int64_t zero, mlir::Value w) {
  if (zero < -128 || zero > 127)
    op.unsupported(fmt::format("zero point {} of 8 bits", zero));
  mlir::Value point = zero ? op.node.constantScalar(ElementType::i8, static_cast<double>(zero)) : mlir::Value();
  return op.emit("matmul_integer", {x, transpose(op.node, w, {1, 0}), point, {}});
}

mlir::Value slice(Operator &op, mlir::Value x, int64_t axis, int64_t begin, int64_t end) {
  return op.emit("slice", {x}, {{"starts", Ints{begin}}, {"ends", Ints{end}}, {"axes", Ints{axis}}});
}

// ---- LSTM -------------------------------------------------------------------------------------------------------------

// Positions of operands. Gates are in the order i, f, c, o; peepholes in the order i, f, o.
constexpr size_t inputAt = 1, recurrentAt = 5, peepholeAt = 9, biasAt = 12, projectionAt = 16, hiddenAt = 18,
                 cellAt = 19, normAt = 20;

class IntegerLstm {
public:
  IntegerLstm(Operator &op, Activation activation, float cellClip, float projectionClip)
      : op(op), coupled(!op.node.has(inputAt)), norms(op.node.has(normAt + 1)), x(uniformInput(op, 0)),
        hidden(uniformInput(op, hiddenAt)), cell(uniformInput(op, cellAt)), inner(uniformIntermediate(op, 4)) {
    if (activation != Activation::TANH)
      op.unsupported("a quantised LSTM without tanh");
    for (const auto &[what, given, expected] :
         {std::tuple{"operand", x.type, ElementType::i8}, std::tuple{"hidden state", hidden.type, ElementType::i8},
          std::tuple{"cell state", cell.type, ElementType::i16}})
      require(given == expected, "the {} is {}, expected {}", what, name(given), name(expected));
    for (size_t gate = first(); gate < 4; ++gate)
      require(op.node.has(inputAt + gate) && op.node.has(recurrentAt + gate) && op.node.has(biasAt + gate) &&
                  (!norms || op.node.has(normAt + gate)),
              "lacks the weights, the bias or the norm of gate {}", gate);
    std::optional<int> exponent = powerOfTwo(cell.scale);
    require(exponent && *exponent >= -15 && *exponent <= -9 && cell.zero == 0,
            "the cell state has scale {} and zero point {}, expected a power of two from 2^-15 to 2^-9 and 0",
            cell.scale, cell.zero);
    cellExponent = *exponent;
    limit = limitOf(cellClip, cell.scale, 32767);
    projectionLimit = limitOf(projectionClip, uniformOutput(op).scale, 127);
    const Dims dims = op.dims(op.in(inputAt + 1)), states = op.dims(op.in(recurrentAt + 1));
    require(allConstant(dims) && allConstant(states) && dims.size() == 2 && states.size() == 2,
            "the weights of gate 1 are {} and {}, expected two extents each", str(dims), str(states));
    cells = dims[0].constant();
    if (op.node.has(peepholeAt + 1) && states[1] != dims[0]) // TensorFlow Lite uses the number of cells as outputs
      op.unsupported("peepholes beside a projection to another number of outputs");
  }

  /// x: steps x batch x inputs. Returns the hidden states of all steps; sets both variables.
  mlir::Value run(mlir::Value all) {
    const Dims dims = op.dims(all);
    require(dims.size() == 3, "the operand has rank {}, expected 3", dims.size());
    prepare();
    mlir::Value fromInput = op.emit("add", {product(op, all, x.zero, joined(inputAt)), bias()}); // for all steps
    fromInput = requantized(op, fromInput, inputFactors, 0, {ElementType::i16, 1, 0}, limitsOf(ElementType::i16));
    mlir::Value h = op.in(hiddenAt), c = wide(op, op.in(cellAt));
    Values results = unrolled(op.node, fromInput, 0, false, "a quantised layer", [&](mlir::Value part, int64_t) {
      step(wide(op, part), h, c);
      return h;
    });
    op.setVariable(hiddenAt, h);
    op.setVariable(cellAt, op.node.cast(c, ElementType::i16));
    return results.size() == 1 ? results[0] : op.emit("concat", results, {{"axis", 0}});
  }

private:
  Operator &op;
  const bool coupled, norms; // coupled: the input gate is 1 - forget gate
  const Uniform x, hidden, cell, inner;
  int cellExponent = 0;
  int64_t cells = 0, limit = 0, projectionLimit = 0; // limits of 0: none
  std::vector<Multiplier> inputFactors, recurrentFactors;
  mlir::Value recurrent, sigmoid, tangent, cellTangent; // weights of all gates; tables

  size_t first() const { return coupled ? 1 : 0; }
  int64_t gates() const { return coupled ? 3 : 4; }

  static int64_t limitOf(float clip, float scale, float most) {
    return clip > 0 ? static_cast<int64_t>(std::min(clip / scale, most)) : 0;
  }

  /// The scale of a gate's operand: 2^-12, or with normalisation the scale of the norm's operand.
  float before(size_t gate) const { return norms ? uniformIntermediate(op, gate).scale : std::ldexp(1.0F, -12); }

  /// Concatenates the operands of all gates along axis 0.
  mlir::Value joined(size_t at) {
    Values parts;
    for (size_t gate = first(); gate < 4; ++gate)
      parts.push_back(op.in(at + gate));
    return op.emit("concat", parts, {{"axis", 0}});
  }

  /// With normalisation, the norm adds the bias.
  mlir::Value bias() { return norms ? number(op, 0) : joined(biasAt); }

  void prepare() {
    for (size_t gate = first(); gate < 4; ++gate) {
      float in = uniformInput(op, inputAt + gate).scale * x.scale / before(gate);
      float back = uniformInput(op, recurrentAt + gate).scale * hidden.scale / before(gate);
      inputFactors.insert(inputFactors.end(), static_cast<size_t>(cells), multiplierOf(double(in)));
      recurrentFactors.insert(recurrentFactors.end(), static_cast<size_t>(cells), multiplierOf(double(back)));
    }
    recurrent = joined(recurrentAt);
    auto tangentOf = [&](int bits) { return wideTable(op, [bits](int16_t q) { return hyperbolicTangent(q, bits); }); };
    sigmoid = wideTable(op, [](int16_t q) { return logistic(q, 3); });
    tangent = tangentOf(3);
    cellTangent = cellExponent == -12 ? tangent : tangentOf(15 + cellExponent);
  }

  mlir::Value peephole(size_t gate, mlir::Value z, mlir::Value c) {
    size_t at = peepholeAt + (gate == 3 ? 2 : gate);
    if (gate == 2 || !op.node.has(at))
      return z;
    double factor = std::ldexp(1.0, cellExponent) * double(uniformInput(op, at).scale) / double(before(gate));
    mlir::Value part = op.emit("mul", {c, wide(op, op.in(at))});
    part = rescaled(op, part, multiplierOf(double(static_cast<float>(factor))));
    return saturated(op, op.emit("add", {z, part}));
  }

  /// Normalises to mean 0 and variance 1 with 10 fractional bits, then applies the weights and the bias of the norm.
  mlir::Value normalized(size_t gate, mlir::Value z) {
    constexpr int64_t fine = 1 << 10, square = fine * fine;
    auto n = [&](int64_t value) { return op.node.constantScalar(ElementType::i64, static_cast<double>(value)); };
    auto sum = [&](mlir::Value of) {
      return op.emit("reduce_sum", {op.node.cast(of, ElementType::i64)}, {{"axes", Ints{-1}}});
    };
    mlir::Value mean = op.emit("div", {op.emit("mul", {sum(z), n(fine)}), n(cells)});
    mlir::Value squares = op.emit("mul", {sum(op.emit("mul", {z, z})), n(square / cells)});
    mlir::Value variance = op.emit("div", {op.emit("sub", {squares, op.emit("mul", {mean, mean})}), n(square)});
    variance = wide(op, variance);
    Uniform scale = uniformInput(op, normAt + gate);
    auto least = std::max<int64_t>(1, static_cast<int64_t>(std::min(10000 * scale.scale, 1e9F)));
    variance = op.emit("where", {op.emit("less", {variance, number(op, 1)}), number(op, least), variance});
    Factors root = inverseRoots(op, variance);
    mlir::Value centre = op.emit("sub", {op.emit("mul", {z, number(op, fine)}), wide(op, mean)});
    mlir::Value y = op.emit("requantize", {centre, root.multiplier, root.shift}, {{"to", ElementType::i32}});
    y = op.emit("add", {op.emit("mul", {y, wide(op, op.in(normAt + gate))}), op.in(biasAt + gate)});
    y = wide(op, dividedByFine(op.node.cast(y, ElementType::i64)));
    Multiplier factor = multiplierOf(double(scale.scale));
    factor.shift += 12;
    require(factor.shift <= 30, "the norm of gate {} has scale {}", gate, scale.scale);
    return saturated(op, rescaled(op, y, factor));
  }

  /// x / 2^10 of an i64, rounded; halves round away from zero.
  mlir::Value dividedByFine(mlir::Value value) {
    auto n = [&](int64_t number) { return op.node.constantScalar(ElementType::i64, static_cast<double>(number)); };
    mlir::Value positive = op.emit("greater", {value, n(0)});
    return op.emit("div", {op.emit("add", {value, op.emit("where", {positive, n(512), n(-512)})}), n(1024)});
  }

  /// Computes one step and replaces both states.
  void step(mlir::Value fromInput, mlir::Value &h, mlir::Value &c) {
    mlir::Value back =
        requantized(op, product(op, h, hidden.zero, recurrent), recurrentFactors, 0, sums, limitsOf(ElementType::i32));
    mlir::Value z = saturated(op, op.emit("add", {fromInput, back}));
    auto gate = [&](size_t index, mlir::Value table) {
      auto at = static_cast<int64_t>(index - first()) * cells;
      mlir::Value part = peephole(index, slice(op, z, 1, at, at + cells), c);
      if (norms)
        part = normalized(index, part);
      return wide(op, lookedUp(op, table, part));
    };
    mlir::Value forget = gate(1, sigmoid),
                input = coupled ? op.emit("sub", {number(op, 32767), forget}) : gate(0, sigmoid);
    mlir::Value kept = dividedByPowerOfTwo(op, op.emit("mul", {forget, c}), 15);
    mlir::Value added = dividedByPowerOfTwo(op, op.emit("mul", {input, gate(2, tangent)}), 30 + cellExponent);
    c = saturated(op, op.emit("add", {kept, added}));
    if (limit)
      c = op.emit("clip", {c}, {{"min", static_cast<double>(-limit)}, {"max", static_cast<double>(limit)}});
    mlir::Value y = op.emit("mul", {gate(3, sigmoid), wide(op, lookedUp(op, cellTangent, c))});
    h = projected(y);
  }

  /// The hidden state from two factors of 15 bits. TensorFlow Lite subtracts its zero point, here and in the
  /// projection.
  mlir::Value projected(mlir::Value y) {
    auto scale = static_cast<float>(std::ldexp(1.0, -15) / double(inner.scale) * std::ldexp(1.0, -15));
    Multiplier factor = multiplierOf(double(scale));
    if (inner.zero == -128)
      op.unsupported("zero point -128 of the hidden state");
    Limits bytes = limitsOf(ElementType::i8);
    y = requantized(op, y, {&factor, 1}, 0, {ElementType::i8, 1, -inner.zero}, bytes);
    if (!op.node.has(projectionAt))
      return y;
    mlir::Value outputs = product(op, y, -inner.zero, op.in(projectionAt));
    if (op.node.has(projectionAt + 1))
      outputs = op.emit("add", {outputs, op.in(projectionAt + 1)});
    Multiplier onto = multiplierOf(double(uniformInput(op, projectionAt).scale * inner.scale / hidden.scale));
    outputs = requantized(op, outputs, {&onto, 1}, 0, {ElementType::i8, 1, hidden.zero}, bytes);
    return projectionLimit ? clamped(op, outputs, ElementType::i8, {-projectionLimit, projectionLimit}) : outputs;
  }
};

void expectLstm(Operator &op) {
  require(op.node.inputCount() == 20 || op.node.inputCount() == 24, "has {} inputs, expected 20 or 24",
          op.node.inputCount());
  const auto *inner = op.source.op->intermediates();
  if (inner && inner->size() != 5)
    op.unsupported(fmt::format("a quantised LSTM with {} intermediate tensors, expected 5", inner->size()));
}

void importSequenceLstm(Operator &op) {
  expectLstm(op);
  const auto &options = op.options<file::UnidirectionalLstmOptions>(BuiltinOptions::UnidirectionalSequenceLSTM);
  if (options.diagonal_recurrent())
    op.unsupported("diagonal recurrent weights");
  IntegerLstm lstm(op, options.activation(), options.cell_clip(), options.proj_clip());
  auto swapped = [&](mlir::Value value) { return options.time_major() ? value : transpose(op.node, value, {1, 0, 2}); };
  op.set(swapped(lstm.run(swapped(op.in(0)))));
}

/// a * b of 16-bit fixed-point numbers without integer bits, halves up: highProduct of FixedPoint.h.
mlir::Value highProduct(Operator &op, mlir::Value a, mlir::Value b) {
  return op.emit("requantize", {op.emit("mul", {a, b}), number(op, 1 << 30), number(op, -14)}, // 2^30 is a half
                 {{"to", ElementType::i32}, {"rounding", "single"}});
}

/// A single step of TensorFlow's BasicLSTMCell on uint8, with four integer bits of state: one matrix for input and
/// hidden state, gates in the order i, c, f, o. The states are operands and results. Source: lstm_cell.h.
void importBasicLstm(Operator &op) {
  op.node.expectInputs(5, 5);
  Uniform x = uniformInput(op, 0), h = uniformInput(op, 1), w = uniformInput(op, 2), bias = uniformInput(op, 3),
          c = uniformInput(op, 4);
  require(x.type == ElementType::u8 && h.type == ElementType::u8 && w.type == ElementType::u8 &&
              c.type == ElementType::i16,
          "operands are {}, {} and {}, the cell state is {}, expected u8 and i16", name(x.type), name(h.type),
          name(w.type), name(c.type));
  require(x.zero == 128 && h.zero == 128 && powerOfTwo(c.scale) == -11,
          "operands have zero points {} and {}, the cell state scale {}, expected 128 and 2^-11", x.zero, h.zero,
          c.scale);
  const Dims dims = op.dims(op.in(4));
  require(dims.size() == 2 && dims[1].isConstant(), "the state has extents {}, expected two", str(dims));
  int64_t cells = dims[1].constant();
  auto point = [&](int64_t zero) { return op.node.constantScalar(ElementType::u8, static_cast<double>(zero)); };
  mlir::Value both = op.emit("concat", {op.in(0), op.in(1)}, {{"axis", -1}});
  mlir::Value sum = op.emit("matmul_integer", {both, transpose(op.node, op.in(2), {1, 0}), point(128), point(w.zero)});
  Multiplier factor = multiplierOf(double(4096 * bias.scale)); // to three integer bits
  mlir::Value z = requantized(op, op.emit("add", {sum, op.in(3)}), {&factor, 1}, 0, {ElementType::i16, 1, 0},
                              limitsOf(ElementType::i16));
  mlir::Value sigmoid = wideTable(op, [](int16_t q) { return logistic(q, 3); });
  mlir::Value tangent = wideTable(op, [](int16_t q) { return hyperbolicTangent(q, 3); });
  mlir::Value cellTangent = wideTable(op, [](int16_t q) { return hyperbolicTangent(q, 4); });
  auto gate = [&](int64_t index, mlir::Value table) {
    return wide(op, lookedUp(op, table, wide(op, slice(op, z, 1, index * cells, (index + 1) * cells))));
  };
  mlir::Value added = dividedByPowerOfTwo(op, highProduct(op, gate(0, sigmoid), gate(1, tangent)), 4);
  mlir::Value kept = highProduct(op, gate(2, sigmoid), wide(op, op.in(4)));
  mlir::Value cell = saturated(op, op.emit("add", {added, kept}));
  mlir::Value y = highProduct(op, gate(3, sigmoid), wide(op, lookedUp(op, cellTangent, cell)));
  y = op.emit("clip", {dividedByPowerOfTwo(op, y, 8)}, {{"min", -128.0}, {"max", 127.0}});
  y = op.node.cast(op.emit("add", {y, number(op, 128)}), ElementType::u8);
  cell = op.node.cast(cell, ElementType::i16);
  op.set(y);
  op.node.set(1, cell);
  op.setVariable(1, y);
  op.setVariable(4, cell);
  if (op.node.wants(2)) // scratch of TensorFlow Lite, never read
    op.node.set(2, both);
  if (op.node.wants(3))
    op.node.set(3, z);
}

/// Imports LSTM, which computes a single step.
void importLstm(Operator &op) {
  const auto &options = op.options<file::LstmOptions>(BuiltinOptions::LSTM);
  if (options.kernel() == file::LstmKernel::BASIC)
    return importBasicLstm(op);
  expectLstm(op);
  IntegerLstm lstm(op, options.activation(), options.cell_clip(), options.proj_clip());
  Dims dims = op.dims(op.in(0));
  require(dims.size() == 2, "the operand has rank {}, expected 2", dims.size());
  mlir::Value y = lstm.run(op.node.reshape(op.in(0), {Dim(1), dims[0], dims[1]}));
  Dims rows = op.dims(y);
  rows.erase(rows.begin());
  op.set(op.node.reshape(y, rows));
}

// ---- SVDF -------------------------------------------------------------------------------------------------------------

/// The state holds the last `memory` results of every filter, the newest one at the end.
void importSvdf(Operator &op) {
  const auto &options = op.options<file::SvdfOptions>(BuiltinOptions::SVDF);
  Uniform x = uniformInput(op, 0), feature = uniformInput(op, 1), time = uniformInput(op, 2),
          state = uniformInput(op, 4), to = uniformOutput(op);
  if (x.type != ElementType::i8 || feature.type != ElementType::i8 || time.type != ElementType::i16 ||
      state.type != ElementType::i16 || to.type != ElementType::i8)
    op.unsupported(
        fmt::format("weights of {} over time and a state of {}, expected i16", name(time.type), name(state.type)));
  const Dims timeDims = op.dims(op.in(2)), stateDims = op.dims(op.in(4));
  require(timeDims.size() == 2 && allConstant(timeDims) && stateDims.size() == 2,
          "has time weights {} and a state of {}, expected rank 2", str(timeDims), str(stateDims));
  int64_t filters = timeDims[0].constant(), memory = timeDims[1].constant(), rank = options.rank();
  require(rank >= 1 && filters % rank == 0 && memory >= 1, "has rank {} and {} filters of {} steps", rank, filters,
          memory);
  Multiplier first = multiplierOf(double(x.scale * feature.scale / state.scale));
  Multiplier second = multiplierOf(double(state.scale * time.scale / to.scale));
  mlir::Value newest = requantized(op, product(op, op.in(0), x.zero, op.in(1)), {&first, 1}, 0,
                                   {ElementType::i16, 1, 0}, limitsOf(ElementType::i16));
  mlir::Value past = slice(op, op.node.reshape(op.in(4), {stateDims[0], Dim(filters), Dim(memory)}), 2, 1, memory);
  mlir::Value moved =
      op.emit("concat", {past, op.node.reshape(newest, {stateDims[0], Dim(filters), Dim(1)})}, {{"axis", 2}});
  op.setVariable(4, op.node.reshape(moved, stateDims));
  auto reduced = [&](mlir::Value of) { return op.emit("reduce_sum", {of}, {{"axes", Ints{2}}, {"keepdims", false}}); };
  mlir::Value y = reduced(op.emit("mul", {wide(op, moved), wide(op, op.in(2))}));
  y = reduced(op.node.reshape(y, {stateDims[0], Dim(filters / rank), Dim(rank)}));
  if (op.node.has(3))
    y = op.emit("add", {y, op.in(3)});
  op.set(requantized(op, y, {&second, 1}, 0, to, limitsOf(to.type)));
}

} // namespace

void addQuantizedRecurrent(Importers &table) {
  table[UNIDIRECTIONAL_SEQUENCE_LSTM] = {importSequenceLstm};
  table[LSTM] = {importLstm};
  table[SVDF] = {importSvdf};
}

} // namespace lathe::tflite
