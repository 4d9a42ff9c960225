#include "passes/rewrites/SimplifyMovement.h"

#include "passes/Rewrite.h"

#include <algorithm>
#include <numeric>

namespace lathe {
namespace {

int64_t dynamicCount(mlir::RankedTensorType type) {
  return std::count_if(type.getShape().begin(), type.getShape().end(), mlir::ShapedType::isDynamic);
}

/// True if the open extent of `type` follows from the number of elements: the type has at most one, and no extent 0.
bool elementsTellExtents(mlir::RankedTensorType type) {
  int64_t unknown = type ? dynamicCount(type) : 2;
  return unknown == 0 || (unknown == 1 && !llvm::is_contained(type.getShape(), 0));
}

/// True if equal types imply equal extents.
bool sameExtents(mlir::Value a, mlir::Value b) {
  return a.getType() == b.getType() && elementsTellExtents(rankedType(a));
}

bool simplifyReshape(mlir::Operation *op) {
  mlir::Value x = op->getOperand(0), y = op->getResult(0);
  if (sameExtents(x, y)) {
    replaceWith(op, x);
    return true;
  }
  auto type = rankedType(y);
  mlir::Operation *before = x.getDefiningOp();
  if (!isOp(before, "reshape") || !elementsTellExtents(type))
    return false;
  mlir::OpBuilder b(op);
  replaceWith(op, reshapeTo(b, op->getLoc(), before->getOperand(0), type));
  return true;
}

std::vector<int64_t> permutation(mlir::Operation *transpose) {
  std::vector<int64_t> perm = nn::attrsAs<TransposeAttrs>(transpose).perm;
  if (perm.empty()) { // reversed
    perm.resize(rankedType(transpose->getOperand(0)).getRank());
    std::iota(perm.rbegin(), perm.rend(), 0);
  }
  return perm;
}

bool simplifyTranspose(mlir::Operation *op) {
  mlir::Value x = op->getOperand(0);
  auto type = rankedType(x);
  if (!type)
    return false;
  std::vector<int64_t> perm = permutation(op);
  if (std::is_sorted(perm.begin(), perm.end())) {
    replaceWith(op, x);
    return true;
  }
  mlir::OpBuilder b(op);
  mlir::Operation *before = x.getDefiningOp();
  if (isOp(before, "transpose")) {
    std::vector<int64_t> inner = permutation(before);
    TransposeAttrs attrs;
    for (int64_t axis : perm)
      attrs.perm.push_back(inner[axis]);
    replaceWith(op,
                nn::buildValue(b, fuseLocations(before, op), "transpose", {before->getOperand(0)}, std::move(attrs)));
    return true;
  }
  // Moving axes of extent 1 moves no element.
  std::vector<int64_t> moved;
  for (int64_t axis : perm)
    if (type.getDimSize(axis) != 1)
      moved.push_back(axis);
  auto result = rankedType(op->getResult(0));
  if (std::is_sorted(moved.begin(), moved.end()) && elementsTellExtents(result)) {
    replaceWith(op, reshapeTo(b, op->getLoc(), x, result));
    return true;
  }
  return false;
}

/// The shape of a transpose is computed from its operand, so that the transpose may become dead.
bool simplifyShape(mlir::Operation *op) {
  mlir::Operation *before = op->getOperand(0).getDefiningOp();
  auto attrs = nn::attrsAs<ShapeAttrs>(op);
  if (!isOp(before, "transpose") || attrs.start < 0 || attrs.end != attrs.start + 1)
    return false;
  std::vector<int64_t> perm = permutation(before);
  if (attrs.end > static_cast<int64_t>(perm.size()))
    return false;
  attrs.start = perm[static_cast<size_t>(attrs.start)];
  attrs.end = attrs.start + 1;
  mlir::OpBuilder b(op);
  replaceWith(op, nn::buildValue(b, op->getLoc(), "shape", {before->getOperand(0)}, std::move(attrs)));
  return true;
}

int64_t axisOf(int64_t axis, mlir::Value value) { return axis < 0 ? axis + rankedType(value).getRank() : axis; }

bool simplifyConcat(mlir::Operation *op) {
  if (op->getNumOperands() == 1) {
    replaceWith(op, op->getOperand(0));
    return true;
  }
  auto attrs = nn::attrsAs<ConcatAttrs>(op);
  int64_t axis = axisOf(attrs.axis, op->getResult(0));
  // All pieces of one split, in order: the operand of the split.
  mlir::Operation *split = op->getOperand(0).getDefiningOp();
  if (isOp(split, "split") && split->getNumResults() == op->getNumOperands() &&
      llvm::equal(split->getResults(), op->getOperands()) &&
      axisOf(nn::attrsAs<SplitAttrs>(split).axis, split->getOperand(0)) == axis) {
    replaceWith(op, split->getOperand(0));
    return true;
  }
  // A concat used only here.
  llvm::SmallVector<mlir::Value> operands;
  bool nested = false;
  for (mlir::Value operand : op->getOperands()) {
    mlir::Operation *inner = operand.getDefiningOp();
    if (isOp(inner, "concat") && operand.hasOneUse() && axisOf(nn::attrsAs<ConcatAttrs>(inner).axis, operand) == axis) {
      operands.append(inner->operand_begin(), inner->operand_end());
      nested = true;
    } else {
      operands.push_back(operand);
    }
  }
  if (!nested || operands.size() > widestMovement) // wide ones would only be cut up again, and chains copied each time
    return false;
  mlir::OpBuilder b(op);
  replaceWith(op, nn::build(b, op->getLoc(), "concat", operands, attrs)->getResult(0));
  return true;
}

/// The constant indices of a gather along one axis, none negative; nothing if an index is out of range.
std::optional<std::vector<int64_t>> gatherIndices(mlir::Operation *gather) {
  auto indices = isOp(gather, "gather") ? constantOf(gather->getOperand(1)) : std::nullopt;
  auto type = gather ? rankedType(gather->getOperand(0)) : mlir::RankedTensorType();
  if (!indices || indices->rank() != 1 || !type)
    return std::nullopt;
  int64_t extent = type.getDimSize(axisOf(nn::attrsAs<GatherAttrs>(gather).axis, gather->getOperand(0)));
  std::vector<int64_t> values;
  for (int64_t i = 0; i < indices->elements(); ++i) {
    int64_t index = indices->asInteger(i);
    if (mlir::ShapedType::isDynamic(extent) || index < -extent || index >= extent)
      return std::nullopt;
    values.push_back(index < 0 ? index + extent : index);
  }
  return values;
}

mlir::Value gatherOf(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x, const std::vector<int64_t> &indices,
                     int64_t axis, const std::string &name) {
  GatherAttrs attrs;
  attrs.axis = axis;
  mlir::Value constant =
      makeConstant(b, loc, Tensor::of<int64_t>({static_cast<int64_t>(indices.size())}, indices), name);
  return nn::buildValue(b, loc, "gather", {x, constant}, std::move(attrs));
}

bool simplifySplit(mlir::Operation *op) {
  mlir::Value x = op->getOperand(0);
  if (op->getNumResults() == 1) {
    replaceWith(op, x);
    return true;
  }
  auto attrs = nn::attrsAs<SplitAttrs>(op);
  mlir::Operation *before = x.getDefiningOp();
  int64_t axis = axisOf(attrs.axis, x);
  // A split of a concatenation into its own parts.
  if (isOp(before, "concat") && before->getNumOperands() == op->getNumResults() &&
      axisOf(nn::attrsAs<ConcatAttrs>(before).axis, x) == axis &&
      llvm::equal(before->getOperandTypes(), op->getResultTypes())) {
    op->replaceAllUsesWith(before->getOperands());
    op->erase();
    return true;
  }
  // Pieces of a gather become gathers, so that the whole is not computed first.
  auto indices = gatherIndices(before);
  if (indices && x.hasOneUse() && attrs.sizes.size() == op->getNumResults() &&
      axisOf(nn::attrsAs<GatherAttrs>(before).axis, before->getOperand(0)) == axis) {
    mlir::OpBuilder b(op);
    int64_t begin = 0;
    for (auto [piece, size] : llvm::zip(op->getResults(), attrs.sizes)) {
      std::vector<int64_t> part(indices->begin() + begin, indices->begin() + begin + size);
      begin += size;
      if (!piece.use_empty())
        piece.replaceAllUsesWith(gatherOf(b, fuseLocations(before, op), before->getOperand(0), part, axis,
                                          constantName(before, ".indices")));
    }
    op->erase();
    return true;
  }
  return false;
}

/// Rewrites a gather of one constant index as a slice, and drops the axis if the index is a scalar.
bool gatherOfOne(mlir::Operation *op) {
  auto indices = constantOf(op->getOperand(1));
  mlir::Value x = op->getOperand(0);
  auto type = rankedType(x), result = rankedType(op->getResult(0));
  if (!indices || indices->elements() != 1 || indices->rank() > 1 || !type || type.getRank() < 2 ||
      !elementsTellExtents(result))
    return false;
  int64_t axis = axisOf(nn::attrsAs<GatherAttrs>(op).axis, x), extent = type.getDimSize(axis),
          index = indices->asInteger(0);
  if (mlir::ShapedType::isDynamic(extent) || index < -extent || index >= extent)
    return false; // an error the reference reports
  index += index < 0 ? extent : 0;
  SliceAttrs attrs;
  attrs.axes = {axis};
  attrs.starts = {index};
  attrs.ends = {index + 1};
  attrs.steps = {1};
  mlir::OpBuilder b(op);
  mlir::Value one = nn::buildValue(b, op->getLoc(), "slice", {x, {}, {}, {}, {}}, std::move(attrs));
  replaceWith(op, indices->rank() == 0 ? reshapeTo(b, op->getLoc(), one, result) : one);
  return true;
}

bool simplifyGather(mlir::Operation *op) {
  if (gatherOfOne(op))
    return true;
  auto indices = gatherIndices(op);
  if (!indices || indices->empty())
    return false;
  mlir::Value x = op->getOperand(0);
  int64_t axis = axisOf(nn::attrsAs<GatherAttrs>(op).axis, x);
  int64_t extent = rankedType(x).getDimSize(axis);
  // In order and complete.
  bool consecutive = true;
  for (size_t i = 1; i < indices->size(); ++i)
    consecutive &= (*indices)[i] == (*indices)[i - 1] + 1;
  if (consecutive && static_cast<int64_t>(indices->size()) == extent && x.getType() == op->getResult(0).getType()) {
    replaceWith(op, x);
    return true;
  }
  // A gather of a gather.
  auto inner = gatherIndices(x.getDefiningOp());
  if (inner && axisOf(nn::attrsAs<GatherAttrs>(x.getDefiningOp()).axis, x.getDefiningOp()->getOperand(0)) == axis) {
    std::vector<int64_t> both;
    for (int64_t index : *indices)
      both.push_back((*inner)[index]);
    mlir::OpBuilder b(op);
    replaceWith(op, gatherOf(b, fuseLocations(x.getDefiningOp(), op), x.getDefiningOp()->getOperand(0), both, axis,
                             constantName(op, ".indices")));
    return true;
  }
  return false;
}

/// Where a slice begins and how it steps on each axis, all forwards and known; nothing otherwise.
std::optional<std::vector<std::pair<int64_t, int64_t>>> slicedFrom(mlir::Operation *op) {
  auto type = isOp(op, "slice") && op->getNumOperands() == 1 ? rankedType(op->getOperand(0)) : mlir::RankedTensorType();
  if (!type)
    return std::nullopt;
  auto attrs = nn::attrsAs<SliceAttrs>(op);
  std::vector<std::pair<int64_t, int64_t>> result(static_cast<size_t>(type.getRank()), {0, 1});
  for (size_t i = 0; i < attrs.starts.size(); ++i) {
    int64_t axis = attrs.axes.empty() ? static_cast<int64_t>(i) : axisOf(attrs.axes[i], op->getOperand(0)),
            extent = type.getDimSize(axis);
    int64_t start = attrs.starts[i], step = attrs.steps.empty() ? 1 : attrs.steps[i];
    if (mlir::ShapedType::isDynamic(extent) || step < 1)
      return std::nullopt;
    result[static_cast<size_t>(axis)] = {std::clamp<int64_t>(start < 0 ? start + extent : start, 0, extent), step};
  }
  return result;
}

/// Makes a slice of a slice read the operand of the first slice.
bool sliceOfSlice(mlir::Operation *op) {
  auto outer = slicedFrom(op), inner = slicedFrom(op->getOperand(0).getDefiningOp());
  auto result = rankedType(op->getResult(0));
  if (!outer || !inner || !result)
    return false;
  SliceAttrs attrs;
  for (size_t axis = 0; axis < outer->size(); ++axis) {
    auto [start, step] = (*outer)[axis];
    auto [start0, step0] = (*inner)[axis];
    int64_t count = result.getDimSize(static_cast<unsigned>(axis));
    if (start == 0 && step == 1 && start0 == 0 && step0 == 1 &&
        count == rankedType(op->getOperand(0).getDefiningOp()->getOperand(0)).getDimSize(static_cast<unsigned>(axis)))
      continue;
    if (mlir::ShapedType::isDynamic(count))
      return false;
    attrs.axes.push_back(static_cast<int64_t>(axis));
    attrs.starts.push_back(start0 + start * step0);
    attrs.steps.push_back(step * step0);
    attrs.ends.push_back(count ? attrs.starts.back() + (count - 1) * attrs.steps.back() + 1 : attrs.starts.back());
  }
  mlir::Operation *before = op->getOperand(0).getDefiningOp();
  mlir::OpBuilder b(op);
  replaceWith(op, nn::buildValue(b, fuseLocations(before, op), "slice", {before->getOperand(0), {}, {}, {}, {}},
                                 std::move(attrs)));
  return true;
}

/// Rewrites a scatter whose positions are equal within every slice as a scatter of slices. PyTorch writes rows so.
bool scatterSlices(mlir::Operation *op) {
  auto attrs = nn::attrsAs<ScatterElementsAttrs>(op);
  mlir::Operation *expand = op->getOperand(1).getDefiningOp();
  auto x = rankedType(op->getOperand(0)), all = rankedType(op->getOperand(1));
  if (!isOp(expand, "expand") || operandOf(expand, 1) || !x || !all || x.getRank() < 2)
    return false;
  auto few = rankedType(expand->getOperand(0));
  std::vector<int64_t> shape = nn::attrsAs<ExpandAttrs>(expand).shape;
  if (!few || few.getRank() != x.getRank() || shape.size() != size_t(x.getRank()) ||
      (attrs.axis != 0 && attrs.axis != -x.getRank()) || (shape[0] != 1 && shape[0] != few.getDimSize(0)))
    return false;
  for (int64_t axis = 1; axis < x.getRank(); ++axis)
    if (few.getDimSize(axis) != 1 || x.isDynamicDim(axis) || all.getDimSize(axis) != x.getDimSize(axis))
      return false;
  mlir::OpBuilder b(op);
  ReshapeAttrs column;
  column.shape = {-1, 1};
  ScatterNdAttrs slices;
  slices.reduction = attrs.reduction;
  mlir::Value positions = nn::buildValue(b, op->getLoc(), "reshape", {expand->getOperand(0), {}}, std::move(column));
  replaceWith(op, nn::buildValue(b, op->getLoc(), "scatter_nd", {op->getOperand(0), positions, op->getOperand(2)},
                                 std::move(slices)));
  return true;
}

bool allZero(const std::vector<int64_t> &values) {
  return std::all_of(values.begin(), values.end(), [](int64_t v) { return v == 0; });
}
bool allOne(const std::vector<int64_t> &values) {
  return std::all_of(values.begin(), values.end(), [](int64_t v) { return v == 1; });
}

/// True for operators whose result equals their operand, as the extents alone show.
bool doesNothing(mlir::Operation *op) {
  mlir::Value x = op->getOperand(0);
  bool same = x.getType() == op->getResult(0).getType();
  auto type = rankedType(x);
  bool fixed = type && type.hasStaticShape();
  if (isOp(op, "tile"))
    return !operandOf(op, 1) && allOne(nn::attrsAs<TileAttrs>(op).repeats);
  if (isOp(op, "expand"))
    return same && (fixed || (!operandOf(op, 1) && allOne(nn::attrsAs<ExpandAttrs>(op).shape)));
  if (isOp(op, "pad"))
    return !operandOf(op, 1) && allZero(nn::attrsAs<PadAttrs>(op).pads);
  if (isOp(op, "slice")) {
    if (!same || !fixed)
      return false;
    auto steps = nn::attrsAs<SliceAttrs>(op).steps; // as many elements as before, forwards: all of them
    for (size_t i = 1; i < 5; ++i)
      if (operandOf(op, i))
        return false;
    return allOne(steps);
  }
  if (isOp(op, "resize")) {
    auto attrs = nn::attrsAs<ResizeAttrs>(op);
    bool unscaled = std::all_of(attrs.scales.begin(), attrs.scales.end(), [](double s) { return s == 1; });
    return same && fixed && unscaled && !operandOf(op, 2) && !operandOf(op, 3) &&
           attrs.coordinate_mode != "tf_crop_and_resize" && attrs.coordinate_mode != "tf_half_pixel_for_nn";
  }
  if (isOp(op, "space_to_depth") || isOp(op, "depth_to_space"))
    return same && fixed;
  return false;
}

} // namespace

bool simplifyMovement(mlir::Operation *op) {
  if (isOp(op, "reshape"))
    return simplifyReshape(op);
  if (isOp(op, "transpose"))
    return simplifyTranspose(op);
  if (isOp(op, "shape"))
    return simplifyShape(op);
  if (isOp(op, "concat"))
    return simplifyConcat(op);
  if (isOp(op, "split"))
    return simplifySplit(op);
  if (isOp(op, "gather"))
    return simplifyGather(op);
  if (isOp(op, "slice") && sliceOfSlice(op))
    return true;
  if (isOp(op, "scatter_elements") && scatterSlices(op))
    return true;
  if (op->getNumOperands() && op->getNumResults() == 1 && doesNothing(op)) {
    replaceWith(op, op->getOperand(0));
    return true;
  }
  return false;
}

} // namespace lathe
