#include "codegen/contraction/common/FormatCode.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <numeric>

namespace lathe::units {
namespace {

using mlir::Value;

Value intrinsic(KernelBuilder &k, mlir::Type result, const char *name, mlir::ValueRange operands) {
  return k.b
      .create<mlir::LLVM::CallIntrinsicOp>(k.loc, result, k.b.getStringAttr(name), operands,
                                           mlir::LLVM::FastmathFlagsAttr{})
      .getResult(0);
}

mlir::VectorType vectorOf(mlir::Type element, Value like) { return KernelBuilder::vectorOf(element, lanesOf(like)); }

/// Sum + the products of pairs of i16, `a` and `b` vectors of i32 that hold the pairs.
Value multiplyAddPairs(KernelBuilder &k, Value a, Value b, Value sum) {
  int64_t lanes = lanesOf(sum);
  if (addsDotProducts(k.target))
    return intrinsic(k, sum.getType(), fmt::format("llvm.x86.avx512.vpdpwssd.{}", lanes * 32).c_str(), {sum, a, b});
  const char *name = lanes == 16  ? "llvm.x86.avx512.pmaddw.d.512"
                     : lanes == 8 ? "llvm.x86.avx2.pmadd.wd"
                                  : "llvm.x86.sse2.pmadd.wd";
  mlir::VectorType pairs = KernelBuilder::vectorOf(k.b.getIntegerType(16), 2 * lanes);
  auto elements = [&](Value units) -> Value { return k.b.create<mlir::vector::BitCastOp>(k.loc, pairs, units); };
  return k.b.create<mlir::arith::AddIOp>(k.loc, sum, intrinsic(k, sum.getType(), name, {elements(a), elements(b)}));
}

/// Sum + the products of two rows of eight u8 in `a` and two columns of eight i8 in `b`.
Value multiplyAddRows(KernelBuilder &k, Value a, Value b, Value sum) {
  mlir::VectorType all = KernelBuilder::vectorOf(k.b.getIntegerType(8), 16);
  auto bytes = [&](Value units) -> Value { return k.b.create<mlir::vector::BitCastOp>(k.loc, all, units); };
  return intrinsic(k, sum.getType(), "llvm.aarch64.neon.usmmla.v4i32.v16i8", {sum, bytes(a), bytes(b)});
}

/// Sum + the products of fours of bytes, of u8 (or i8: multipliesSignedBytes) in `a` and i8 in `b`.
Value multiplyAddBytes(KernelBuilder &k, Value a, Value b, Value sum) {
  if (!k.target.has("neon"))
    return intrinsic(k, sum.getType(), fmt::format("llvm.x86.avx512.vpdpbusd.{}", lanesOf(sum) * 32).c_str(),
                     {sum, a, b});
  mlir::VectorType fours = KernelBuilder::vectorOf(k.b.getIntegerType(8), 4 * lanesOf(sum));
  auto bytes = [&](Value units) -> Value { return k.b.create<mlir::vector::BitCastOp>(k.loc, fours, units); };
  const char *name = multipliesSignedBytes(k.target) ? "sdot" : "usdot";
  return intrinsic(k, sum.getType(), fmt::format("llvm.aarch64.neon.{}.v4i32.v16i8", name).c_str(),
                   {sum, bytes(a), bytes(b)});
}

void storeUnits(KernelBuilder &k, const ContractionFormat &format, Value vector, Value base, Value offset) {
  k.b.create<mlir::LLVM::StoreOp>(k.loc, vector, k.gep(base, offset, k.computeType(format.unit)), format.unitBytes());
}

} // namespace

Value widened(KernelBuilder &k, Value value, ElementType type) {
  mlir::Type wide = k.b.getI32Type();
  if (llvm::isa<mlir::VectorType>(value.getType()))
    wide = vectorOf(wide, value);
  return isUnsignedInteger(type) ? k.b.create<mlir::arith::ExtUIOp>(k.loc, wide, value).getResult()
                                 : k.b.create<mlir::arith::ExtSIOp>(k.loc, wide, value).getResult();
}

Value integer(KernelBuilder &k, int64_t value, int64_t lanes) {
  Value scalar = k.b.create<mlir::arith::ConstantOp>(k.loc, k.b.getI32IntegerAttr(static_cast<int32_t>(value)));
  return lanes == 1 ? scalar : k.splat(scalar, lanes);
}

Value zeroPoint(KernelBuilder &k, std::optional<unsigned> buffer, ElementType type, int64_t lanes) {
  return buffer ? k.splat(widened(k, k.load(k.buffer(*buffer), k.constant(0), type), type), lanes) : Value();
}

Value correction(KernelBuilder &k, std::optional<unsigned> buffer, ElementType type, int64_t lanes) {
  int64_t added = addedTo(k.target, type);
  if (!buffer)
    return added ? k.splat(integer(k, -added), lanes) : Value();
  Value zero = widened(k, k.load(k.buffer(*buffer), k.constant(0), type), type);
  return k.splat(k.b.create<mlir::arith::SubIOp>(k.loc, integer(k, -added), zero), lanes);
}

Value operand(KernelBuilder &k, const ContractionFormat &format, Value vector, ElementType type, Value zeroPoint) {
  if (format.sum == type || format.sum != ElementType::i32)
    return vector;
  if (format.correctsSums()) {
    if (!addedTo(k.target, type))
      return vector;
    mlir::Type byte = k.b.getIntegerType(8);
    Value high = k.b.create<mlir::arith::ConstantOp>(k.loc, k.b.getIntegerAttr(byte, -128));
    return k.b.create<mlir::arith::XOrIOp>(k.loc, vector, k.splat(high, lanesOf(vector)));
  }
  vector = widened(k, vector, type);
  return zeroPoint ? k.b.create<mlir::arith::SubIOp>(k.loc, vector, zeroPoint).getResult() : vector;
}

Value elements(KernelBuilder &k, const ContractionFormat &format, Value vector) {
  if (format.element == ElementType::i16 && format.converts)
    return k.b.create<mlir::arith::TruncIOp>(k.loc, vectorOf(k.b.getIntegerType(16), vector), vector);
  if (format.element == ElementType::bf16 && format.converts)
    return intrinsic(k, vectorOf(k.b.getBF16Type(), vector), "llvm.x86.avx512bf16.cvtneps2bf16.512", vector);
  return vector;
}

Value joined(KernelBuilder &k, const ContractionFormat &format, llvm::ArrayRef<Value> vectors) {
  if (format.group == 1)
    return elements(k, format, vectors[0]);
  assert(format.group == 2 && "fours of bytes are packed beforehand");
  Value low = vectors[0], high = vectors.size() > 1 ? vectors[1] : k.zero(low.getType());
  if (format.element != ElementType::bf16) {
    llvm::SmallVector<int64_t> order(2 * lanesOf(low));
    std::iota(order.begin(), order.end(), 0);
    Value both = k.b.create<mlir::vector::ShuffleOp>(k.loc, elements(k, format, low), elements(k, format, high), order);
    return k.b.create<mlir::vector::BitCastOp>(k.loc, low.getType(), both);
  }
  Value all = intrinsic(k, KernelBuilder::vectorOf(k.b.getBF16Type(), lanesOf(low) * format.group),
                        "llvm.x86.avx512bf16.cvtne2ps2bf16.512", {high, low});
  return k.b.create<mlir::vector::BitCastOp>(k.loc, low.getType(), all);
}

void storeNeighbours(KernelBuilder &k, const ContractionFormat &format, Value vector, Value base, Value offset) {
  if (!format.converts)
    return k.store(vector, base, offset, format.unit);
  assert(lanesOf(vector) % format.group == 0 && "a vector is whole units");
  storeUnits(k, format, elements(k, format, vector), base, offset);
}

Value interleaved(KernelBuilder &k, const ContractionFormat &format, llvm::ArrayRef<Value> steps) {
  if (format.group == 1)
    return steps[0];
  auto bits = unsigned(bitWidth(format.element));
  int64_t lanes = lanesOf(steps[0]);
  mlir::VectorType units = KernelBuilder::vectorOf(k.b.getIntegerType(bits * unsigned(format.group)), lanes);
  auto zeroExtended = [&](Value vector) -> Value {
    Value narrow =
        k.b.create<mlir::arith::BitcastOp>(k.loc, KernelBuilder::vectorOf(k.b.getIntegerType(bits), lanes), vector);
    return k.b.create<mlir::arith::ExtUIOp>(k.loc, units, narrow);
  };
  Value all = zeroExtended(steps[0]);
  for (size_t step = 1; step < steps.size(); ++step) {
    llvm::APInt places(units.getElementTypeBitWidth(), bits * step);
    Value shift = k.b.create<mlir::arith::ConstantOp>(k.loc, mlir::DenseElementsAttr::get(units, places));
    all = k.b.create<mlir::arith::OrIOp>(k.loc, all,
                                         k.b.create<mlir::arith::ShLIOp>(k.loc, zeroExtended(steps[step]), shift));
  }
  return all;
}

void storeInterleaved(KernelBuilder &k, const ContractionFormat &format, llvm::ArrayRef<Value> steps, Value base,
                      Value offset) {
  llvm::SmallVector<Value> converted;
  for (Value step : steps)
    converted.push_back(elements(k, format, step));
  storeUnits(k, format, interleaved(k, format, converted), base, offset);
}

Value multiplyAdd(KernelBuilder &k, const ContractionFormat &format, Value a, Value b, Value sum) {
  if (format.group == 1 && isFloat(format.unit))
    return k.fma(a, b, sum);
  if (format.group == 1)
    return k.b.create<mlir::arith::AddIOp>(k.loc, sum, k.b.create<mlir::arith::MulIOp>(k.loc, a, b));
  if (format.pairsRows())
    return multiplyAddRows(k, a, b, sum);
  if (format.element == ElementType::i8)
    return multiplyAddBytes(k, a, b, sum);
  if (format.element == ElementType::i16)
    return multiplyAddPairs(k, a, b, sum);
  mlir::VectorType elements = KernelBuilder::vectorOf(k.b.getBF16Type(), lanesOf(a) * format.group);
  auto steps = [&](Value units) -> Value { return k.b.create<mlir::vector::BitCastOp>(k.loc, elements, units); };
  return intrinsic(k, sum.getType(), "llvm.x86.avx512bf16.dpbf16ps.512", {sum, steps(a), steps(b)});
}

} // namespace lathe::units
