#include "stage/diff/PlainForm.h"

#include "ir/Bridge.h"

#include <cstring>

namespace lathe {
namespace {

void replace(mlir::Operation *op, mlir::Value value) {
  op->getResult(0).replaceAllUsesWith(value);
  op->erase();
}

void hoistTranspose(nn::TransposeOp transpose) {
  auto pad = transpose.getX().getDefiningOp<nn::PadOp>();
  if (!pad || !pad->hasOneUse() || pad->getNumOperands() != 1) // the padding is an operand
    return;
  auto order = nn::attrsAs<TransposeAttrs>(transpose);
  auto pads = nn::attrsAs<PadAttrs>(pad);
  size_t rank = pads.pads.size() / 2;
  if (order.perm.size() != rank)
    return;
  PadAttrs moved = pads;
  for (size_t axis = 0; axis < rank; ++axis)
    for (size_t end : {size_t(0), rank})
      moved.pads[end + axis] = pads.pads[end + static_cast<size_t>(order.perm[axis])];
  mlir::OpBuilder builder(transpose);
  mlir::Value x = nn::buildValue(builder, transpose.getLoc(), "transpose", {pad->getOperand(0)}, std::move(order));
  mlir::Value y = nn::buildValue(builder, pad.getLoc(), "pad", {x}, std::move(moved));
  replace(transpose, y);
  pad->erase();
}

bool isMatrix(mlir::Value value) {
  auto type = llvm::dyn_cast<mlir::RankedTensorType>(value.getType());
  return type && type.getRank() == 2;
}

/// The constant with its two axes exchanged.
mlir::Value transposed(mlir::OpBuilder &builder, nn::ConstantOp constant) {
  nn::ConstantData data = nn::constantData(constant.getValue());
  size_t rows = static_cast<size_t>(data.dims[0]), columns = static_cast<size_t>(data.dims[1]);
  size_t width = bitWidth(data.type) / 8;
  std::vector<char> bytes(rows * columns * width);
  for (size_t row = 0; row < rows; ++row)
    for (size_t column = 0; column < columns; ++column)
      std::memcpy(&bytes[(column * rows + row) * width],
                  data.bytes.data() + (data.splat ? 0 : (row * columns + column) * width), width);
  mlir::ElementsAttr value =
      nn::makeConstant(builder.getContext(), data.type, {data.dims[1], data.dims[0]}, bytes, "transposed");
  return builder.create<nn::ConstantOp>(constant.getLoc(), value.getShapedType(), value);
}

void straightenProduct(mlir::Operation *op) {
  auto constant = op->getOperand(1).getDefiningOp<nn::ConstantOp>();
  if (!constant || !isMatrix(op->getOperand(0)) || !isMatrix(constant) ||
      bitWidth(nn::infoOf(constant.getOutput()).type) < 8)
    return;
  mlir::OpBuilder builder(op);
  GemmAttrs attrs = llvm::isa<nn::GemmOp>(op) ? nn::attrsAs<GemmAttrs>(op) : GemmAttrs();
  llvm::SmallVector<mlir::Value> operands(op->getOperands());
  if (llvm::isa<nn::GemmOp>(op) && !attrs.trans_b)
    return;
  if (attrs.trans_b)
    operands[1] = transposed(builder, constant);
  attrs.trans_b = false;
  replace(op, nn::buildValue(builder, op->getLoc(), "gemm", operands, std::move(attrs)));
}

} // namespace

void plainForm(mlir::func::FuncOp main) {
  for (mlir::Operation &op : llvm::make_early_inc_range(main.getBody().front())) {
    if (auto transpose = llvm::dyn_cast<nn::TransposeOp>(op))
      hoistTranspose(transpose);
    else if (llvm::isa<nn::GemmOp, nn::MatMulOp>(op))
      straightenProduct(&op);
  }
}

} // namespace lathe
