// A problem as a network of its own.
#pragma once

#include "lab/providers/Provider.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace lathe::lab {

/// @main around the operator and its epilogue, row-major. Operands that are constant become constants; the others are
/// the inputs "in0", "in2", ... by their position in Problem::inputs(), results "out0", "out1", ...
mlir::OwningOpRef<mlir::ModuleOp> problemGraph(mlir::MLIRContext *context, const Problem &problem,
                                               const ProblemInputs &inputs);

} // namespace lathe::lab
