#include "passes/Passes.h"
#include "passes/Rewrite.h"

namespace lathe {
namespace {

constexpr int farthestContraction = 8; // element-wise operators between the contraction and the reshape

bool isElementwise(mlir::Operation *op) { return op && loweringOf(op) == "elementwise" && op->getNumResults() == 1; }

/// True for a matrix product followed only by element-wise operators: an epilogue that can still grow.
bool endsAnEpilogue(mlir::Value value, int depth = 0) {
  mlir::Operation *op = value.getDefiningOp();
  if (!op || !value.hasOneUse() || depth > farthestContraction)
    return false;
  if (isOp(op, "matmul") || isOp(op, "gemm"))
    return true;
  return isElementwise(op) && llvm::any_of(op->getOperands(), [&](mlir::Value operand) {
           return operand.getType() == value.getType() && endsAnEpilogue(operand, depth + 1);
         });
}

int64_t unknownExtents(mlir::RankedTensorType type) {
  return llvm::count_if(type.getShape(), [](int64_t extent) { return mlir::ShapedType::isDynamic(extent); });
}

/// Converts `operand` of an operator on values of shape `whole` for the same operator on values of type `inner`; null
/// if that is not possible.
mlir::Value inInnerShape(mlir::OpBuilder &b, mlir::Operation *op, mlir::Value operand, mlir::RankedTensorType whole,
                         mlir::RankedTensorType inner) {
  auto type = rankedType(operand);
  if (!type)
    return {};
  if (type.getShape() == whole.getShape())
    return operand.getDefiningOp<nn::ConstantOp>()
               ? mlir::Value()
               : reshapeTo(b, op->getLoc(), operand,
                           mlir::RankedTensorType::get(inner.getShape(), type.getElementType()));
  if (!type.hasStaticShape() || type.getNumElements() == 0)
    return {};
  if (type.getNumElements() == 1 && type.getRank() <= inner.getRank())
    return operand;
  // One value for each position of the last axis.
  auto constant = constantOf(operand);
  int64_t last = type.getRank() ? type.getShape().back() : 1;
  if (!constant || type.getNumElements() != last || last != inner.getShape().back() || last != whole.getShape().back())
    return {};
  return makeConstant(b, operand.getLoc(), constant->reshaped({last}), constantName(op, ".row"));
}

bool sink(mlir::Operation *op) {
  auto whole = rankedType(op->getResult(0));
  if (!isElementwise(op) || !whole)
    return false;
  for (mlir::Value operand : op->getOperands()) {
    mlir::Operation *reshape = operand.getDefiningOp();
    if (!isOp(reshape, "reshape") || operandOf(reshape, 1) || !operand.hasOneUse() ||
        operand.getType() != mlir::Type(whole) || !endsAnEpilogue(reshape->getOperand(0)))
      continue;
    auto inner = rankedType(reshape->getOperand(0));
    if (!inner || inner.getRank() == 0 || inner.getElementType() != whole.getElementType() ||
        unknownExtents(inner) > 1 || unknownExtents(whole) > 1 || llvm::is_contained(whole.getShape(), 0) ||
        llvm::is_contained(inner.getShape(), 0))
      continue;
    mlir::OpBuilder b(op);
    llvm::SmallVector<mlir::Value> operands;
    for (mlir::Value other : nn::operandsByRecord(op)) {
      mlir::Value own = other == operand ? reshape->getOperand(0)
                        : other          ? inInnerShape(b, op, other, whole, inner)
                                         : other;
      if (other && !own)
        return false;
      operands.push_back(own);
    }
    mlir::Value result =
        nn::build(b, op->getLoc(), op->getName().stripDialect(), operands, *nn::attrsOf(op))->getResult(0);
    if (rankedType(result) != inner)
      return false;
    replaceWith(op, reshapeTo(b, reshape->getLoc(), result, whole));
    reshape->erase(); // the reshape has no other user
    return true;
  }
  return false;
}

} // namespace

void sinkReshape(mlir::ModuleOp module) {
  // Every step moves a reshape after one more operator, so this ends.
  for (mlir::Operation &op : llvm::make_early_inc_range(mainFunction(module).getBody().front()))
    if (nn::recordOf(&op))
      sink(&op);
  deadCode(module);
}

} // namespace lathe
