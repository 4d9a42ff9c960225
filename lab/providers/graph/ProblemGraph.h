// Makes a network of one problem.
#pragma once

#include "lab/providers/Provider.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace lathe::lab {

/// Makes @main with the operator and its epilogue, row-major. Constant operands become constants;
/// the others are the inputs "in0", "in2", ... by position in Problem::inputs(). Results are
/// "out0", "out1", ...
mlir::OwningOpRef<mlir::ModuleOp> problemGraph(mlir::MLIRContext *context, const Problem &problem,
                                               const ProblemInputs &inputs);

} // namespace lathe::lab
