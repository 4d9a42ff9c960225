// Makes a network from one problem.
#pragma once

#include "lab/providers/Provider.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace lathe::lab {

/// Builds the results of a problem on its operands, which are by position in Problem::inputs(), null if missing.
using BuildResults = llvm::SmallVector<mlir::Value> (*)(mlir::OpBuilder &builder, const Problem &problem,
                                                        llvm::ArrayRef<mlir::Value> operands);

/// Builds the operator of a problem, and its epilogue, without changing their form.
llvm::SmallVector<mlir::Value> buildAsNamed(mlir::OpBuilder &builder, const Problem &problem,
                                            llvm::ArrayRef<mlir::Value> operands);

/// Makes @main with the results of `build`, row-major. Constant operands become constants; the others are the inputs
/// "in0", "in2", ... by position in Problem::inputs(). Results are "out0", "out1", ...
mlir::OwningOpRef<mlir::ModuleOp> problemGraph(mlir::MLIRContext *context, const Problem &problem,
                                               const ProblemInputs &inputs, BuildResults build = buildAsNamed);

} // namespace lathe::lab
