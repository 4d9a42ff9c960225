// Recurrent layers: computes a layer of one or several cells, with nn's operators or step by step.
#pragma once

#include "import/keras/Keras.h"
#include "import/parts/Recurrent.h"

namespace lathe::keras {

/// A cell with its weights: kernel (inputs x gates*units), recurrent kernel (units x gates*units), bias or null.
struct RecurrentCell {
  std::string kind;             // "LSTM", "GRU" or "SimpleRNN"
  const json *config = nullptr; // configuration of the cell
  mlir::Value kernel, recurrent, bias;
  int64_t units = 0;
  size_t states() const { return kind == "LSTM" ? 2 : 1; }
};

/// The results of a layer's steps, in the order of time.
struct RecurrentResult {
  mlir::Value sequence; // batch x steps x units
  mlir::Value last;     // batch x units: the result of the last computed step
  Values states;        // batch x units each, after the last computed step
};

/// The operands of a layer's steps.
struct RecurrentInput {
  mlir::Value x;           // batch x steps x ...
  mlir::Value mask;        // bool, batch x steps; null: every step counts
  Values states;           // states before the first step; empty: zeros
  bool reverse = false;    // starts with the last step
  bool zeroMasked = false; // results of steps that do not count are zero, not the previous result
};

/// Uses nn.lstm, nn.gru or nn.rnn (Recurrent.cpp); single steps if these lack an activation (RecurrentSteps.cpp).
RecurrentResult runCell(Layer &layer, const RecurrentCell &cell, const RecurrentInput &input);
RecurrentResult runCellSteps(Layer &layer, const RecurrentCell &cell, const RecurrentInput &input);
/// A cell of Keras 1, which keeps the three weights of each gate together, with the gates of an LSTM in the order i, c,
/// f, o, and the gates of a GRU in the order of Keras 2 (Keras1.cpp). Reads from `weight` on and advances it.
RecurrentCell cellOfGates(Layer &layer, const std::string &kind, const json &config, size_t &weight);
/// "CuDNNLSTM" or "CuDNNGRU" as a cell of another layer of Keras 2 (Keras1.cpp): each gate of the kernel stores the
/// inputs of one unit after the other, each gate of the recurrent kernel is transposed, and there are two biases.
RecurrentCell cellOfCudnn(Layer &layer, const std::string &className, const json &config, size_t &weight);
/// Imports the layers ConvLSTM1D, 2D and 3D (RecurrentSteps.cpp).
void importConvLstm(Layer &layer);

/// A matrix of zeros with as many rows as `like`, and `count` columns.
mlir::Value zeroState(Layer &layer, mlir::Value like, int64_t count);
/// x with its steps (axis 1) reversed.
mlir::Value backwards(Layer &layer, mlir::Value x);
/// A mask (batch x steps), extended to rank `rank` with axes of extent 1.
mlir::Value widened(Layer &layer, mlir::Value mask, int64_t rank);

} // namespace lathe::keras
