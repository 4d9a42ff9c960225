// Which layouts each operator supports. LayoutCosts.h predicts their costs.
#pragma once

#include "ir/Bridge.h"
#include "passes/ChannelBlocks.h"

#include <optional>
#include <string>
#include <vector>

namespace lathe {

/// How an operand or result takes part in the choice.
enum class Port {
  row,   // always row-major
  input, // has the input layout chosen for the operator
  output // has the output layout chosen for the operator
};

struct LayoutRule {
  std::vector<Port> operands, results;
  bool uniform = true;  // input and output layout must be equal
  std::string rowOnly;  // reason why the operator is row-major only; "": it is not
  bool profits = false; // the report mentions the operator if it stays row-major
};

LayoutRule layoutRule(mlir::Operation *op, const ChannelBlocks &blocks);

} // namespace lathe
