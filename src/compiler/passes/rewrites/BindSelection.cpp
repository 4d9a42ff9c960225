// Operators whose data decides the size of the result: one kernel counts, later kernels write the elements.
#include "passes/rewrites/BindExtents.h"

#include <limits>

namespace lathe {
namespace {

using Results = llvm::SmallVector<mlir::Value>;

bool hasElements(ElementType type) { return isFloat(type) || isInteger(type) || type == ElementType::boolean; }

mlir::Value nonZero(mlir::Value x, ExtentBuilder &b) {
  mlir::Value counts = b.emit("count_non_zero", {x}, CountNonZeroAttrs());
  mlir::Value count = b.bindSum(counts, product(b.info(x).dims));
  return b.emit("non_zero_positions", {x, counts, count}, NonZeroPositionsAttrs());
}

/// The slices at the positions where the condition is true.
Results compress(mlir::Operation *op, ExtentBuilder &b) {
  mlir::Value x = op->getOperand(0);
  GatherAttrs attrs;
  attrs.axis = nn::attrsAs<CompressAttrs>(op).axis;
  if (attrs.axis == std::numeric_limits<int64_t>::max()) {
    attrs.axis = 0;
    x = b.reshaped(x, {-1});
  }
  return {b.emit("gather", {x, b.reshaped(nonZero(op->getOperand(1), b), {-1})}, std::move(attrs))};
}

Results selectBoxes(mlir::Operation *op, ExtentBuilder &b) {
  SelectBoxesAttrs attrs;
  attrs.center_point_box = nn::attrsAs<NonMaxSuppressionAttrs>(op).center_point_box;
  Results found = b.emitAll("select_boxes", nn::operandsByRecord(op), attrs);
  mlir::Value count = b.bindSum(found[1], product(b.info(found[0]).dims));
  return {b.emit("selected_boxes", {found[0], found[1], count}, SelectedBoxesAttrs())};
}

/// The results are the first elements of the full-size vectors.
std::optional<Results> unique(mlir::Operation *op, ExtentBuilder &b) {
  mlir::Value x = op->getOperand(0);
  auto attrs = nn::attrsAs<UniqueAttrs>(op);
  if (attrs.axis != std::numeric_limits<int64_t>::max() || !hasElements(b.info(x).type))
    return std::nullopt; // slices along an axis have no order like single numbers
  DistinctAttrs distinct;
  distinct.sorted = attrs.sorted;
  Results found = b.emitAll("distinct", {b.info(x).rank() == 1 ? x : b.reshaped(x, {-1})}, distinct);
  mlir::Value count = b.bind(found[4], "count", {product(b.info(x).dims)});
  auto first = [&](mlir::Value values) {
    SliceAttrs slice;
    slice.starts = {0};
    slice.axes = {0};
    return b.emit("slice", {values, {}, count, {}, {}}, std::move(slice));
  };
  return Results{first(found[0]), first(found[1]), found[2], first(found[3])};
}

} // namespace

std::optional<llvm::SmallVector<mlir::Value>> bindSelection(mlir::Operation *op, ExtentBuilder &b) {
  if (isOp(op, "non_zero") && hasElements(b.info(op->getOperand(0)).type))
    return Results{nonZero(op->getOperand(0), b)};
  if (isOp(op, "compress"))
    return compress(op, b);
  if (isOp(op, "non_max_suppression"))
    return selectBoxes(op, b);
  if (isOp(op, "unique"))
    return unique(op, b);
  return std::nullopt;
}

} // namespace lathe
