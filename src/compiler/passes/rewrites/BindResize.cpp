// Resize to sizes or by scales that are computed: extents become symbols, and the kernel reads the scales.
#include "passes/rewrites/BindExtents.h"

namespace lathe {
namespace {

using Results = llvm::SmallVector<mlir::Value>;

bool isComputed(mlir::Value value, const ExtentBuilder &b) {
  if (!value || constantOf(value))
    return false;
  std::optional<std::vector<Dim>> contents = b.info(value).contents;
  return !contents || llvm::any_of(*contents, isUnknown);
}

/// The scales that are numbers; 0: computed.
std::vector<double> knownScales(mlir::Operation *op, const ResizeAttrs &attrs, size_t rank) {
  mlir::Value operand = operandOf(op, 2);
  if (!operand)
    return attrs.scales;
  std::vector<double> scales(rank, 0);
  if (auto origins = movedElements(operand))
    for (size_t i = 0; i < std::min(rank, origins->size()); ++i)
      scales[i] = constantOf((*origins)[i]).value_or(0);
  return scales;
}

/// Extents floor(x * scale), in float64 as the shape function computes them. A scale of 1 keeps the extent of x.
mlir::Value scaledExtents(ExtentBuilder &b, mlir::Value x, mlir::Value scales, const std::vector<double> &known) {
  std::vector<int64_t> same, other;
  for (size_t i = 0; i < known.size(); ++i)
    (known[i] == 1 ? same : other).push_back(static_cast<int64_t>(i));
  mlir::Value extents = b.extentsOf(x);
  if (other.empty())
    return extents;
  mlir::Value lengths = b.emit<MulAttrs>("mul", {b.cast(extents, ElementType::f64), b.cast(scales, ElementType::f64)});
  lengths = b.cast(b.emit("floor", {lengths}, FloorAttrs()), ElementType::i64);
  if (same.empty())
    return b.bind(lengths, "extent");
  return b.joined({b.elements(extents, same), b.bind(b.elements(lengths, other), "extent")}, {same, other});
}

} // namespace

std::optional<llvm::SmallVector<mlir::Value>> bindResize(mlir::Operation *op, ExtentBuilder &b) {
  if (!isOp(op, "resize") || operandOf(op, 1))
    return std::nullopt;
  auto attrs = nn::attrsAs<ResizeAttrs>(op);
  if (attrs.coordinate_mode == "tf_crop_and_resize") // it runs on its reference, which gives the extents, too
    return std::nullopt;
  size_t rank = b.info(op->getOperand(0)).rank();
  auto operands = nn::operandsByRecord(op);
  mlir::Value sizes = operands[3];
  if (isComputed(sizes, b)) {
    if (b.info(sizes).dims != Dims{static_cast<int64_t>(rank)})
      return std::nullopt;
    operands[3] = b.bindUnknown(sizes, "extent");
    return b.emitAll("resize", operands, attrs);
  }
  if (sizes || !attrs.sizes.empty())
    return std::nullopt;
  if (operands[2] && b.info(operands[2]).dims != Dims{static_cast<int64_t>(rank)})
    return std::nullopt;
  attrs.scales = knownScales(op, attrs, rank);
  if (attrs.scales.size() != rank)
    return std::nullopt;
  mlir::Value scales = operands[2] ? operands[2] : b.reals(attrs.scales);
  operands[3] = scaledExtents(b, op->getOperand(0), scales, attrs.scales);
  return b.emitAll("resize", operands, attrs);
}

} // namespace lathe
