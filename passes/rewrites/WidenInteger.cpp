#include "passes/Passes.h"
#include "passes/Rewrite.h"

namespace lathe {
namespace {

class Widener {
public:
  explicit Widener(mlir::Operation *op) : op(op), b(op), loc(op->getLoc()) {}

  void convolution() {
    auto integer = nn::attrsAs<ConvIntegerAttrs>(op);
    ConvAttrs attrs;
    attrs.strides = integer.strides;
    attrs.dilations = integer.dilations;
    attrs.pads = integer.pads;
    attrs.group = integer.group;
    // A zero point an output channel stands before the axes of the channel's kernel.
    size_t kernelAxes = static_cast<size_t>(rankedType(op->getOperand(1)).getRank()) - 1;
    replace("conv", factor(0, 0), factor(1, kernelAxes), attrs);
  }

  void product() {
    // One value a row of the left factor, one a column of the right.
    size_t rank = static_cast<size_t>(rankedType(op->getOperand(0)).getRank());
    MatMulAttrs none;
    replace("matmul", factor(0, rank > 1 ? 1 : 0), factor(1, 0), none);
  }

private:
  mlir::Operation *op;
  mlir::OpBuilder b;
  mlir::Location loc;

  void replace(const char *mnemonic, mlir::Value left, mlir::Value right, Attrs &attrs) {
    llvm::SmallVector<mlir::Value> operands = {left, right};
    if (std::string_view(mnemonic) == "conv")
      operands.emplace_back(); // no bias
    mlir::Value result = nn::build(b, loc, mnemonic, operands, attrs)->getResult(0);
    result.setType(op->getResult(0).getType());
    replaceWith(op, result);
  }

  /// Operand `index` less its zero point as i32; a vector of zero points stands before `trailing` axes.
  mlir::Value factor(size_t index, size_t trailing) {
    mlir::Value value = operandOf(op, index), zero = operandOf(op, 2 + index);
    mlir::Value wide = cast(value);
    if (zero) {
      auto type = rankedType(zero);
      if (type.getRank() == 1 && type.getDimSize(0) != 1 && trailing > 0) {
        ReshapeAttrs spread;
        spread.shape.assign(trailing + 1, 1);
        spread.shape[0] = -1;
        zero = apply("reshape", {zero, {}}, spread);
      }
      SubAttrs none;
      wide = apply("sub", {wide, cast(zero)}, none);
    }
    return wide;
  }

  mlir::Value cast(mlir::Value value) {
    CastAttrs attrs;
    attrs.to = ElementType::i32;
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
    if (isOp(op, "conv_integer"))
      widener.convolution();
    else
      widener.product();
  }
}

} // namespace lathe
