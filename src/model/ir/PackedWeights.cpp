#include "ir/PackedWeights.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace lathe::nn {
namespace {

/// The producer of `value` if it is a `mnemonic` and has no other user.
mlir::Operation *makerOf(mlir::Value value, std::string_view mnemonic) {
  mlir::Operation *op = value.getDefiningOp();
  return isOp(op, mnemonic) && value.hasOneUse() ? op : nullptr;
}

bool isConstant(mlir::Value value) {
  if (value.getDefiningOp<ConstantOp>())
    return true;
  auto argument = llvm::dyn_cast<mlir::BlockArgument>(value);
  auto function = argument ? llvm::dyn_cast<mlir::func::FuncOp>(argument.getOwner()->getParentOp()) : nullptr;
  return function && function.getArgAttr(argument.getArgNumber(), "nn.constant");
}

std::optional<std::vector<int64_t>> staticDims(mlir::Value value) {
  auto type = llvm::dyn_cast<mlir::RankedTensorType>(value.getType());
  if (!type || !type.hasStaticShape())
    return std::nullopt;
  return std::vector<int64_t>(type.getShape().begin(), type.getShape().end());
}

/// True for a constant with at most one value for each block and column.
bool isParameter(mlir::Value value, const PackedWeights &weights) {
  auto dims = staticDims(value);
  if (!dims || !isConstant(value) || infoOf(value).type != ElementType::f32 || dims->size() > 3)
    return false;
  // One block of K x N codes has no axis of blocks.
  const std::vector<int64_t> whole = {weights.blocks, 1, weights.columns};
  for (size_t i = 0; i < dims->size(); ++i)
    if (int64_t extent = (*dims)[i]; extent != 1 && extent != whole[i + 3 - dims->size()])
      return false;
  return true;
}

/// True for a float32 matmul, or a float32 gemm of rows by K x N.
bool isProduct(mlir::Operation *op) {
  if (!isOp(op, "matmul") && !isOp(op, "gemm"))
    return false;
  if (isOp(op, "gemm"))
    if (auto attrs = attrsAs<GemmAttrs>(op); attrs.trans_a || attrs.trans_b)
      return false;
  auto left = llvm::dyn_cast<mlir::RankedTensorType>(op->getOperand(0).getType());
  return left && left.getRank() >= 2 && infoOf(op->getOperand(0)).type == ElementType::f32 &&
         infoOf(op->getResult(0)).type == ElementType::f32;
}

bool isCode(ElementType type) { return isInteger(type) && bitWidth(type) <= 8; }

} // namespace

std::optional<PackedWeights> packedWeightsOf(mlir::Operation *product) {
  if (!isProduct(product))
    return std::nullopt;
  PackedWeights weights;
  mlir::Value value = product->getOperand(1);
  auto matrix = staticDims(value);
  if (!matrix || matrix->size() != 2)
    return std::nullopt;
  mlir::Operation *reshape = makerOf(value, "reshape");
  if (reshape)
    value = reshape->getOperand(0);
  mlir::Operation *scaled = makerOf(value, "mul");
  if (!scaled)
    return std::nullopt;
  weights.scale = scaled->getOperand(1);
  value = scaled->getOperand(0);
  mlir::Operation *difference = makerOf(value, "sub");
  if (difference) {
    weights.zero = difference->getOperand(1);
    value = difference->getOperand(0);
  }
  mlir::Operation *cast = makerOf(value, "cast");
  if (!cast || infoOf(cast->getResult(0)).type != ElementType::f32)
    return std::nullopt;
  weights.codes = cast->getOperand(0);
  auto dims = staticDims(weights.codes);
  if (!dims || !isConstant(weights.codes) || !isCode(infoOf(weights.codes).type) || dims->size() != (reshape ? 3 : 2))
    return std::nullopt;
  weights.blocks = reshape ? (*dims)[0] : 1;
  weights.steps = (*dims)[dims->size() - 2];
  weights.columns = dims->back();
  if (weights.blocks * weights.steps != (*matrix)[0] || weights.columns != (*matrix)[1] ||
      staticDims(scaled->getResult(0)) != dims)
    return std::nullopt;
  if (!isParameter(weights.scale, weights) || (weights.zero && !isParameter(weights.zero, weights)))
    return std::nullopt;
  for (mlir::Operation *op : {cast, difference, scaled, reshape})
    if (op)
      weights.ops.push_back(op);
  return weights;
}

mlir::Value buildPackedWeights(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value codes, mlir::Value scale,
                               mlir::Value zero) {
  CastAttrs cast;
  cast.to = ElementType::f32;
  mlir::Value y = buildValue(builder, loc, "cast", {codes}, std::move(cast));
  if (zero)
    y = buildValue(builder, loc, "sub", {y, zero}, SubAttrs());
  y = buildValue(builder, loc, "mul", {y, scale}, MulAttrs());
  auto dims = staticDims(codes);
  if (!dims || dims->size() == 2)
    return y;
  ReshapeAttrs attrs;
  attrs.shape = {(*dims)[0] * (*dims)[1], (*dims)[2]};
  return buildValue(builder, loc, "reshape", {y, {}}, std::move(attrs));
}

} // namespace lathe::nn
