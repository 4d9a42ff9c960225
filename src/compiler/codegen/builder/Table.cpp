#include "codegen/builder/Table.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <numeric>

namespace lathe {
namespace {

using mlir::Value;

Value shuffled(KernelBuilder &k, Value vector, int64_t lanes) {
  int64_t own = lanesOf(vector);
  if (own == lanes)
    return vector;
  llvm::SmallVector<int64_t> order(lanes, 0);
  std::iota(order.begin(), order.begin() + std::min(own, lanes), 0);
  return k.b.create<mlir::vector::ShuffleOp>(k.loc, vector, vector, order);
}

/// 64 entries at once, from registers: AVX-512 VBMI takes bytes out of two registers by the low seven bits of an index.
Value permuted(KernelBuilder &k, llvm::ArrayRef<int64_t> values, Value index) {
  constexpr int64_t lanes = 64;
  int64_t wanted = lanesOf(index);
  index = shuffled(k, index, lanes);
  auto part = [&](size_t i) -> Value {
    return k.b.create<mlir::arith::ConstantOp>(k.loc, integerTable(k, values.slice(i * lanes, lanes), 8));
  };
  auto half = [&](size_t first) -> Value {
    return k.b
        .create<mlir::LLVM::CallIntrinsicOp>(
            k.loc, index.getType(), k.b.getStringAttr("llvm.x86.avx512.vpermi2var.qi.512"),
            mlir::ValueRange{part(first), index, part(first + 1)}, mlir::LLVM::FastmathFlagsAttr{})
        .getResult(0);
  };
  Value upper = k.b.create<mlir::arith::CmpIOp>(k.loc, mlir::arith::CmpIPredicate::slt, index, k.zero(index.getType()));
  return shuffled(k, k.b.create<mlir::arith::SelectOp>(k.loc, upper, half(2), half(0)), wanted);
}

} // namespace

mlir::DenseElementsAttr integerTable(KernelBuilder &k, llvm::ArrayRef<int64_t> values, unsigned width) {
  llvm::SmallVector<llvm::APInt> bits;
  for (int64_t value : values)
    bits.emplace_back(width, static_cast<uint64_t>(value), /*isSigned=*/true);
  auto type = KernelBuilder::vectorOf(k.b.getIntegerType(width), static_cast<int64_t>(values.size()));
  return mlir::DenseElementsAttr::get(type, bits);
}

Value constantTable(KernelBuilder &k, mlir::DenseElementsAttr values) {
  // The block at hand may stand in a loop that is not part of the module yet.
  mlir::Operation *body = llvm::cast<mlir::BlockArgument>(k.scratch()).getOwner()->getParentOp();
  auto module = body->getParentOfType<mlir::ModuleOp>();
  size_t count = 0;
  for (auto known : module.getOps<mlir::LLVM::GlobalOp>()) {
    if (known.getValueAttr() == values)
      return k.b.create<mlir::LLVM::AddressOfOp>(k.loc, known);
    ++count;
  }
  auto type = mlir::LLVM::LLVMArrayType::get(values.getElementType(), static_cast<unsigned>(values.getNumElements()));
  mlir::OpBuilder top(module.getBodyRegion());
  auto global = top.create<mlir::LLVM::GlobalOp>(k.loc, type, /*isConstant=*/true, mlir::LLVM::Linkage::Private,
                                                 fmt::format("table{}", count), values, /*alignment=*/64);
  return k.b.create<mlir::LLVM::AddressOfOp>(k.loc, global);
}

Value tableEntry(KernelBuilder &k, Value table, Value index, mlir::Type element) {
  auto vector = llvm::dyn_cast<mlir::VectorType>(index.getType());
  unsigned bytes = element.getIntOrFloatBitWidth() / 8;
  auto wide = [&](Value at) -> Value { return k.b.create<mlir::arith::ExtUIOp>(k.loc, k.i64(), at); };
  if (!vector)
    return k.b.create<mlir::LLVM::LoadOp>(k.loc, element, k.gep(table, wide(index), element), bytes);
  int64_t lanes = vector.getNumElements();
  Value whole = k.zero(KernelBuilder::vectorOf(element, lanes));
  if (bytes >= 4) {
    Value pointers = k.b.create<mlir::LLVM::GEPOp>(k.loc, mlir::LLVM::getFixedVectorType(k.pointer(), unsigned(lanes)),
                                                   element, table, mlir::ValueRange{index});
    Value all = k.b.create<mlir::arith::ConstantOp>(
        k.loc, mlir::DenseElementsAttr::get(KernelBuilder::vectorOf(k.b.getI1Type(), lanes), true));
    return k.b.create<mlir::LLVM::masked_gather>(k.loc, whole.getType(), pointers, all, mlir::ValueRange{whole}, bytes);
  }
  for (int64_t lane = 0; lane < lanes; ++lane) {
    Value at = wide(k.b.create<mlir::vector::ExtractOp>(k.loc, index, lane));
    Value one = k.b.create<mlir::LLVM::LoadOp>(k.loc, element, k.gep(table, at, element), bytes);
    whole = k.b.create<mlir::vector::InsertOp>(k.loc, one, whole, lane);
  }
  return whole;
}

Value byteTableEntry(KernelBuilder &k, llvm::ArrayRef<int64_t> values, unsigned width, Value index) {
  auto vector = llvm::dyn_cast<mlir::VectorType>(index.getType());
  if (width == 8 && vector && k.target.lanes(8) == 64 && k.target.has("avx512vbmi"))
    return permuted(k, values, index);
  mlir::Type type = k.b.getI32Type();
  if (vector)
    type = vector.clone(type);
  Value table = constantTable(k, integerTable(k, values, width));
  return tableEntry(k, table, k.b.create<mlir::arith::ExtUIOp>(k.loc, type, index), k.b.getIntegerType(width));
}

} // namespace lathe
