#include "codegen/contraction/FormatCode.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace lathe::units {
namespace {

using mlir::Value;

Value intrinsic(KernelBuilder &k, mlir::Type result, const char *name, mlir::ValueRange operands) {
  return k.b
      .create<mlir::LLVM::CallIntrinsicOp>(k.loc, result, k.b.getStringAttr(name), operands,
                                           mlir::LLVM::FastmathFlagsAttr{})
      .getResult(0);
}

int64_t lanesOf(Value vector) { return llvm::cast<mlir::VectorType>(vector.getType()).getNumElements(); }

void storeUnits(KernelBuilder &k, const ContractionFormat &format, Value vector, Value base, Value offset) {
  k.b.create<mlir::LLVM::StoreOp>(k.loc, vector, k.gep(base, offset, k.computeType(format.unit)), format.unitBytes());
}

} // namespace

Value elements(KernelBuilder &k, const ContractionFormat &format, Value vector) {
  if (format.element == ElementType::bf16 && format.converts)
    return intrinsic(k, KernelBuilder::vectorOf(k.b.getBF16Type(), lanesOf(vector)),
                     "llvm.x86.avx512bf16.cvtneps2bf16.512", vector);
  return vector;
}

Value joined(KernelBuilder &k, const ContractionFormat &format, llvm::ArrayRef<Value> vectors) {
  Value low = vectors[0], high = vectors.size() > 1 ? vectors[1] : k.zero(low.getType());
  Value all = intrinsic(k, KernelBuilder::vectorOf(k.b.getBF16Type(), lanesOf(low) * format.group),
                        "llvm.x86.avx512bf16.cvtne2ps2bf16.512", {high, low});
  return k.b.create<mlir::vector::BitCastOp>(k.loc, low.getType(), all);
}

void storeNeighbours(KernelBuilder &k, const ContractionFormat &format, Value vector, Value base, Value offset) {
  if (!format.converts)
    return k.store(vector, base, offset, format.unit);
  storeUnits(k, format, elements(k, format, vector), base, offset);
}

void storeInterleaved(KernelBuilder &k, const ContractionFormat &format, llvm::ArrayRef<Value> steps, Value base,
                      Value offset) {
  auto bits = unsigned(bitWidth(format.element));
  int64_t lanes = lanesOf(steps[0]);
  mlir::VectorType units = KernelBuilder::vectorOf(k.b.getIntegerType(bits * unsigned(format.group)), lanes);
  auto widened = [&](Value vector) -> Value {
    Value narrow = k.b.create<mlir::arith::BitcastOp>(k.loc, KernelBuilder::vectorOf(k.b.getIntegerType(bits), lanes),
                                                      elements(k, format, vector));
    return k.b.create<mlir::arith::ExtUIOp>(k.loc, units, narrow);
  };
  Value all = widened(steps[0]);
  for (size_t step = 1; step < steps.size(); ++step) {
    llvm::APInt places(units.getElementTypeBitWidth(), bits * step);
    Value shift = k.b.create<mlir::arith::ConstantOp>(k.loc, mlir::DenseElementsAttr::get(units, places));
    all =
        k.b.create<mlir::arith::OrIOp>(k.loc, all, k.b.create<mlir::arith::ShLIOp>(k.loc, widened(steps[step]), shift));
  }
  storeUnits(k, format, all, base, offset);
}

Value multiplyAdd(KernelBuilder &k, const ContractionFormat &format, Value a, Value b, Value sum) {
  if (format.group == 1 && isFloat(format.unit))
    return k.fma(a, b, sum);
  if (format.group == 1)
    return k.b.create<mlir::arith::AddIOp>(k.loc, sum, k.b.create<mlir::arith::MulIOp>(k.loc, a, b));
  mlir::VectorType elements = KernelBuilder::vectorOf(k.b.getBF16Type(), lanesOf(a) * format.group);
  auto steps = [&](Value units) -> Value { return k.b.create<mlir::vector::BitCastOp>(k.loc, elements, units); };
  return intrinsic(k, sum.getType(), "llvm.x86.avx512bf16.dpbf16ps.512", {sum, steps(a), steps(b)});
}

} // namespace lathe::units
