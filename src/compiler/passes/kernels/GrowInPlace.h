// Lets an output that equals an input followed by more elements grow in place.
#pragma once

#include "passes/Pipeline.h"

#include "mlir/IR/BuiltinOps.h"

namespace lathe {

/// Gives results of @main room for more elements if a kernel concatenates them from an argument of @main and new
/// elements, such as the keys of a decoder, and if all kernels that read the result can read rows with gaps. The
/// attribute nn.stored (ir/SymbolicShapes.h) of these kernels has the symbol "P.capacity" in place of the extent, where
/// P is the argument's extent. The plan names these inputs and outputs (package/plan.fbs, Growth). If a program keeps
/// the result as a state between runs, only the new elements are copied; other runs do not change. `report` gets each
/// result that cannot grow in place, with the reason.
void growInPlace(mlir::ModuleOp module, const PipelineOptions &options, PipelineReport &report);

/// The symbols of the Growth (package/plan.fbs) of an input with the extent `extent`: the positions for which the
/// output has room, and whether the input is in place already.
std::string capacitySymbol(const std::string &extent);
std::string keptSymbol(const std::string &extent);

/// The concatenation of `kernel` if the kernel computes nothing else and the first operand is an argument of @main that
/// `call` passes on; null otherwise.
mlir::Operation *growingConcat(mlir::func::CallOp call, mlir::func::FuncOp kernel);

} // namespace lathe
