// States which layouts each operator supports. LayoutCosts.h predicts their costs.
#pragma once

#include "ir/Bridge.h"
#include "passes/ChannelBlocks.h"

#include <optional>
#include <string>
#include <vector>

namespace lathe {

/// How the layout of an operand or result follows from the layouts that are chosen for its operator.
enum class Port {
  row,   // the value is always row-major
  input, // the value has the input layout that is chosen for the operator
  output // the value has the output layout that is chosen for the operator
};

struct LayoutRule {
  std::vector<Port> operands, results;
  bool uniform = true;  // true: input and output layout of the operator must be equal
  std::string rowOnly;  // the reason why the operator is always row-major; "": it has a choice
  bool profits = false; // true: the report mentions the operator if it stays row-major
};

LayoutRule layoutRule(mlir::Operation *op, const ChannelBlocks &blocks);

} // namespace lathe
