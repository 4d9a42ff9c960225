// Builds the operator of a benchmark problem as operations of the nn dialect.
#pragma once

#include "ir/Bridge.h"
#include "lab/problems/Problem.h"

namespace lathe::lab {

/// Applies the epilogue of a problem (element-wise operators after its main operator) to results[0]. `operands` are in
/// the order of Problem::inputs(); second operands of the epilogue have the extents of results[0].
inline void buildEpilogue(mlir::OpBuilder &builder, const Problem &problem, llvm::ArrayRef<mlir::Value> operands,
                          llvm::SmallVectorImpl<mlir::Value> &results) {
  size_t next = problem.byRecord().size();
  for (auto &name : problem.epilogue) {
    llvm::SmallVector<mlir::Value> taken = {results[0]};
    if (takesSecondOperand(name))
      taken.push_back(operands[next++]);
    mlir::Location loc = mlir::NameLoc::get(builder.getStringAttr(name));
    results[0] = nn::buildValue(builder, loc, name, taken, std::move(*findOp(name)->makeAttrs()));
  }
}

/// Builds the operator of a problem and its epilogue on `operands`, which are in the order of Problem::inputs() (null:
/// missing). Returns the results.
inline llvm::SmallVector<mlir::Value> buildOperator(mlir::OpBuilder &builder, const Problem &problem,
                                                    llvm::ArrayRef<mlir::Value> operands) {
  auto attrs = problem.attrs->clone();
  mlir::Location loc = mlir::NameLoc::get(builder.getStringAttr(problem.op));
  mlir::Operation *op = nn::build(builder, loc, problem.op, operands.take_front(problem.byRecord().size()), *attrs);
  llvm::SmallVector<mlir::Value> results(op->getResults());
  buildEpilogue(builder, problem, operands, results);
  return results;
}

} // namespace lathe::lab
