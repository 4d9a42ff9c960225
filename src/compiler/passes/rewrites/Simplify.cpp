#include "passes/Passes.h"
#include "passes/Rewrite.h"
#include "passes/rewrites/SimplifyMovement.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lathe {
namespace {

bool sameType(mlir::Value a, mlir::Value b) { return a.getType() == b.getType(); }

bool isFloatTensor(mlir::Value value) {
  auto type = rankedType(value);
  return type && isFloat(nn::toElementType(type.getElementType()));
}

/// Returns the remaining operand of x + 0, x - 0, x * 1, x / 1 or x ^ 1; null for others.
mlir::Value neutralArithmetic(mlir::Operation *op) {
  struct Rule {
    const char *name;
    double neutral;
    bool commutes;
  };
  static constexpr Rule rules[] = {
      {"add", 0, true}, {"sub", 0, false}, {"mul", 1, true}, {"div", 1, false}, {"pow", 1, false}};
  for (const Rule &rule : rules) {
    if (!isOp(op, rule.name))
      continue;
    for (unsigned position = 0; position < (rule.commutes ? 2u : 1u); ++position)
      if (splatValue(op->getOperand(1 - position)) == rule.neutral &&
          sameType(op->getOperand(position), op->getResult(0)))
        return op->getOperand(position);
  }
  return {};
}

struct Bounds {
  double min, max;
};

/// relu and clip with static bounds, as bounds; NaN passes through both.
std::optional<Bounds> boundsOf(mlir::Operation *op) {
  if (!op || !isFloatTensor(op->getResult(0)))
    return std::nullopt;
  if (isOp(op, "relu"))
    return Bounds{0, std::numeric_limits<double>::infinity()};
  if (!isOp(op, "clip") || operandOf(op, 1) || operandOf(op, 2))
    return std::nullopt;
  auto clip = nn::attrsAs<ClipAttrs>(op);
  if (clip.min > clip.max)
    return std::nullopt;
  return Bounds{clip.min, clip.max};
}

/// Merges two consecutive pairs of bounds.
bool mergeBounds(mlir::Operation *op) {
  std::optional<Bounds> outer = boundsOf(op);
  mlir::Operation *before = outer ? op->getOperand(0).getDefiningOp() : nullptr;
  std::optional<Bounds> inner = before && before->getNumResults() == 1 ? boundsOf(before) : std::nullopt;
  if (!inner)
    return false;
  ClipAttrs merged;
  merged.min = std::clamp(inner->min, outer->min, outer->max);
  merged.max = std::clamp(inner->max, outer->min, outer->max);
  if (merged.min == inner->min && merged.max == inner->max) { // the outer one changes nothing
    replaceWith(op, before->getResult(0));
    return true;
  }
  if (!before->hasOneUse())
    return false;
  mlir::OpBuilder b(op);
  mlir::Location loc = fuseLocations(before, op);
  mlir::Value x = before->getOperand(0);
  bool relu = merged.min == 0 && std::isinf(merged.max);
  replaceWith(op, relu ? nn::buildValue(b, loc, "relu", {x}, ReluAttrs())
                       : nn::buildValue(b, loc, "clip", {x, {}, {}}, std::move(merged)));
  before->erase();
  return true;
}

/// Rewrites clip from 0 upwards as relu.
bool clipToRelu(mlir::Operation *op) {
  std::optional<Bounds> bounds = isOp(op, "clip") ? boundsOf(op) : std::nullopt;
  if (!bounds || bounds->min != 0 || !(bounds->max > 3.5e38))
    return false;
  mlir::OpBuilder b(op);
  replaceWith(op, nn::buildValue(b, op->getLoc(), "relu", {op->getOperand(0)}, ReluAttrs()));
  return true;
}

bool allEqual(const std::vector<int64_t> &values, int64_t wanted) {
  return std::all_of(values.begin(), values.end(), [&](int64_t v) { return v == wanted; });
}

/// Rewrites a pool over the whole image as a reduction over the spatial axes, which may run in any layout. Removes a
/// pool over an image of one element.
template <class PoolAttrs> bool wholeImagePool(mlir::Operation *op, const char *reduction) {
  auto attrs = nn::attrsAs<PoolAttrs>(op);
  auto type = rankedType(op->getOperand(0));
  if (!type || !allEqual(attrs.pads, 0))
    return false;
  if (allEqual(attrs.kernel, 1) && allEqual(attrs.strides, 1) && sameType(op->getOperand(0), op->getResult(0))) {
    replaceWith(op, op->getOperand(0));
    return true;
  }
  ReduceMeanAttrs mean; // the fields of every reduction are the same
  mean.keepdims = true;
  for (int64_t axis = 2; axis < type.getRank(); ++axis) {
    if (type.isDynamicDim(axis) || type.getDimSize(axis) != attrs.kernel[axis - 2] ||
        (!attrs.dilations.empty() && attrs.dilations[axis - 2] != 1) ||
        rankedType(op->getResult(0)).getDimSize(axis) != 1)
      return false;
    mean.axes.push_back(axis);
  }
  mlir::OpBuilder b(op);
  replaceWith(op, nn::build(b, op->getLoc(), reduction, {op->getOperand(0), {}}, mean)->getResult(0));
  return true;
}

/// A reduction over all spatial axes that is later reshaped keeps these axes with extent 1, so that its result may stay
/// in the layout of its operand.
bool keepReducedAxes(mlir::Operation *op) {
  if (loweringOf(op) != "reduction" || operandOf(op, 1))
    return false;
  ReduceMeanAttrs attrs;
  bool knowsAxes = false;
  if (auto axes = op->getAttrOfType<mlir::DenseI64ArrayAttr>("axes")) {
    attrs.axes.assign(axes.asArrayRef().begin(), axes.asArrayRef().end());
    knowsAxes = true;
  }
  auto keepdims = op->getAttrOfType<mlir::BoolAttr>("keepdims");
  auto type = rankedType(op->getOperand(0));
  if (!knowsAxes || !keepdims || keepdims.getValue() || !type || type.getRank() < 3 || type.getRank() > 5)
    return false;
  for (int64_t &axis : attrs.axes)
    axis += axis < 0 ? type.getRank() : 0;
  std::sort(attrs.axes.begin(), attrs.axes.end());
  if (static_cast<int64_t>(attrs.axes.size()) != type.getRank() - 2 || attrs.axes.front() != 2 || type.isDynamicDim(1))
    return false;
  attrs.keepdims = true;
  mlir::OpBuilder b(op);
  mlir::Value reduced =
      nn::build(b, op->getLoc(), op->getName().stripDialect(), {op->getOperand(0), {}}, attrs)->getResult(0);
  ReshapeAttrs reshape;
  reshape.shape = {0, type.getDimSize(1)};
  mlir::Value flat = nn::buildValue(b, op->getLoc(), "reshape", {reduced, {}}, std::move(reshape));
  flat.setType(op->getResult(0).getType());
  replaceWith(op, flat);
  return true;
}

bool simplifyOnce(mlir::Operation *op) {
  if (mlir::Value left = op->getNumResults() == 1 ? neutralArithmetic(op) : mlir::Value()) {
    replaceWith(op, left);
    return true;
  }
  if (isOp(op, "cast") && sameType(op->getOperand(0), op->getResult(0))) {
    replaceWith(op, op->getOperand(0));
    return true;
  }
  if (isOp(op, "max_pool"))
    return wholeImagePool<MaxPoolAttrs>(op, "reduce_max");
  if (isOp(op, "average_pool"))
    return wholeImagePool<AveragePoolAttrs>(op, "reduce_mean");
  return mergeBounds(op) || clipToRelu(op) || keepReducedAxes(op) || simplifyMovement(op);
}

} // namespace

void simplify(mlir::ModuleOp module) {
  mlir::Block &body = mainFunction(module).getBody().front();
  // Every rule removes an operator or makes one that no rule applies to, so this ends.
  for (bool changed = true; changed;) {
    changed = false;
    for (mlir::Operation &op : llvm::make_early_inc_range(body))
      if (nn::recordOf(&op) && !op.use_empty())
        changed |= simplifyOnce(&op);
    deadCode(module);
  }
}

} // namespace lathe
