#include "passes/Passes.h"
#include "passes/Rewrite.h"

namespace lathe {
namespace {

bool isConstant(mlir::Value value) { return value.getDefiningOp<nn::ConstantOp>() != nullptr; }
bool hasOneValue(mlir::Value value) {
  auto type = rankedType(value);
  return type && type.hasStaticShape() && type.getNumElements() == 1;
}

/// True if a kernel can multiply the 8-bit factors (codegen/contraction/ReadContraction.cpp): the left one has one zero
/// point at most, the right one too, unless it is constant like its zero points. Weights of a convolution are constant.
bool hasKernel(mlir::Operation *op) {
  mlir::Value right = operandOf(op, 1), leftZero = operandOf(op, 2), rightZero = operandOf(op, 3);
  bool constant = isConstant(right), conv = isOp(op, "conv_integer");
  if ((conv && !constant) || (leftZero && !hasOneValue(leftZero)))
    return false;
  if (rightZero && !(constant ? isConstant(rightZero) : hasOneValue(rightZero)))
    return false;
  return conv || rankedType(right).getRank() >= 2;
}

/// Rewrites one conv_integer or matmul_integer.
class Widener {
public:
  explicit Widener(mlir::Operation *op) : op(op), b(op), loc(op->getLoc()) {}

  /// Subtracts constant zero points of the right factor from it.
  void centre() {
    mlir::Value right = factor(1, kernelAxes(), ElementType::i16);
    llvm::SmallVector<mlir::Value> operands = {op->getOperand(0), right, operandOf(op, 2), mlir::Value()};
    if (isOp(op, "conv_integer")) {
      auto attrs = nn::attrsAs<ConvIntegerAttrs>(op);
      replace("conv_integer", operands, attrs);
    } else {
      MatMulIntegerAttrs none;
      replace("matmul_integer", operands, none);
    }
  }

  void convolution() {
    auto integer = nn::attrsAs<ConvIntegerAttrs>(op);
    ConvAttrs attrs;
    attrs.strides = integer.strides;
    attrs.dilations = integer.dilations;
    attrs.pads = integer.pads;
    attrs.group = integer.group;
    replace("conv", {factor(0, 0), factor(1, kernelAxes()), mlir::Value()}, attrs);
  }

  void product() {
    // One value a row of the left factor, one a column of the right.
    size_t rank = static_cast<size_t>(rankedType(op->getOperand(0)).getRank());
    MatMulAttrs none;
    replace("matmul", {factor(0, rank > 1 ? 1 : 0), factor(1, 0)}, none);
  }

private:
  mlir::Operation *op;
  mlir::OpBuilder b;
  mlir::Location loc;

  /// Axes behind those that zero points of the right factor lie along: a channel's kernel.
  size_t kernelAxes() const {
    return isOp(op, "conv_integer") ? static_cast<size_t>(rankedType(op->getOperand(1)).getRank()) - 1 : 0;
  }

  void replace(const char *mnemonic, llvm::ArrayRef<mlir::Value> operands, Attrs &attrs) {
    mlir::Value result = nn::build(b, loc, mnemonic, operands, attrs)->getResult(0);
    result.setType(op->getResult(0).getType());
    replaceWith(op, result);
  }

  /// Operand `index` less its zero point as `type`; a vector of zero points stands before `trailing` axes.
  mlir::Value factor(size_t index, size_t trailing, ElementType type = ElementType::i32) {
    mlir::Value value = operandOf(op, index), zero = operandOf(op, 2 + index);
    mlir::Value wide = cast(value, type);
    if (zero) {
      auto shape = rankedType(zero);
      if (shape.getRank() == 1 && shape.getDimSize(0) != 1 && trailing > 0) {
        ReshapeAttrs spread;
        spread.shape.assign(trailing + 1, 1);
        spread.shape[0] = -1;
        zero = apply("reshape", {zero, {}}, spread);
      }
      SubAttrs none;
      wide = apply("sub", {wide, cast(zero, type)}, none);
    }
    return wide;
  }

  mlir::Value cast(mlir::Value value, ElementType type) {
    CastAttrs attrs;
    attrs.to = type;
    return apply("cast", {value}, attrs);
  }

  /// The operator, or at once what it makes of constants: kernels want their weights constant, of any size.
  mlir::Value apply(const char *mnemonic, llvm::ArrayRef<mlir::Value> operands, Attrs &attrs) {
    std::vector<Value> constants;
    for (mlir::Value operand : operands)
      if (std::optional<Tensor> constant = operand ? constantOf(operand) : std::nullopt)
        constants.emplace_back(*constant);
      else if (operand)
        return nn::build(b, loc, mnemonic, operands, attrs)->getResult(0);
    std::vector<const Value *> inputs;
    for (const Value &constant : constants)
      inputs.push_back(&constant);
    inputs.resize(operands.size(), nullptr);
    return makeConstant(b, loc, evaluateReference(mnemonic, attrs, inputs).at(0).tensor(),
                        constantName(op, ".widened"));
  }
};

} // namespace

void widenInteger(mlir::ModuleOp module) {
  std::vector<mlir::Operation *> found;
  for (mlir::Operation &op : mainFunction(module).getBody().front())
    if ((isOp(&op, "conv_integer") || isOp(&op, "matmul_integer")) && rankedType(op.getOperand(0)) &&
        rankedType(op.getOperand(1)))
      found.push_back(&op);
  for (mlir::Operation *op : found) {
    Widener widener(op);
    if (hasKernel(op)) {
      if (operandOf(op, 3) && isConstant(op->getOperand(1)))
        widener.centre();
    } else if (isOp(op, "conv_integer")) {
      widener.convolution();
    } else {
      widener.product();
    }
  }
}

} // namespace lathe
