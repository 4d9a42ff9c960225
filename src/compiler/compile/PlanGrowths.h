// Outputs that grow in place, in the form of the plan (package/plan.fbs, Growth).
#pragma once

#include "ir/SymbolicShapes.h"
#include "package/plan_generated.h"

#include "mlir/IR/SymbolTable.h"

#include <optional>

namespace lathe {

/// A value that continues an argument of @main along one axis, with room for more (passes/kernels/GrowInPlace.h).
struct GrowingValue {
  mlir::BlockArgument past;
  size_t axis;
  Dims stored;                // extents in memory
  std::string capacity, kept; // symbols
};

/// Describes `value` if its kernel stores it with room for more. Throws Error with the node if that kernel is not a
/// concatenation that begins with an argument of @main.
std::optional<GrowingValue> growingValue(mlir::Value value, const mlir::SymbolTable &symbols,
                                         const nn::SymbolicShapes &shapes);

/// Adds the growths of @main's results to the plan, and the results that a kernel writes over an argument.
void addGrowths(plan::PlanT &plan, mlir::OperandRange results, const mlir::SymbolTable &symbols,
                const nn::SymbolicShapes &shapes);

} // namespace lathe
