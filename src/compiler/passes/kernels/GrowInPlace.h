// Lets outputs that are an input with more elements behind it grow in place.
#pragma once

#include "passes/Pipeline.h"

#include "mlir/IR/BuiltinOps.h"

namespace lathe {

/// Gives room for more elements to every result of @main that a kernel concatenates from an argument of @main and new
/// elements, such as the keys of a decoder, if all kernels that read the result can read rows with gaps between them.
/// The attribute nn.stored (ir/SymbolicShapes.h) of these kernels then has the symbol "P.capacity" in the place of the
/// extent, where P is the argument's extent. The plan says which inputs and outputs they are (package/plan.fbs, Growth).
/// A program that keeps the result as a state between runs copies the new elements alone; any other run is as before.
/// What cannot grow in place is noted in `report` with the reason.
void growInPlace(mlir::ModuleOp module, const PipelineOptions &options, PipelineReport &report);

/// The symbols of the Growth (package/plan.fbs) of an input with the extent `extent`: the positions for which the
/// output has room, and whether the input is in place already.
std::string capacitySymbol(const std::string &extent);
std::string keptSymbol(const std::string &extent);

/// The concatenation of `kernel`, if it is all the kernel computes and its first operand is an argument of @main that
/// `call` passes on; null otherwise.
mlir::Operation *growingConcat(mlir::func::CallOp call, mlir::func::FuncOp kernel);

} // namespace lathe
