// Parts of recurrent layers that formats share: unrolled layers, and operands of nn.lstm, nn.gru and nn.rnn.
#pragma once

#include "import/Node.h"

#include <functional>

namespace lathe::source {

/// Adds an axis of extent 1 before `axis`; and removes the axis `axis` of extent 1.
mlir::Value withAxis(Node &node, mlir::Value value, size_t axis = 0);
mlir::Value withoutAxis(Node &node, mlir::Value value, size_t axis);
/// Step `t` of x, whose steps are along `axis`, without that axis.
mlir::Value stepOf(Node &node, mlir::Value x, size_t axis, int64_t t);

/// One step: takes its part of x and its number, returns its result, and keeps the states.
using RecurrentStep = std::function<mlir::Value(mlir::Value x, int64_t t)>;
/// Runs all steps of x along `axis`, backwards if `reverse`. Returns the results of the steps in the order of x, each
/// with an axis of extent 1 for the step. Throws Unsupported for an unknown number of steps and for more than 512;
/// `layer` names the layer in the message: "a layer of quantised weights".
Values unrolled(Node &node, mlir::Value x, size_t axis, bool reverse, const std::string &layer,
                const RecurrentStep &step);

/// Where nn.lstm (i, o, f, c) and nn.gru (z, r, h) find their gates in a format that stores the gates in the order
/// `gates`: "ifco" gives {0, 3, 1, 2}.
std::vector<int64_t> gateOrder(std::string_view gates);

} // namespace lathe::source
