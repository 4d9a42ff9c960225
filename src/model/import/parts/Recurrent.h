// Parts of the import of recurrent layers that formats share: unrolled layers, and operands of nn.lstm, nn.gru and
// nn.rnn.
#pragma once

#include "import/Node.h"

#include <functional>

namespace lathe::source {

/// withAxis emits `value` with an additional axis of extent 1 before `axis`; withoutAxis emits it without `axis`,
/// whose extent is 1.
mlir::Value withAxis(Node &node, mlir::Value value, size_t axis = 0);
mlir::Value withoutAxis(Node &node, mlir::Value value, size_t axis);
/// Emits step `t` of x, whose steps lie along `axis`; the result lacks this axis.
mlir::Value stepOf(Node &node, mlir::Value x, size_t axis, int64_t t);

/// Function that emits one step of a recurrent layer from the step's part of x and its number t, and returns the
/// step's result. The function keeps the states.
using RecurrentStep = std::function<mlir::Value(mlir::Value x, int64_t t)>;
/// Emits all steps of a recurrent layer on x along `axis`, backwards if `reverse`. Returns the results of the steps in
/// the order of x, each with an axis of extent 1 for the step. Throws Unsupported for an unknown number of steps and
/// for more than 512; `layer` names the layer in the message: "a layer of quantised weights".
Values unrolled(Node &node, mlir::Value x, size_t axis, bool reverse, const std::string &layer,
                const RecurrentStep &step);

/// For each gate of nn.lstm (i, o, f, c) or nn.gru (z, r, h), returns its position in a format that stores the gates
/// in the order `gates`. "ifco" gives {0, 3, 1, 2}.
std::vector<int64_t> gateOrder(std::string_view gates);

} // namespace lathe::source
