// lp_normalize from x / max(norm(x), epsilon), with the norm as reduce_l1, reduce_l2 or sqrt(reduce_sum(x * x)),
// limited by clip or max, and expanded or not (PyTorch's normalize); and from x * 1 / sqrt(max(reduce_sum(x * x),
// epsilon)) (TensorFlow's l2_normalize).
#include "passes/Match.h"
#include "passes/Passes.h"

#include <cmath>

namespace lathe {
namespace {

/// max(other, number) as clip or max; without either: the value and 0.
WithNumber limited(mlir::Value value) {
  if (auto max = withNumber(value, "max"))
    return *max;
  mlir::Operation *clip = producer(value, "clip");
  if (!clip || operandOf(clip, 1) || operandOf(clip, 2))
    return {value, 0};
  auto attrs = nn::attrsAs<ClipAttrs>(clip);
  return std::isinf(attrs.max) || attrs.max > 3e38 ? WithNumber{clip->getOperand(0), attrs.min} : WithNumber{value, 0};
}

struct Norm {
  int64_t p = 0; // 0: none
  int64_t axis = 0;
  double epsilon = 0;
};

/// `value` as a norm of x along one axis, limited from below.
Norm normOf(mlir::Value value, mlir::Value x) {
  if (mlir::Operation *expand = producer(value, "expand"))
    value = expand->getOperand(0);
  WithNumber outer = limited(value);
  Norm norm{0, 0, outer.number};
  mlir::Operation *reduction = nullptr;
  if ((reduction = producer(outer.other, "reduce_l1"))) {
    norm.p = 1;
  } else if ((reduction = producer(outer.other, "reduce_l2"))) {
    norm.p = 2;
  } else if (mlir::Operation *root = producer(outer.other, "sqrt")) {
    WithNumber inner = limited(root->getOperand(0));
    norm.epsilon = std::max(norm.epsilon, inner.number > 0 ? std::sqrt(inner.number) : 0);
    if ((reduction = producer(inner.other, "reduce_sum_square"))) {
      norm.p = 2;
    } else if ((reduction = producer(inner.other, "reduce_sum"))) {
      mlir::Value base = squareRootOf(reduction->getOperand(0));
      norm.p = base == x ? 2 : 0;
      x = base == x ? reduction->getOperand(0) : x;
    }
  }
  auto axes = reduction && norm.p ? keptAxes(reduction) : std::nullopt;
  if (!axes || axes->size() != 1 || reduction->getOperand(0) != x || norm.epsilon < 0)
    return {};
  norm.axis = axes->front();
  return norm;
}

} // namespace

void recognizeLpNormalize(mlir::ModuleOp module) {
  for (mlir::Operation &op : llvm::make_early_inc_range(mainFunction(module).getBody().front())) {
    bool quotient = isOp(&op, "div");
    if (!quotient && !isOp(&op, "mul"))
      continue;
    for (unsigned i = 0; i < (quotient ? 1u : 2u); ++i) {
      mlir::Value x = op.getOperand(i), other = op.getOperand(1 - i);
      if (x.getType() != op.getResult(0).getType())
        continue;
      if (!quotient) {
        mlir::Operation *inverse = producer(other, "reciprocal");
        if (!inverse)
          continue;
        other = inverse->getOperand(0);
      }
      Norm norm = normOf(other, x);
      // Without a limit 0 / 0 is NaN in the source and 0 here.
      if (!norm.p || norm.epsilon <= 0)
        continue;
      LpNormalizeAttrs attrs;
      attrs.axis = norm.axis;
      attrs.p = norm.p;
      attrs.epsilon = norm.epsilon;
      mlir::OpBuilder b(&op);
      mlir::Location loc = other.getDefiningOp() ? fuseLocations(other.getDefiningOp(), &op) : op.getLoc();
      op.getResult(0).replaceAllUsesWith(nn::buildValue(b, loc, "lp_normalize", {x}, std::move(attrs)));
      break;
    }
  }
  deadCode(module);
}

} // namespace lathe
