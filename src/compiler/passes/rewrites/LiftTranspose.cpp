#include "passes/Passes.h"
#include "passes/Rewrite.h"

namespace lathe {
namespace {

using Axes = std::vector<int64_t>;

/// True for a permutation that puts the channels of an image, which are last, to axis 1.
bool putsChannelsFirst(const Axes &perm) {
  auto rank = static_cast<int64_t>(perm.size());
  if (rank < 4 || perm[0] != 0 || perm[1] != rank - 1)
    return false;
  for (int64_t i = 2; i < rank; ++i)
    if (perm[static_cast<size_t>(i)] != i - 1)
      return false;
  return true;
}

mlir::Value transposed(mlir::OpBuilder &b, mlir::Operation *op, mlir::Value x, const Axes &perm) {
  TransposeAttrs attrs;
  attrs.perm = perm;
  auto type = rankedType(x);
  mlir::Value result = nn::buildValue(b, op->getLoc(), "transpose", {x}, std::move(attrs));
  llvm::SmallVector<int64_t> shape;
  for (int64_t axis : perm)
    shape.push_back(type.getDimSize(static_cast<unsigned>(axis)));
  result.setType(mlir::RankedTensorType::get(shape, type.getElementType()));
  return result;
}

/// A constant that has one number, or one for each channel, beside an image of `rank` axes with the channels first. Null for
/// other constants and other values.
mlir::Value beside(mlir::OpBuilder &b, mlir::Operation *op, mlir::Value value, int64_t rank) {
  auto constant = constantOf(value);
  if (!constant || static_cast<int64_t>(constant->dims().size()) > rank)
    return {};
  if (constant->elements() == 1)
    return value;
  if (constant->dims().back() != constant->elements() || !isFloat(constant->type()))
    return {};
  Axes dims(static_cast<size_t>(rank - 1), 1);
  dims[0] = constant->elements();
  return makeConstant(b, op->getLoc(), constant->type(), dims, toDoubles(*constant),
                      constantName(op, "channels_first"));
}

mlir::Value liftedPad(mlir::Operation *op, const Axes &perm) {
  auto attrs = nn::attrsAs<PadAttrs>(op);
  size_t rank = perm.size();
  if (op->getNumOperands() != 1 || attrs.pads.size() != 2 * rank)
    return {};
  Axes pads;
  for (size_t end = 0; end < 2; ++end)
    for (int64_t axis : perm)
      pads.push_back(attrs.pads[end * rank + static_cast<size_t>(axis)]);
  attrs.pads = pads;
  mlir::OpBuilder b(op);
  mlir::Value x = transposed(b, op, op->getOperand(0), perm);
  return nn::build(b, op->getLoc(), "pad", {x, {}, {}}, attrs)->getResult(0);
}

/// An element-wise operator on an image and constants.
mlir::Value liftedElementwise(mlir::Operation *op, const Axes &perm) {
  auto rank = static_cast<int64_t>(perm.size());
  mlir::OpBuilder b(op);
  llvm::SmallVector<mlir::Value> operands;
  size_t image = 0, images = 0;
  for (mlir::Value operand : nn::operandsByRecord(op)) {
    operands.push_back(operand ? beside(b, op, operand, rank) : mlir::Value());
    if (!operand || operands.back())
      continue;
    auto type = rankedType(operand), whole = rankedType(op->getResult(0));
    if (!type || !whole || type.getShape() != whole.getShape() || constantOf(operand) || images++)
      return {};
    image = operands.size() - 1;
    operands.back() = operand;
  }
  if (images != 1)
    return {};
  operands[image] = transposed(b, op, operands[image], perm);
  return nn::build(b, op->getLoc(), op->getName().stripDialect(), operands, *nn::attrsOf(op))->getResult(0);
}

/// Moves `transpose` in front of the operator that makes its operand, and repeats this with the moved transpose.
void lift(mlir::Operation *transpose) {
  Axes perm = nn::attrsAs<TransposeAttrs>(transpose).perm;
  if (!putsChannelsFirst(perm))
    return;
  for (;;) {
    mlir::Operation *op = transpose->getOperand(0).getDefiningOp();
    if (!op || !nn::recordOf(op) || op->getNumResults() != 1 || !op->getResult(0).hasOneUse())
      return;
    mlir::Value lifted = isOp(op, "pad")                   ? liftedPad(op, perm)
                         : loweringOf(op) == "elementwise" ? liftedElementwise(op, perm)
                                                           : mlir::Value();
    if (!lifted)
      return;
    lifted.setType(transpose->getResult(0).getType());
    mlir::Operation *inner = lifted.getDefiningOp();
    replaceWith(transpose, lifted);
    op->erase();
    transpose = nullptr;
    for (mlir::Value operand : inner->getOperands())
      if (isOp(operand, "transpose"))
        transpose = operand.getDefiningOp();
  }
}

} // namespace

void liftTranspose(mlir::ModuleOp module) {
  llvm::SmallVector<mlir::Operation *> transposes;
  for (mlir::Operation &op : mainFunction(module).getBody().front())
    if (isOp(&op, "transpose"))
      transposes.push_back(&op);
  for (mlir::Operation *op : transposes)
    lift(op);
  deadCode(module);
}

} // namespace lathe
