// softmax from exp(x - reduce_max(x)) / reduce_sum(exp(...)), with or without the greatest element subtracted, and
// log_softmax from x - reduce_log_sum_exp(x) or s - log(reduce_sum(exp(s))).
#include "passes/Match.h"
#include "passes/Passes.h"

namespace lathe {
namespace {

/// The axis of a reduction over one axis that keeps dimensions; -1 otherwise.
int64_t onlyAxis(mlir::Operation *reduction) {
  auto axes = keptAxes(reduction);
  return axes && axes->size() == 1 ? axes->front() : -1;
}

/// Returns x if `value` is x - reduce_max(x) over `axis`; otherwise the value itself.
mlir::Value withoutShift(mlir::Value value, int64_t axis) {
  mlir::Operation *difference = producer(value, "sub");
  mlir::Operation *greatest = difference ? producer(difference->getOperand(1), "reduce_max") : nullptr;
  bool shift = greatest && greatest->getOperand(0) == difference->getOperand(0) && onlyAxis(greatest) == axis;
  return shift ? difference->getOperand(0) : value;
}

mlir::Value recognizeSoftmaxAt(mlir::OpBuilder &b, mlir::Operation *op) {
  mlir::Value numerator = op->getOperand(0), denominator = op->getOperand(1);
  if (isOp(op, "div")) {
    mlir::Operation *exp = producer(numerator, "exp"), *sum = producer(denominator, "reduce_sum");
    int64_t axis = exp && sum && sum->getOperand(0) == numerator ? onlyAxis(sum) : -1;
    if (axis < 0)
      return {};
    SoftmaxAttrs attrs;
    attrs.axis = axis;
    return nn::buildValue(b, fuseLocations({exp, sum, op}), "softmax", {withoutShift(exp->getOperand(0), axis)},
                          std::move(attrs));
  }
  mlir::Operation *log = producer(denominator, "log"), *sum = producer(denominator, "reduce_log_sum_exp");
  mlir::Value x;
  if (sum) {
    x = sum->getOperand(0);
  } else if (log) {
    sum = producer(log->getOperand(0), "reduce_sum");
    mlir::Operation *exp = sum ? producer(sum->getOperand(0), "exp") : nullptr;
    x = exp ? exp->getOperand(0) : mlir::Value();
  }
  int64_t axis = x && x == numerator ? onlyAxis(sum) : -1;
  if (axis < 0)
    return {};
  LogSoftmaxAttrs attrs;
  attrs.axis = axis;
  return nn::buildValue(b, fuseLocations({sum, op}), "log_softmax", {withoutShift(x, axis)}, std::move(attrs));
}

} // namespace

void recognizeSoftmax(mlir::ModuleOp module) {
  for (mlir::Operation &op : llvm::make_early_inc_range(mainFunction(module).getBody().front())) {
    auto type = op.getNumResults() == 1 ? rankedType(op.getResult(0)) : mlir::RankedTensorType();
    if ((!isOp(&op, "div") && !isOp(&op, "sub")) || !type || op.getOperand(0).getType() != type ||
        !isFloat(nn::toElementType(type.getElementType())))
      continue;
    mlir::OpBuilder b(&op);
    if (mlir::Value value = recognizeSoftmaxAt(b, &op))
      op.getResult(0).replaceAllUsesWith(value);
  }
  deadCode(module);
}

} // namespace lathe
