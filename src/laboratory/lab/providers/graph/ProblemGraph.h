// Makes a network from one benchmark problem.
#pragma once

#include "lab/providers/Provider.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace lathe::lab {

/// Function that builds the results of a problem on its operands, which are in the order of Problem::inputs() (null:
/// missing).
using BuildResults = llvm::SmallVector<mlir::Value> (*)(mlir::OpBuilder &builder, const Problem &problem,
                                                        llvm::ArrayRef<mlir::Value> operands);

/// Builds the operator of a problem and its epilogue as the problem names them, without another form for either.
llvm::SmallVector<mlir::Value> buildAsNamed(mlir::OpBuilder &builder, const Problem &problem,
                                            llvm::ArrayRef<mlir::Value> operands);

/// Makes a module whose function @main returns the results of `build`, row-major. Constant operands become constants;
/// the others are the inputs "in0", "in2", ..., numbered by position in Problem::inputs(). Results are named "out0",
/// "out1", ...
mlir::OwningOpRef<mlir::ModuleOp> problemGraph(mlir::MLIRContext *context, const Problem &problem,
                                               const ProblemInputs &inputs, BuildResults build = buildAsNamed);

} // namespace lathe::lab
