// Rewrites concatenations and splits of very many parts as trees of narrow ones: a movement kernel has code for each
// part, and compile time grows faster than the size of the code.
#include "passes/Passes.h"
#include "passes/Rewrite.h"

#include <numeric>

namespace lathe {
namespace {

/// The concatenation of `parts`, by operators of at most `widestMovement` operands.
mlir::Value joined(mlir::OpBuilder &b, mlir::Location loc, llvm::SmallVector<mlir::Value> parts, ConcatAttrs &attrs) {
  while (parts.size() > widestMovement) {
    llvm::SmallVector<mlir::Value> fewer;
    for (size_t at = 0; at < parts.size(); at += widestMovement) {
      auto run = llvm::ArrayRef(parts).slice(at, std::min(widestMovement, parts.size() - at));
      fewer.push_back(run.size() == 1 ? run[0] : nn::build(b, loc, "concat", run, attrs)->getResult(0));
    }
    parts = std::move(fewer);
  }
  return nn::build(b, loc, "concat", parts, attrs)->getResult(0);
}

/// The pieces of `x`, by operators of at most `widestMovement` results.
llvm::SmallVector<mlir::Value> pieces(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x, int64_t axis,
                                      llvm::ArrayRef<int64_t> sizes) {
  SplitAttrs attrs;
  attrs.axis = axis;
  size_t run = 1; // pieces below each result
  while ((sizes.size() + run - 1) / run > widestMovement)
    run *= widestMovement;
  for (size_t at = 0; at < sizes.size(); at += run) {
    auto below = sizes.slice(at, std::min(run, sizes.size() - at));
    attrs.sizes.push_back(std::accumulate(below.begin(), below.end(), int64_t(0)));
  }
  llvm::SmallVector<mlir::Value> parts(nn::build(b, loc, "split", {x}, attrs)->getResults());
  if (run == 1)
    return parts;
  llvm::SmallVector<mlir::Value> result;
  for (auto [i, part] : llvm::enumerate(parts))
    llvm::append_range(result, pieces(b, loc, part, axis, sizes.slice(i * run, std::min(run, sizes.size() - i * run))));
  return result;
}

} // namespace

void narrowMovement(mlir::ModuleOp module) {
  for (mlir::Operation &op : llvm::make_early_inc_range(mainFunction(module).getBody().front())) {
    mlir::OpBuilder b(&op);
    if (isOp(&op, "concat") && op.getNumOperands() > widestMovement) {
      auto attrs = nn::attrsAs<ConcatAttrs>(&op);
      replaceWith(&op, joined(b, op.getLoc(), llvm::SmallVector<mlir::Value>(op.getOperands()), attrs));
    } else if (isOp(&op, "split") && op.getNumResults() > widestMovement) {
      auto attrs = nn::attrsAs<SplitAttrs>(&op);
      op.replaceAllUsesWith(pieces(b, op.getLoc(), op.getOperand(0), attrs.axis, attrs.sizes));
      op.erase();
    }
  }
}

} // namespace lathe
