// Outputs that grow in place, such as key-value caches, in the form of the plan (package/plan.fbs, Growth).
#pragma once

#include "ir/SymbolicShapes.h"
#include "package/plan_generated.h"

#include "mlir/IR/SymbolTable.h"

#include <optional>

namespace lathe {

/// A value that consists of an argument of @main and more elements along one axis, stored with room for further ones
/// (passes/kernels/GrowInPlace.h).
struct GrowingValue {
  mlir::BlockArgument past;
  size_t axis;
  Dims stored;                // extents in memory, including the room for further elements
  std::string capacity, kept; // names of the symbols `capacity` and `kept` of package/plan.fbs (Growth)
};

/// Describes how `value` grows if its kernel stores it with room for more elements; otherwise returns nothing. Throws
/// Error with the node if that kernel is not a concatenation that begins with an argument of @main.
std::optional<GrowingValue> growingValue(mlir::Value value, const mlir::SymbolTable &symbols,
                                         const nn::SymbolicShapes &shapes);

/// Adds to the plan which results of @main grow in place, and which results a kernel writes over an argument.
void addGrowths(plan::PlanT &plan, mlir::OperandRange results, const mlir::SymbolTable &symbols,
                const nn::SymbolicShapes &shapes);

} // namespace lathe
