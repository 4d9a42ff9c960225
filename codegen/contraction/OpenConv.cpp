#include "codegen/contraction/OpenConv.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace lathe {

mlir::Value quotient(KernelBuilder &k, mlir::Value x, mlir::Value y) {
  return k.b.createOrFold<mlir::arith::DivUIOp>(k.loc, x, y);
}

mlir::Value remainder(KernelBuilder &k, mlir::Value x, mlir::Value y) {
  return k.b.createOrFold<mlir::arith::RemUIOp>(k.loc, x, y);
}

mlir::Value quotientUp(KernelBuilder &k, mlir::Value x, int64_t y) { return k.div(k.add(x, y - 1), y); }

void forBestWidth(KernelBuilder &k, llvm::ArrayRef<TileWidth> widths, const std::function<void(int64_t)> &body) {
  mlir::Value least = widths.front().time;
  for (const TileWidth &width : widths.drop_front())
    least = k.min(least, width.time);
  std::function<void(size_t)> branch = [&](size_t number) {
    if (number + 1 == widths.size())
      return body(widths[number].positions);
    k.ifThen(
        k.less(widths[number].time, k.add(least, 1)), [&] { body(widths[number].positions); },
        [&] { branch(number + 1); });
  };
  branch(0);
}

std::pair<mlir::Value, mlir::Value> pieceOf(KernelBuilder &k, mlir::Value extent, mlir::Value piece,
                                            mlir::Value pieces) {
  auto bound = [&](mlir::Value number) { return quotient(k, k.mul(number, extent), pieces); };
  return {bound(piece), bound(k.add(piece, 1))};
}

std::pair<mlir::Value, mlir::Value> openTapRange(KernelBuilder &k, const ConvGeometry &conv, int axis,
                                                 mlir::Value position, mlir::Value inExtent) {
  int64_t kernel = conv.kernel[axis], dilation = conv.dilation[axis], pad = conv.padBegin[axis];
  mlir::Value low = k.constant(0), high = k.constant(kernel), at = k.mul(position, conv.stride[axis]);
  if (pad > 0)
    low = quotientUp(k, k.max(k.sub(k.constant(pad), at), k.constant(0)), dilation);
  if (conv.open->padEnd[axis] > 0) {
    mlir::Value room = k.max(k.sub(k.add(inExtent, pad), at), k.constant(0));
    high = k.min(quotientUp(k, room, dilation), high);
  }
  return {low, high};
}

} // namespace lathe
