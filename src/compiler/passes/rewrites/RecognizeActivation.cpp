// gelu, hard_swish and mish from the products exporters spell them with, in any order of operands:
//
//   0.5 * x * (1 + erf(x / sqrt(2)))                        gelu
//   0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))) gelu by tanh
//   x * clip(x + 3, 0, 6) / 6, x * hard_sigmoid(x)          hard_swish
//   x * tanh(softplus(x)), x * tanh(log(1 + exp(x)))        mish
//
// One scalar expression each: fewer operations, and accurate where the long form cancels.
#include "passes/Match.h"
#include "passes/Passes.h"

#include <cmath>

namespace lathe {
namespace {

const double rootHalf = std::sqrt(0.5), tanhScale = std::sqrt(2 / M_PI);

/// number * x * other as one of the activations; null otherwise.
mlir::Value activation(mlir::OpBuilder &b, mlir::Location loc, double number, mlir::Value x, mlir::Value other) {
  if (auto sum = withNumber(other, "add"); sum && isAbout(number * sum->number, 0.5) && isAbout(number, 0.5)) {
    GeluAttrs attrs;
    mlir::Operation *inner = producer(sum->other, "erf");
    Cubic wanted = {0, rootHalf, 0, 0};
    if (!inner) {
      inner = producer(sum->other, "tanh");
      wanted = {0, tanhScale, 0, tanhScale * 0.044715};
      attrs.approximate = "tanh";
    }
    auto argument = inner ? polynomialIn(x, inner->getOperand(0)) : std::nullopt;
    return argument && isAbout(*argument, wanted) ? nn::buildValue(b, loc, "gelu", {x}, std::move(attrs))
                                                  : mlir::Value();
  }
  if (mlir::Operation *clip = producer(other, "clip"); clip && !operandOf(clip, 1) && !operandOf(clip, 2)) {
    auto attrs = nn::attrsAs<ClipAttrs>(clip);
    auto argument = polynomialIn(x, clip->getOperand(0));
    if (!argument || number <= 0 || !isAbout(number * attrs.min, 0) || !isAbout(number * attrs.max, 1))
      return {};
    for (double &coefficient : *argument)
      coefficient *= number;
    return isAbout(*argument, {0.5, 1.0 / 6, 0, 0}) ? nn::buildValue(b, loc, "hard_swish", {x}, HardSwishAttrs())
                                                    : mlir::Value();
  }
  if (mlir::Operation *hard = producer(other, "hard_sigmoid")) {
    auto attrs = nn::attrsAs<HardSigmoidAttrs>(hard);
    bool fits =
        hard->getOperand(0) == x && isAbout(number, 1) && isAbout(attrs.alpha, 1.0 / 6) && isAbout(attrs.beta, 0.5);
    return fits ? nn::buildValue(b, loc, "hard_swish", {x}, HardSwishAttrs()) : mlir::Value();
  }
  if (mlir::Operation *tanh = producer(other, "tanh"); tanh && isAbout(number, 1)) {
    mlir::Operation *softplus = producer(tanh->getOperand(0), "softplus");
    mlir::Operation *log = producer(tanh->getOperand(0), "log");
    auto sum = log ? withNumber(log->getOperand(0), "add") : std::nullopt;
    mlir::Operation *exp = sum && sum->number == 1 ? producer(sum->other, "exp") : nullptr;
    mlir::Operation *innermost = softplus ? softplus : exp;
    if (innermost && innermost->getOperand(0) == x)
      return nn::buildValue(b, loc, "mish", {x}, MishAttrs());
  }
  return {};
}

bool recognizeActivationAt(mlir::Operation *op) {
  Product product = productOf(op->getResult(0));
  if (product.factors.size() != 2)
    return false;
  for (unsigned i = 0; i < 2; ++i) {
    mlir::Value x = product.factors[i], other = product.factors[1 - i];
    if (!other.getDefiningOp() || x.getType() != op->getResult(0).getType())
      continue;
    // The node whose result remains comes last, because values are named after the last node.
    llvm::SmallVector<mlir::Operation *> ops{other.getDefiningOp()};
    llvm::append_range(ops, llvm::reverse(product.ops));
    mlir::OpBuilder b(op);
    if (mlir::Value value = activation(b, fuseLocations(ops), product.number, x, other)) {
      op->getResult(0).replaceAllUsesWith(value);
      return true;
    }
  }
  return false;
}

} // namespace

void recognizeActivation(mlir::ModuleOp module) {
  // From the end, so that the outermost product of a chain comes first.
  llvm::SmallVector<mlir::Operation *> products;
  for (mlir::Operation &op : mainFunction(module).getBody().front())
    if (isOp(&op, "mul") || isOp(&op, "div"))
      products.push_back(&op);
  for (mlir::Operation *op : llvm::reverse(products))
    recognizeActivationAt(op);
  deadCode(module);
}

} // namespace lathe
