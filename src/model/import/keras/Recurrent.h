// Imports recurrent Keras layers: a layer of one or several cells becomes nn's recurrent operators, or operators for
// each step.
#pragma once

#include "import/keras/Keras.h"
#include "import/parts/Recurrent.h"

namespace lathe::keras {

/// A cell of a recurrent layer with its weights: kernel (inputs x gates*units), recurrent kernel (units x
/// gates*units), bias or null.
struct RecurrentCell {
  std::string kind;             // "LSTM", "GRU" or "SimpleRNN"
  const json *config = nullptr; // configuration of the cell
  mlir::Value kernel, recurrent, bias;
  int64_t units = 0;
  size_t states() const { return kind == "LSTM" ? 2 : 1; }
};

/// The results of a recurrent layer's steps, in the order of time.
struct RecurrentResult {
  mlir::Value sequence; // batch x steps x units
  mlir::Value last;     // batch x units: the result of the last computed step
  Values states;        // states after the last computed step, batch x units each
};

/// The operands of a recurrent layer's steps.
struct RecurrentInput {
  mlir::Value x;           // batch x steps x ...
  mlir::Value mask;        // bool, batch x steps; null: every step counts
  Values states;           // states before the first step; empty: zeros
  bool reverse = false;    // true: the layer starts with the last step
  bool zeroMasked = false; // true: results of steps that do not count are zero, not the previous result
};

/// Emits a recurrent cell over all steps: with nn.lstm, nn.gru or nn.rnn (runCell, Recurrent.cpp), or step by step if
/// these lack an activation (runCellSteps, RecurrentSteps.cpp).
RecurrentResult runCell(Layer &layer, const RecurrentCell &cell, const RecurrentInput &input);
RecurrentResult runCellSteps(Layer &layer, const RecurrentCell &cell, const RecurrentInput &input);
/// Reads a cell of Keras 1, which keeps the three weights of each gate together, with the gates of an LSTM in the
/// order i, c, f, o, and the gates of a GRU in the order of Keras 2 (Keras1.cpp). Reads the layer's weights from
/// `weight` on and advances it.
RecurrentCell cellOfGates(Layer &layer, const std::string &kind, const json &config, size_t &weight);
/// Reads "CuDNNLSTM" or "CuDNNGRU" as a cell of another layer of Keras 2 (Keras1.cpp): each gate of the kernel stores
/// the inputs of one unit after the other, each gate of the recurrent kernel is transposed, and there are two biases.
RecurrentCell cellOfCudnn(Layer &layer, const std::string &className, const json &config, size_t &weight);
/// Imports the layers ConvLSTM1D, 2D and 3D (RecurrentSteps.cpp).
void importConvLstm(Layer &layer);

/// Emits a matrix of zeros with as many rows as `like`, and `count` columns.
mlir::Value zeroState(Layer &layer, mlir::Value like, int64_t count);
/// Emits x with its steps (axis 1) in reverse order.
mlir::Value backwards(Layer &layer, mlir::Value x);
/// Emits a mask (batch x steps) extended to rank `rank` with axes of extent 1.
mlir::Value widened(Layer &layer, mlir::Value mask, int64_t rank);

} // namespace lathe::keras
