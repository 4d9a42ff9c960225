// What each operator can do in the blocked layout, and what it gains: the facts AssignLayout weighs.
#pragma once

#include "ir/Bridge.h"

#include <optional>
#include <string>
#include <vector>

namespace lathe {

/// How an operand or result takes part.
enum class Port {
  row,   // row-major whatever is chosen
  input, // follows the operator's input choice
  output // follows its output choice
};

/// Costs are in nanoseconds of one core, roughly: they only have to rank alternatives.
struct LayoutRule {
  std::vector<Port> operands, results;
  bool uniform = true;      // the input choice and the output choice are the same; otherwise any two are possible
  int64_t rowInput = 0;     // extra time with row-major inputs
  int64_t rowOutput = 0;    // extra time with row-major results
  int64_t blockedInput = 0; // extra time with blocked inputs: shuffled lanes, padding
  std::string rowOnly;      // reason why everything is row-major; "" otherwise
  bool profits = false;     // an operator whose row-major form is worth a line in the report
};

/// A value the blocked layout exists for: float32, rank 3 to 5, channels known.
bool canBeBlocked(mlir::Value value);

LayoutRule layoutRule(mlir::Operation *op, int64_t block);

/// Time an element-wise operator on `value` takes more when it runs alone, not in its producer's kernel.
int64_t lostFusionCost(mlir::Value value);

/// Time to convert `value` between layouts once.
int64_t conversionCost(mlir::Value value, int64_t block);

} // namespace lathe
