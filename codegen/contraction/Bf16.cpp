#include "codegen/contraction/Bf16.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace lathe::bf16 {
namespace {

mlir::Value intrinsic(KernelBuilder &k, mlir::Type result, const char *name, mlir::ValueRange operands) {
  return k.b
      .create<mlir::LLVM::CallIntrinsicOp>(k.loc, result, k.b.getStringAttr(name), operands,
                                           mlir::LLVM::FastmathFlagsAttr{})
      .getResult(0);
}

} // namespace

mlir::Value rounded(KernelBuilder &k, mlir::Value vector) {
  return intrinsic(k, KernelBuilder::vectorOf(k.b.getBF16Type(), 16), "llvm.x86.avx512bf16.cvtneps2bf16.512", vector);
}

mlir::Value units(KernelBuilder &k, mlir::Value low, mlir::Value high) {
  if (!high)
    high = k.zero(low.getType());
  mlir::Value all = intrinsic(k, KernelBuilder::vectorOf(k.b.getBF16Type(), 32),
                              "llvm.x86.avx512bf16.cvtne2ps2bf16.512", {high, low});
  return k.b.create<mlir::vector::BitCastOp>(k.loc, low.getType(), all);
}

void storeNeighbours(KernelBuilder &k, mlir::Value vector, mlir::Value base, mlir::Value offset) {
  k.b.create<mlir::LLVM::StoreOp>(k.loc, rounded(k, vector), k.gep(base, offset, k.b.getF32Type()), unitBytes);
}

void storeInterleaved(KernelBuilder &k, mlir::Value low, mlir::Value high, mlir::Value base, mlir::Value offset) {
  mlir::VectorType units = KernelBuilder::vectorOf(k.b.getI32Type(), 16);
  auto widened = [&](mlir::Value vector) -> mlir::Value {
    mlir::Value bits = k.b.create<mlir::arith::BitcastOp>(k.loc, KernelBuilder::vectorOf(k.b.getIntegerType(16), 16),
                                                          rounded(k, vector));
    return k.b.create<mlir::arith::ExtUIOp>(k.loc, units, bits);
  };
  mlir::Value both = widened(low);
  if (high) {
    mlir::Value sixteen =
        k.b.create<mlir::arith::ConstantOp>(k.loc, mlir::DenseElementsAttr::get(units, llvm::APInt(32, 16)));
    both = k.b.create<mlir::arith::OrIOp>(k.loc, both, k.b.create<mlir::arith::ShLIOp>(k.loc, widened(high), sixteen));
  }
  k.b.create<mlir::LLVM::StoreOp>(k.loc, both, k.gep(base, offset, k.b.getF32Type()), unitBytes);
}

mlir::Value multiplyAdd(KernelBuilder &k, mlir::Value a, mlir::Value b, mlir::Value sum) {
  mlir::VectorType elements = KernelBuilder::vectorOf(k.b.getBF16Type(), 32);
  auto pairs = [&](mlir::Value units) -> mlir::Value {
    return k.b.create<mlir::vector::BitCastOp>(k.loc, elements, units);
  };
  return intrinsic(k, sum.getType(), "llvm.x86.avx512bf16.dpbf16ps.512", {sum, pairs(a), pairs(b)});
}

} // namespace lathe::bf16
