// Removes the computation of values without elements.
#include "passes/Passes.h"
#include "passes/Rewrite.h"

namespace lathe {
namespace {

/// True if the type alone shows that the value has no elements and a static shape, so that the value is known.
bool isKnownEmpty(mlir::Value value) {
  auto type = rankedType(value);
  return type && type.hasStaticShape() && type.getNumElements() == 0 && !type.getEncoding() &&
         !llvm::isa<nn::StringType>(type.getElementType());
}

/// True if nothing about the operands of `op` is checked at run time. Otherwise a run may reject the operator, so it
/// stays although it computes nothing (computesNothing).
bool isChecked(mlir::Operation *op) {
  return llvm::all_of(op->getOperandTypes(), [](mlir::Type type) {
    auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(type);
    return tensor && tensor.hasStaticShape();
  });
}

/// A constant that replaces an empty value, inserted before `at`.
mlir::Value emptyConstant(mlir::Operation *at, mlir::Location loc, mlir::RankedTensorType type) {
  mlir::OpBuilder b(at);
  return makeConstant(b, loc, Tensor(nn::toElementType(type.getElementType()), type.getShape().vec()), "empty");
}

/// Removes empty operands from a concatenation.
void dropEmptyParts(mlir::Operation *concat) {
  llvm::SmallVector<mlir::Value> parts;
  for (mlir::Value part : concat->getOperands())
    if (!isKnownEmpty(part))
      parts.push_back(part);
  if (parts.empty() || parts.size() == concat->getNumOperands())
    return;
  if (parts.size() > 1)
    concat->setOperands(parts);
  else if (parts[0].getType() == concat->getResult(0).getType())
    replaceWith(concat, parts[0]);
}

} // namespace

void foldEmpty(mlir::ModuleOp module) {
  mlir::Block &body = mainFunction(module).getBody().front();
  bool changed = false;
  auto replace = [&](mlir::Value value, mlir::Operation *at) {
    if (!isKnownEmpty(value) || value.use_empty() || value.getDefiningOp<nn::ConstantOp>())
      return;
    value.replaceAllUsesWith(emptyConstant(at, value.getLoc(), rankedType(value)));
    changed = true;
  };
  for (mlir::BlockArgument argument : body.getArguments())
    replace(argument, &body.front());
  for (mlir::Operation &op : llvm::make_early_inc_range(body)) {
    if (!nn::recordOf(&op))
      continue;
    if (isChecked(&op))
      for (mlir::Value result : op.getResults())
        replace(result, &op);
    if (isOp(&op, "concat") && !op.use_empty())
      dropEmptyParts(&op);
  }
  if (changed)
    deadCode(module);
}

} // namespace lathe
