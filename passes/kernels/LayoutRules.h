// Rules for the choice of layouts: what each operator supports and what the blocked layout gains.
#pragma once

#include "ir/Bridge.h"
#include "passes/kernels/ChannelBlocks.h"
#include "passes/kernels/LayoutCosts.h"

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

/// Costs are in LayoutCosts::units: they only have to rank alternatives.
struct LayoutRule {
  std::vector<Port> operands, results;
  bool uniform = true;      // input and output layout must be equal
  int64_t rowInput = 0;     // extra cost with row-major inputs
  int64_t rowOutput = 0;    // extra cost with row-major results
  int64_t blockedInput = 0; // extra cost with blocked inputs: shuffled lanes, padding
  std::string rowOnly;      // reason why the operator is row-major only; "": it is not
  bool profits = false;     // the report mentions the operator if it stays row-major
};

LayoutRule layoutRule(mlir::Operation *op, const ChannelBlocks &blocks, const LayoutCosts &costs = {});

/// Cost of an element-wise operator on `value` that runs alone, not in its producer's kernel.
int64_t lostFusionCost(mlir::Value value, const LayoutCosts &costs);

/// Cost to convert `value` between layouts once.
int64_t conversionCost(mlir::Value value, int64_t block, const LayoutCosts &costs);

} // namespace lathe
