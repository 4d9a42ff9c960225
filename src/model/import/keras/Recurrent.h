// Recurrent layers: what a layer of one or several cells computes, whichever way it is emitted.
#pragma once

#include "import/keras/Keras.h"
#include "import/parts/Recurrent.h"

namespace lathe::keras {

/// A cell with its weights: kernel (inputs x gates*units), recurrent kernel (units x gates*units), bias or null.
struct RecurrentCell {
  std::string kind;             // "LSTM", "GRU" or "SimpleRNN"
  const json *config = nullptr; // of the cell
  mlir::Value kernel, recurrent, bias;
  int64_t units = 0;
  size_t states() const { return kind == "LSTM" ? 2 : 1; }
};

/// What the steps of a layer give, in the order of time.
struct RecurrentResult {
  mlir::Value sequence; // batch x steps x units
  mlir::Value last;     // batch x units: the result of the step that was computed last
  Values states;        // batch x units each, after that step
};

/// What the steps of a layer are given.
struct RecurrentInput {
  mlir::Value x;           // batch x steps x ...
  mlir::Value mask;        // bool, batch x steps; null: every step counts
  Values states;           // before the first step; empty: zeros
  bool reverse = false;    // the last step is the first one
  bool zeroMasked = false; // results of steps that do not count are zero instead of those of the step before
};

/// By nn.lstm, nn.gru or nn.rnn (Recurrent.cpp); by single steps where those lack an activation (RecurrentSteps.cpp).
RecurrentResult runCell(Layer &layer, const RecurrentCell &cell, const RecurrentInput &input);
RecurrentResult runCellSteps(Layer &layer, const RecurrentCell &cell, const RecurrentInput &input);
/// A cell of Keras 1, which keeps the three weights of each gate together: an LSTM in the order i, c, f, o, a GRU in that of
/// Keras 2 (Keras1.cpp). They begin at `weight`, which moves behind them.
RecurrentCell cellOfGates(Layer &layer, const std::string &kind, const json &config, size_t &weight);
/// "CuDNNLSTM" or "CuDNNGRU" as a cell of another layer of Keras 2 (Keras1.cpp): every gate of the kernel has the inputs of
/// its units one after the other, every gate of the recurrent kernel is transposed, and there are two biases.
RecurrentCell cellOfCudnn(Layer &layer, const std::string &className, const json &config, size_t &weight);
/// ConvLSTM1D, 2D and 3D (RecurrentSteps.cpp).
void importConvLstm(Layer &layer);

/// `count` zeros in a row for every row of `like`.
mlir::Value zeroState(Layer &layer, mlir::Value like, int64_t count);
/// x with its steps (axis 1) in the reverse order.
mlir::Value backwards(Layer &layer, mlir::Value x);
/// A mask (batch x steps) with axes of extent 1 behind it until it has rank `rank`.
mlir::Value widened(Layer &layer, mlir::Value mask, int64_t rank);

} // namespace lathe::keras
