#include "passes/Passes.h"
#include "passes/Rewrite.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

namespace lathe {
namespace {

bool isAnyOf(mlir::Operation *op, std::initializer_list<const char *> mnemonics) {
  return std::any_of(mnemonics.begin(), mnemonics.end(), [&](const char *mnemonic) { return isOp(op, mnemonic); });
}

/// The quotient of an expression of at most two bytes by a constant, and the bytes to which it is quantised.
class QuotientOfBytes {
public:
  explicit QuotientOfBytes(mlir::Operation *quotient) : quotient(quotient) {}

  /// False if the operator is something else.
  bool read() {
    std::optional<Tensor> by = constantOf(quotient->getOperand(1));
    if (!by || by->elements() != 1 || by->type() != ElementType::f32 || !readQuantisation())
      return false;
    divisor = by->as<float>()[0];
    return std::isfinite(divisor) && divisor != 0 && readDividend(quotient->getOperand(0)) && !leaves.empty();
  }

  /// Replaces the division if a cheaper operator gives the same bytes for every byte or pair of bytes.
  void replace() {
    setLeaves();
    Tensor dividend = *evaluate(quotient->getOperand(0)),
           expected = quantised(applied("div", DivAttrs(), dividend, scalar(divisor)));
    auto isEqual = [&](const Tensor &x) {
      Tensor got = quantised(x);
      return std::memcmp(got.data(), expected.data(), expected.bytes()) == 0;
    };
    if (mlir::Operation *sum = quotient->getOperand(0).getDefiningOp(); isSumOfProducts(sum)) {
      Tensor x = dividedProduct(sum->getOperand(0)), y = dividedProduct(sum->getOperand(1));
      if (isEqual(applied("add", AddAttrs(), x, y))) {
        divide(sum->getOperand(0).getDefiningOp());
        divide(sum->getOperand(1).getDefiningOp());
        return replaceWith(quotient, sum->getResult(0));
      }
    }
    float nearest = 1 / divisor;
    for (float factor : {nearest, std::nextafter(nearest, 0.0f), std::nextafter(nearest, nearest * 2)})
      if (isEqual(multiplied(dividend, factor))) {
        mlir::OpBuilder b(quotient);
        MulAttrs none;
        mlir::Value product =
            nn::build(b, quotient->getLoc(), "mul", {quotient->getOperand(0), constant(b, factor)}, none)->getResult(0);
        product.setType(quotient->getResult(0).getType());
        return replaceWith(quotient, product);
      }
  }

private:
  mlir::Operation *quotient;
  float divisor = 0;
  llvm::SmallVector<mlir::Value> leaves;       // bytes
  llvm::SmallVector<mlir::Operation *> behind; // from the quotient to the bytes of the result
  std::vector<Tensor> values;                  // of the leaves

  /// Reads round, an optional addition of a zero point, limits, and the conversion to bytes.
  bool readQuantisation() {
    for (mlir::Value value = quotient->getResult(0); value.hasOneUse();) {
      mlir::Operation *op = *value.user_begin();
      bool constant = op->getNumOperands() == 1 || constantOf(op->getOperand(1));
      if (!isAnyOf(op, {"round", "add", "clip", "cast"}) || op->getOperand(0) != value || !constant)
        return false;
      behind.push_back(op);
      value = op->getResult(0);
      if (isOp(op, "cast"))
        return isByte(nn::infoOf(value).type) && isOp(behind.front(), "round");
    }
    return false;
  }

  bool readDividend(mlir::Value value) {
    if (std::optional<Tensor> constant = constantOf(value))
      return constant->elements() == 1;
    if (isByte(nn::infoOf(value).type)) {
      if (!llvm::is_contained(leaves, value))
        leaves.push_back(value);
      return leaves.size() <= 2;
    }
    mlir::Operation *op = value.getDefiningOp();
    return isAnyOf(op, {"add", "sub", "mul", "cast", "relu"}) &&
           llvm::all_of(op->getOperands(), [&](mlir::Value operand) { return readDividend(operand); });
  }

  /// Sets the leaves to all bytes, each leaf along a separate axis.
  void setLeaves() {
    for (size_t i = 0; i < leaves.size(); ++i) {
      Tensor all(nn::infoOf(leaves[i]).type, i == 0 ? std::vector<int64_t>{256, 1} : std::vector<int64_t>{1, 256});
      for (int64_t byte = 0; byte < 256; ++byte)
        static_cast<uint8_t *>(all.data())[byte] = static_cast<uint8_t>(byte);
      values.push_back(all);
    }
  }

  std::optional<Tensor> evaluate(mlir::Value value) {
    if (auto *leaf = llvm::find(leaves, value); leaf != leaves.end())
      return values[static_cast<size_t>(leaf - leaves.begin())];
    if (std::optional<Tensor> constant = constantOf(value))
      return constant;
    mlir::Operation *op = value.getDefiningOp();
    std::vector<Value> operands;
    for (mlir::Value operand : op->getOperands())
      operands.emplace_back(*evaluate(operand));
    return resultOf(op, operands);
  }

  static Tensor resultOf(mlir::Operation *op, const std::vector<Value> &operands) {
    std::vector<const Value *> inputs;
    for (const Value &operand : operands)
      inputs.push_back(&operand);
    inputs.resize(nn::operandsByRecord(op).size(), nullptr);
    return evaluateReference(nn::recordOf(op)->name, *nn::attrsOf(op), inputs).at(0).tensor();
  }

  static Tensor applied(const char *mnemonic, const Attrs &attrs, const Tensor &x, const Tensor &y) {
    Value left(x), right(y);
    std::array<const Value *, 2> inputs = {&left, &right};
    return evaluateReference(mnemonic, attrs, inputs).at(0).tensor();
  }
  static Tensor scalar(float value) {
    Tensor number(ElementType::f32, std::vector<int64_t>());
    number.as<float>()[0] = value;
    return number;
  }
  static Tensor multiplied(const Tensor &x, float factor) { return applied("mul", MulAttrs(), x, scalar(factor)); }

  mlir::Value constant(mlir::OpBuilder &b, float number) const {
    return makeConstant(b, quotient->getLoc(), ElementType::f32, {}, {double(number)},
                        constantName(quotient, ".factor"));
  }

  /// True for x * a + y * b with constants that have no other user.
  bool isSumOfProducts(mlir::Operation *sum) const {
    return isOp(sum, "add") && sum->getResult(0).hasOneUse() &&
           llvm::all_of(sum->getOperands(), [](mlir::Value product) {
             return isOp(product, "mul") && product.hasOneUse() &&
                    constantOf(product.getDefiningOp()->getOperand(1)).has_value();
           });
  }
  float dividedFactor(mlir::Operation *product) const {
    return static_cast<float>(double(constantOf(product->getOperand(1))->as<float>()[0]) / divisor);
  }
  Tensor dividedProduct(mlir::Value product) {
    mlir::Operation *op = product.getDefiningOp();
    return multiplied(*evaluate(op->getOperand(0)), dividedFactor(op));
  }
  void divide(mlir::Operation *product) {
    mlir::OpBuilder b(product);
    product->setOperand(1, constant(b, dividedFactor(product)));
  }

  Tensor quantised(Tensor x) const {
    for (mlir::Operation *op : behind) {
      std::vector<Value> operands = {Value(x)};
      if (op->getNumOperands() == 2)
        operands.emplace_back(*constantOf(op->getOperand(1)));
      x = resultOf(op, operands);
    }
    return x;
  }
};

} // namespace

void multiplyByReciprocal(mlir::ModuleOp module) {
  llvm::SmallVector<mlir::Operation *> quotients;
  for (mlir::Operation &op : mainFunction(module).getBody().front())
    if (isOp(&op, "div"))
      quotients.push_back(&op);
  for (mlir::Operation *op : quotients) {
    QuotientOfBytes quotient(op);
    if (quotient.read())
      quotient.replace();
  }
}

} // namespace lathe
