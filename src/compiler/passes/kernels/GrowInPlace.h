// Lets an output that equals an input followed by more elements grow in place.
#pragma once

#include "passes/Pipeline.h"

#include "mlir/IR/BuiltinOps.h"

namespace lathe {

/// Gives results of @main room for more elements, so that they can grow in place. A result gets room if a kernel
/// concatenates it from an argument of @main and new elements, such as the keys of a decoder, and if all kernels that
/// read the result can read rows with gaps.
///
/// These kernels get the attribute nn.stored (ir/SymbolicShapes.h), which has the symbol "P.capacity" in place of the
/// extent, where P is the argument's extent. The plan names these inputs and outputs (package/plan.fbs, Growth). If a
/// program keeps the result as a state between runs, only the new elements are copied; other runs do not change.
/// `report` gets each result that cannot grow in place, with the reason.
void growInPlace(mlir::ModuleOp module, const PipelineOptions &options, PipelineReport &report);

/// Names of the two symbols of a Growth (package/plan.fbs) for an input with the extent `extent`. capacitySymbol: the
/// number of positions for which the output has room; keptSymbol: 1 if the input is in place already, else 0.
std::string capacitySymbol(const std::string &extent);
std::string keptSymbol(const std::string &extent);

/// Returns the concatenation of `kernel` if the kernel computes nothing else and `call` passes an argument of @main as
/// its first operand; null otherwise.
mlir::Operation *growingConcat(mlir::func::CallOp call, mlir::func::FuncOp kernel);

} // namespace lathe
