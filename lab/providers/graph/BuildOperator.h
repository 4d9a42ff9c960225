// A problem as operations of the nn dialect.
#pragma once

#include "ir/Bridge.h"
#include "lab/problems/Problem.h"

namespace lathe::lab {

/// Builds the operator and its epilogue on `operands` (by position in Problem::inputs(), null if
/// missing). Returns the results.
inline llvm::SmallVector<mlir::Value> buildOperator(mlir::OpBuilder &builder, const Problem &problem,
                                                    llvm::ArrayRef<mlir::Value> operands) {
  auto located = [&](const std::string &name) { return mlir::NameLoc::get(builder.getStringAttr(name)); };
  auto attrs = problem.attrs->clone();
  size_t next = problem.byRecord().size();
  mlir::Operation *op = nn::build(builder, located(problem.op), problem.op, operands.take_front(next), *attrs);
  llvm::SmallVector<mlir::Value> results(op->getResults());
  for (auto &name : problem.epilogue) {
    llvm::SmallVector<mlir::Value> taken = {results[0]};
    if (takesSecondOperand(name))
      taken.push_back(operands[next++]);
    results[0] = nn::buildValue(builder, located(name), name, taken, std::move(*findOp(name)->makeAttrs()));
  }
  return results;
}

} // namespace lathe::lab
