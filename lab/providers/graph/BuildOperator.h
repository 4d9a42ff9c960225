// A problem as operations of the nn dialect.
#pragma once

#include "ir/Bridge.h"
#include "lab/Problem.h"

namespace lathe::lab {

/// The operator and its epilogue on `operands` (by position in Problem::byRecord(), null where one is missing); its
/// results.
inline llvm::SmallVector<mlir::Value> buildOperator(mlir::OpBuilder &builder, const Problem &problem,
                                                    llvm::ArrayRef<mlir::Value> operands) {
  auto located = [&](const std::string &name) { return mlir::NameLoc::get(builder.getStringAttr(name)); };
  auto attrs = problem.attrs->clone();
  mlir::Operation *op = nn::build(builder, located(problem.op), problem.op, operands, *attrs);
  llvm::SmallVector<mlir::Value> results(op->getResults());
  for (auto &unary : problem.epilogue)
    results[0] = nn::buildValue(builder, located(unary), unary, {results[0]}, std::move(*findOp(unary)->makeAttrs()));
  return results;
}

} // namespace lathe::lab
