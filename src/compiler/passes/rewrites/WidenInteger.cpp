#include "passes/Passes.h"
#include "passes/Rewrite.h"

#include <algorithm>
#include <span>

namespace lathe {
namespace {

bool isConstant(mlir::Value value) { return value.getDefiningOp<nn::ConstantOp>() != nullptr; }
bool hasOneValue(mlir::Value value) {
  auto type = rankedType(value);
  return type && type.hasStaticShape() && type.getNumElements() == 1;
}

/// True if a kernel can multiply the 8-bit factors (codegen/contraction/ReadContraction.cpp). The left factor has at
/// most one zero point; the right one too, unless it and its zero points are constant. Weights of a convolution are
/// constant.
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

  /// Subtracts constant zero points of the right factor. Differences that fit 8 bits stay bytes, which targets multiply
  /// faster. If they need more bits, the factor and its single zero point stay, both as i8, where kernels can multiply
  /// the sums of the left factor by the zero point: not for groups, whose kernels compute one channel per lane, and not
  /// for open height or width.
  void centre() {
    mlir::Value right = factor(1, kernelAxes(), ElementType::i16), zero;
    if (std::optional<Tensor> values = constantOf(right); values && fitI8(*values)) {
      right = cast(right, ElementType::i8);
    } else if (std::optional<int64_t> one = commonZeroPoint(); one && !inGroups() && !isOpen()) {
      if (!isUnsigned(operandOf(op, 1)) && hasOneValue(operandOf(op, 3)))
        return; // kernels take it in this form
      right = asI8(operandOf(op, 1));
      mlir::Value point = operandOf(op, 3);
      double number = static_cast<double>(isUnsigned(point) ? *one - 128 : *one);
      zero = makeConstant(b, loc, ElementType::i8, {}, {number}, constantName(op, ".zero"));
    }
    llvm::SmallVector<mlir::Value> operands = {op->getOperand(0), right, operandOf(op, 2), zero};
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
    // One value per row of the left factor, one per column of the right factor.
    size_t rank = static_cast<size_t>(rankedType(op->getOperand(0)).getRank());
    MatMulAttrs none;
    replace("matmul", {factor(0, rank > 1 ? 1 : 0), factor(1, 0)}, none);
  }

private:
  mlir::Operation *op;
  mlir::OpBuilder b;
  mlir::Location loc;

  static bool fitI8(const Tensor &values) {
    std::span all(values.as<int16_t>(), static_cast<size_t>(values.elements()));
    return std::all_of(all.begin(), all.end(), [](int16_t value) { return value >= -128 && value <= 127; });
  }

  bool inGroups() const { return isOp(op, "conv_integer") && nn::attrsAs<ConvIntegerAttrs>(op).group != 1; }
  bool isOpen() const {
    return isOp(op, "conv_integer") &&
           llvm::any_of(rankedType(op->getOperand(0)).getShape().drop_front(2), mlir::ShapedType::isDynamic);
  }
  static bool isUnsigned(mlir::Value value) { return nn::infoOf(value).type == ElementType::u8; }

  /// The zero point of the right factor, if it has only one.
  std::optional<int64_t> commonZeroPoint() const {
    std::vector<double> points = toDoubles(*constantOf(operandOf(op, 3)));
    if (points.empty() || std::any_of(points.begin(), points.end(), [&](double each) { return each != points[0]; }))
      return std::nullopt;
    return static_cast<int64_t>(points[0]);
  }

  /// A constant of bytes as i8: u8 minus 128 flips the highest bit.
  mlir::Value asI8(mlir::Value value) {
    if (!isUnsigned(value))
      return value;
    Tensor from = *constantOf(value), to(ElementType::i8, from.dims());
    for (int64_t i = 0; i < from.elements(); ++i)
      to.as<int8_t>()[i] = static_cast<int8_t>(from.as<uint8_t>()[i] ^ 0x80);
    return makeConstant(b, loc, to, constantName(op, ".signed"));
  }

  /// The number of axes behind the axis of the right factor's zero points: the axes of one channel's kernel.
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

  /// Creates the operator, or folds it at once if its operands are constant: kernels need constant weights.
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
