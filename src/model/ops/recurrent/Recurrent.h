// The attributes of the recurrent operators (lstm, gru, rnn, recurrence) in one form.
#pragma once

#include "ops/Shape.h"

#include <string>
#include <vector>

namespace lathe {

enum class Cell { lstm, gru, rnn };

/// An activation function, in the role f, g or h of a recurrent operator: the name of an nn operator, "affine" (alpha
/// x + beta) or "scaled_tanh" (alpha tanh(beta x)).
struct CellActivation {
  std::string name;
  double alpha = 0, beta = 0;
  bool operator==(const CellActivation &) const = default;
};

struct CellActivationKind {
  const char *name;     // name in Lathe: "hard_sigmoid"
  const char *onnxName; // name in ONNX: "HardSigmoid"
  bool hasAlpha, hasBeta;
  double alpha, beta; // default values in ONNX
};
/// Find a kind of activation by its name in Lathe or in ONNX; return null for an unknown name.
/// cellActivationKindByOnnxName ignores case, as ONNX Runtime does.
const CellActivationKind *cellActivationKind(const std::string &name);
const CellActivationKind *cellActivationKindByOnnxName(const std::string &name);

struct RecurrentForm {
  static constexpr size_t none = 99; // value for an operand's position if the operator lacks the operand

  const char *op; // name of the operator for messages: "lstm"
  Cell cell;
  std::string direction;
  double clip;
  bool inputForget = false, linearBeforeReset = false;
  std::vector<CellActivation> activations; // activations of each direction; functions() entries per direction
  // Positions of the operands in the operator's record. Without operand `w`, operand x already contains the input's
  // contribution to the gates.
  size_t x = 0, w = none, r = none, b = none, hiddenBias = none, lengths = none, initialH = none, initialC = none,
         p = none;

  int64_t directions() const { return direction == "bidirectional" ? 2 : 1; }
  bool reversed(int64_t d) const { return d == 1 || direction == "reverse"; }
  int64_t gates() const { return cell == Cell::lstm ? 4 : cell == Cell::gru ? 3 : 1; }
  int64_t functions() const { return cell == Cell::lstm ? 3 : cell == Cell::gru ? 2 : 1; }
  /// Returns the activation of direction d in the role f (`index` 0), g (1) or h (2).
  const CellActivation &activation(int64_t d, int64_t index) const { return activations[d * functions() + index]; }
};

/// Returns the default activations, which an empty list means, repeated for each direction: "sigmoid,tanh,tanh" for
/// lstm, "sigmoid,tanh" for gru, "tanh" for rnn.
std::string defaultActivations(Cell cell, int64_t directions);

/// Reads the attributes of the operators lstm, gru, rnn or recurrence. Throws Error that begins with the name of the
/// violated constraint of Recurrent.td: "lstm_c6: ..."; only c2, c6, c7 and c8 are checked here.
RecurrentForm recurrentForm(const Attrs &attrs);

} // namespace lathe
