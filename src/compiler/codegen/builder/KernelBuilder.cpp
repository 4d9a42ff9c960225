#include "codegen/builder/KernelBuilder.h"

#include "codegen/Generate.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

namespace lathe {

namespace {

std::optional<int64_t> constantOf(mlir::Value value) {
  llvm::APInt result;
  if (mlir::matchPattern(value, mlir::m_ConstantInt(&result)))
    return result.getSExtValue();
  return std::nullopt;
}

/// `element`, or a vector of it with as many lanes as `value`.
mlir::Type like(mlir::Value value, mlir::Type element) {
  auto vector = llvm::dyn_cast<mlir::VectorType>(value.getType());
  return vector ? mlir::Type(vector.clone(element)) : element;
}

unsigned bytesOf(mlir::Type element) { return std::max(1u, element.getIntOrFloatBitWidth() / 8); }

} // namespace

int64_t lanesOf(mlir::Value value) {
  auto vector = llvm::dyn_cast<mlir::VectorType>(value.getType());
  return vector ? vector.getNumElements() : 1;
}

KernelBuilder::KernelBuilder(const KernelProblem &problem, std::string kernelName, std::vector<bool> writable,
                             unsigned dimCount)
    : KernelBuilder(mlir::func::FuncOp(problem.function).getContext(), problem.target, std::move(kernelName),
                    std::move(writable), dimCount, problem.relaxedMath) {}

KernelBuilder::KernelBuilder(mlir::MLIRContext *context, const Target &target, std::string kernelName,
                             std::vector<bool> writable, unsigned dimCount, bool relaxedMath)
    : b(context), loc(mlir::UnknownLoc::get(context)), target(target), relaxedMath(relaxedMath),
      name(std::move(kernelName)), module(mlir::ModuleOp::create(loc)) {
  auto ptr = mlir::LLVM::LLVMPointerType::get(context);
  auto voidType = mlir::LLVM::LLVMVoidType::get(context);
  b.setInsertionPointToEnd(module->getBody());

  // The body has one noalias pointer per buffer, so that LLVM may keep loaded values across stores.
  llvm::SmallVector<mlir::Type> bodyTypes(writable.size(), ptr);
  bodyTypes.append(dimCount, i64());
  bodyTypes.append({i64(), i64(), ptr});
  auto body =
      b.create<mlir::LLVM::LLVMFuncOp>(loc, name + "_body", mlir::LLVM::LLVMFunctionType::get(voidType, bodyTypes));
  body.setLinkage(mlir::LLVM::Linkage::Internal);
  for (size_t i = 0; i < writable.size(); ++i) {
    body.setArgAttr(i, "llvm.noalias", b.getUnitAttr());
    if (!writable[i])
      body.setArgAttr(i, "llvm.readonly", b.getUnitAttr());
  }
  body.setArgAttr(bodyTypes.size() - 1, "llvm.noalias", b.getUnitAttr());

  // The entry function unpacks the arrays and calls the body.
  auto entry = b.create<mlir::LLVM::LLVMFuncOp>(
      loc, name, mlir::LLVM::LLVMFunctionType::get(voidType, {ptr, ptr, i64(), i64(), ptr}));
  mlir::Block *start = entry.addEntryBlock(b);
  b.setInsertionPointToStart(start);
  Values arguments;
  for (size_t i = 0; i < writable.size(); ++i)
    arguments.push_back(b.create<mlir::LLVM::LoadOp>(loc, ptr, gep(start->getArgument(0), constant(i), ptr)));
  for (unsigned i = 0; i < dimCount; ++i)
    arguments.push_back(b.create<mlir::LLVM::LoadOp>(loc, i64(), gep(start->getArgument(1), constant(i), i64())));
  arguments.append({start->getArgument(2), start->getArgument(3), start->getArgument(4)});
  b.create<mlir::LLVM::CallOp>(loc, body, arguments);
  b.create<mlir::LLVM::ReturnOp>(loc, mlir::ValueRange());

  mlir::Block *block = body.addEntryBlock(b);
  b.setInsertionPointToStart(block);
  auto values = block->getArguments();
  buffers.assign(values.begin(), values.begin() + writable.size());
  dims.assign(values.begin() + writable.size(), values.begin() + writable.size() + dimCount);
  beginValue = values[values.size() - 3];
  endValue = values[values.size() - 2];
  scratchValue = values[values.size() - 1];
}

mlir::OwningOpRef<mlir::ModuleOp> KernelBuilder::finish() {
  b.create<mlir::LLVM::ReturnOp>(loc, mlir::ValueRange());
  return std::move(module);
}

// ---- Types ----

mlir::Type KernelBuilder::pointer() { return mlir::LLVM::LLVMPointerType::get(b.getContext()); }

bool KernelBuilder::computes(ElementType type) {
  return type == ElementType::f32 || type == ElementType::f16 || type == ElementType::bf16 ||
         type == ElementType::f64 || type == ElementType::boolean || (isInteger(type) && bitWidth(type) >= 8);
}

mlir::Type KernelBuilder::computeType(ElementType type) {
  switch (type) {
  case ElementType::f32:
  case ElementType::f16:
  case ElementType::bf16:
    return b.getF32Type();
  case ElementType::f64:
    return b.getF64Type();
  case ElementType::boolean:
    return b.getI1Type();
  default:
    if (isInteger(type) && bitWidth(type) >= 8)
      return b.getIntegerType(bitWidth(type));
    throw Declined{"no kernels for elements of type " + std::string(lathe::name(type))};
  }
}

mlir::Type KernelBuilder::memoryType(ElementType type) {
  switch (type) {
  case ElementType::f16:
    return b.getF16Type();
  case ElementType::bf16:
    return b.getIntegerType(16);
  case ElementType::boolean:
    return b.getIntegerType(8);
  default:
    return computeType(type);
  }
}

// ---- Integers ----

mlir::Value KernelBuilder::constant(int64_t value) {
  return b.create<mlir::arith::ConstantOp>(loc, b.getI64IntegerAttr(value));
}

mlir::Value KernelBuilder::add(Value x, Value y) {
  auto cx = constantOf(x), cy = constantOf(y);
  if (cx && cy)
    return constant(*cx + *cy);
  if (cx && *cx == 0)
    return y;
  if (cy && *cy == 0)
    return x;
  return b.create<mlir::arith::AddIOp>(loc, x, y, mlir::arith::IntegerOverflowFlags::nsw);
}

mlir::Value KernelBuilder::sub(Value x, Value y) {
  auto cx = constantOf(x), cy = constantOf(y);
  if (cx && cy)
    return constant(*cx - *cy);
  if (cy && *cy == 0)
    return x;
  return b.create<mlir::arith::SubIOp>(loc, x, y, mlir::arith::IntegerOverflowFlags::nsw);
}

mlir::Value KernelBuilder::mul(Value x, Value y) {
  auto cx = constantOf(x), cy = constantOf(y);
  if (cx && cy)
    return constant(*cx * *cy);
  if ((cx && *cx == 0) || (cy && *cy == 0))
    return constant(0);
  if (cx && *cx == 1)
    return y;
  if (cy && *cy == 1)
    return x;
  return b.create<mlir::arith::MulIOp>(loc, x, y, mlir::arith::IntegerOverflowFlags::nsw);
}

mlir::Value KernelBuilder::div(Value x, int64_t y) {
  if (y == 1)
    return x;
  if (auto cx = constantOf(x))
    return constant(*cx / y);
  return b.create<mlir::arith::DivUIOp>(loc, x, constant(y));
}

mlir::Value KernelBuilder::rem(Value x, int64_t y) {
  if (y == 1)
    return constant(0);
  if (auto cx = constantOf(x))
    return constant(*cx % y);
  return b.create<mlir::arith::RemUIOp>(loc, x, constant(y));
}

mlir::Value KernelBuilder::min(Value x, Value y) {
  auto cx = constantOf(x), cy = constantOf(y);
  if (cx && cy)
    return constant(std::min(*cx, *cy));
  return b.create<mlir::arith::MinSIOp>(loc, x, y);
}

mlir::Value KernelBuilder::max(Value x, Value y) {
  auto cx = constantOf(x), cy = constantOf(y);
  if (cx && cy)
    return constant(std::max(*cx, *cy));
  return b.create<mlir::arith::MaxSIOp>(loc, x, y);
}

mlir::Value KernelBuilder::less(Value x, Value y) {
  return b.createOrFold<mlir::arith::CmpIOp>(loc, mlir::arith::CmpIPredicate::slt, x, y);
}

mlir::Value KernelBuilder::select(Value condition, Value x, Value y) {
  if (auto known = constantOf(condition))
    return *known ? x : y;
  return b.create<mlir::arith::SelectOp>(loc, condition, x, y);
}

// ---- Memory ----

mlir::Value KernelBuilder::gep(Value base, Value offset, mlir::Type element) {
  if (auto known = constantOf(offset))
    if (*known == 0)
      return base;
  return b.create<mlir::LLVM::GEPOp>(loc, pointer(), element, base, mlir::ValueRange{offset}, /*inbounds=*/true);
}

mlir::Value KernelBuilder::widen(Value value, ElementType type) {
  switch (type) {
  case ElementType::f16:
    return b.create<mlir::arith::ExtFOp>(loc, like(value, b.getF32Type()), value);
  case ElementType::bf16: {
    Value bits = b.create<mlir::arith::ExtUIOp>(loc, like(value, b.getI32Type()), value);
    auto sixteen = b.getIntegerAttr(b.getI32Type(), 16);
    Value shift =
        lanesOf(value) == 1 && !llvm::isa<mlir::VectorType>(value.getType())
            ? b.create<mlir::arith::ConstantOp>(loc, sixteen)
            : b.create<mlir::arith::ConstantOp>(
                  loc, mlir::DenseElementsAttr::get(llvm::cast<mlir::VectorType>(bits.getType()), sixteen.getValue()));
    bits = b.create<mlir::arith::ShLIOp>(loc, bits, shift);
    return b.create<mlir::arith::BitcastOp>(loc, like(value, b.getF32Type()), bits);
  }
  case ElementType::boolean:
    return b.create<mlir::arith::CmpIOp>(loc, mlir::arith::CmpIPredicate::ne, value, zero(value.getType()));
  default:
    return value;
  }
}

mlir::Value KernelBuilder::narrow(Value value, ElementType type) {
  switch (type) {
  case ElementType::f16:
    return b.create<mlir::arith::TruncFOp>(loc, like(value, b.getF16Type()), value);
  case ElementType::bf16: {
    // Round to nearest even on the bits; a NaN keeps its upper half with the quiet bit set.
    mlir::Type i32 = like(value, b.getI32Type());
    auto number = [&](int64_t n) -> Value {
      auto attr = b.getIntegerAttr(b.getI32Type(), n);
      if (auto vector = llvm::dyn_cast<mlir::VectorType>(i32))
        return b.create<mlir::arith::ConstantOp>(loc, mlir::DenseElementsAttr::get(vector, attr.getValue()));
      return b.create<mlir::arith::ConstantOp>(loc, attr);
    };
    Value bits = b.create<mlir::arith::BitcastOp>(loc, i32, value);
    Value odd = b.create<mlir::arith::AndIOp>(loc, b.create<mlir::arith::ShRUIOp>(loc, bits, number(16)), number(1));
    Value rounded = b.create<mlir::arith::AddIOp>(loc, b.create<mlir::arith::AddIOp>(loc, bits, number(0x7fff)), odd);
    Value nan = b.create<mlir::arith::CmpFOp>(loc, mlir::arith::CmpFPredicate::UNO, value, value);
    Value quiet = b.create<mlir::arith::OrIOp>(loc, bits, number(0x400000));
    Value chosen = b.create<mlir::arith::SelectOp>(loc, nan, quiet, rounded);
    return b.create<mlir::arith::TruncIOp>(loc, like(value, b.getIntegerType(16)),
                                           b.create<mlir::arith::ShRUIOp>(loc, chosen, number(16)));
  }
  case ElementType::boolean:
    return b.create<mlir::arith::ExtUIOp>(loc, like(value, b.getIntegerType(8)), value);
  default:
    return value;
  }
}

mlir::Value KernelBuilder::load(Value base, Value offset, ElementType type, int64_t lanes) {
  mlir::Type element = memoryType(type);
  mlir::Type whole = lanes == 1 ? element : mlir::Type(vectorOf(element, lanes));
  return widen(b.create<mlir::LLVM::LoadOp>(loc, whole, gep(base, offset, element), bytesOf(element)), type);
}

mlir::Value KernelBuilder::maskedLoad(Value base, Value offset, ElementType type, int64_t lanes, Value mask) {
  mlir::Type element = memoryType(type);
  mlir::Type whole = vectorOf(element, lanes);
  return widen(b.create<mlir::LLVM::MaskedLoadOp>(loc, whole, gep(base, offset, element), mask,
                                                  mlir::ValueRange{zero(whole)}, bytesOf(element)),
               type);
}

void KernelBuilder::store(Value value, Value base, Value offset, ElementType type) {
  mlir::Type element = memoryType(type);
  b.create<mlir::LLVM::StoreOp>(loc, narrow(value, type), gep(base, offset, element), bytesOf(element));
}

void KernelBuilder::maskedStore(Value value, Value base, Value offset, ElementType type, Value mask) {
  mlir::Type element = memoryType(type);
  b.create<mlir::LLVM::MaskedStoreOp>(loc, narrow(value, type), gep(base, offset, element), mask, bytesOf(element));
}

mlir::Value KernelBuilder::prefixMask(Value count, int64_t lanes) {
  llvm::SmallVector<int32_t> steps(lanes);
  for (int64_t i = 0; i < lanes; ++i)
    steps[i] = static_cast<int32_t>(i);
  Value iota = b.create<mlir::arith::ConstantOp>(loc, b.getI32VectorAttr(steps));
  Value clamped = max(min(count, constant(lanes)), constant(0));
  Value narrowCount = b.create<mlir::arith::TruncIOp>(loc, b.getI32Type(), clamped);
  return b.create<mlir::arith::CmpIOp>(loc, mlir::arith::CmpIPredicate::slt, iota, splat(narrowCount, lanes));
}

// ---- Floating point ----

mlir::Value KernelBuilder::constantF(double value, mlir::Type type) {
  auto vector = llvm::dyn_cast<mlir::VectorType>(type);
  mlir::FloatAttr number = b.getFloatAttr(vector ? vector.getElementType() : type, value);
  if (vector)
    return b.create<mlir::arith::ConstantOp>(loc, mlir::DenseElementsAttr::get(vector, number.getValue()));
  return b.create<mlir::arith::ConstantOp>(loc, number);
}

mlir::Value KernelBuilder::splat(Value scalar, int64_t lanes) {
  if (llvm::isa<mlir::VectorType>(scalar.getType()))
    return scalar;
  auto vector = vectorOf(scalar.getType(), lanes);
  if (auto known = scalar.getDefiningOp<mlir::arith::ConstantOp>())
    return b.create<mlir::arith::ConstantOp>(loc, mlir::DenseElementsAttr::get(vector, known.getValue()));
  return b.create<mlir::vector::BroadcastOp>(loc, vector, scalar);
}

mlir::Value KernelBuilder::zero(mlir::Type type) { return b.create<mlir::arith::ConstantOp>(loc, b.getZeroAttr(type)); }

mlir::Value KernelBuilder::firstUnless(bool greater, Value x, Value y) {
  auto vector = llvm::dyn_cast<mlir::VectorType>(x.getType());
  if (vector && vector.getElementType().isF32() && target.has("sse4.2")) {
    // A comparison and a select would be folded with other selects into longer code.
    int64_t lanes = vector.getNumElements();
    const char *name = greater ? "max" : "min";
    auto call = [&](const std::string &intrinsic, mlir::ValueRange operands) {
      return b.create<mlir::LLVM::CallIntrinsicOp>(loc, vector, b.getStringAttr(intrinsic), operands).getResult(0);
    };
    if (lanes == 16 && target.has("avx512f")) {
      Value rounding =
          b.create<mlir::LLVM::ConstantOp>(loc, b.getI32Type(), b.getI32IntegerAttr(4)); // the current direction
      return call(fmt::format("llvm.x86.avx512.{}.ps.512", name), {y, x, rounding});
    }
    if (lanes == 8 && target.has("avx"))
      return call(fmt::format("llvm.x86.avx.{}.ps.256", name), {y, x});
    if (lanes == 4)
      return call(fmt::format("llvm.x86.sse.{}.ps", name), {y, x});
  }
  using mlir::arith::CmpFPredicate, mlir::arith::CmpIPredicate;
  Value other =
      llvm::isa<mlir::FloatType>(mlir::getElementTypeOrSelf(x.getType()))
          ? b.create<mlir::arith::CmpFOp>(loc, greater ? CmpFPredicate::OGT : CmpFPredicate::OLT, y, x).getResult()
          : b.create<mlir::arith::CmpIOp>(loc, greater ? CmpIPredicate::sgt : CmpIPredicate::slt, y, x).getResult();
  return b.create<mlir::arith::SelectOp>(loc, other, y, x);
}

mlir::Value KernelBuilder::fma(Value x, Value y, Value z) {
  // Without the instruction, a true fma would be a call into libm, and kernels call nothing.
  if (target.has("sse4.2") && !target.has("fma"))
    return b.create<mlir::LLVM::FMulAddOp>(loc, x, y, z);
  return b.create<mlir::math::FmaOp>(loc, x, y, z);
}

// ---- Control flow ----

KernelBuilder::Values KernelBuilder::loop(Value lo, Value hi, int64_t step, mlir::ValueRange state,
                                          const std::function<Values(Value, mlir::ValueRange)> &body) {
  auto first = constantOf(lo), last = constantOf(hi);
  if (first && last) {
    int64_t trips = *last <= *first ? 0 : (*last - *first + step - 1) / step;
    if (trips == 0)
      return Values(state.begin(), state.end());
    if (trips == 1)
      return body(lo, state);
  }
  auto op = b.create<mlir::scf::ForOp>(loc, lo, hi, constant(step), state,
                                       [&](mlir::OpBuilder &, mlir::Location, Value index, mlir::ValueRange carried) {
                                         mlir::OpBuilder::InsertionGuard guard(b);
                                         mlir::Block *block = index.getParentBlock();
                                         b.setInsertionPointToEnd(block);
                                         Values next = body(index, carried);
                                         b.create<mlir::scf::YieldOp>(loc, next);
                                       });
  return Values(op.getResults().begin(), op.getResults().end());
}

void KernelBuilder::loop(Value lo, Value hi, int64_t step, const std::function<void(Value)> &body) {
  loop(lo, hi, step, {}, [&](Value index, mlir::ValueRange) {
    body(index);
    return Values();
  });
}

void KernelBuilder::sideBySide(int64_t copies, const std::function<void(int64_t)> &body) {
  mlir::Block *block = b.getInsertionBlock();
  auto end = b.getInsertionPoint();
  std::vector<std::vector<mlir::Operation *>> emitted;
  bool plain = true;
  size_t longest = 0;
  for (int64_t i = 0; i < copies; ++i) {
    mlir::Operation *last = end == block->begin() ? nullptr : &*std::prev(end);
    body(i);
    std::vector<mlir::Operation *> &own = emitted.emplace_back();
    for (auto at = last ? std::next(last->getIterator()) : block->begin(); at != end; ++at) {
      own.push_back(&*at);
      plain &= at->getNumRegions() == 0;
    }
    longest = std::max(longest, own.size());
  }
  if (!plain || copies < 2)
    return;
  // At the beginning, copies differ in how much of their addresses folds; from the end they correspond step by step.
  for (size_t left = longest; left > 0; --left)
    for (std::vector<mlir::Operation *> &own : emitted)
      if (left <= own.size())
        own[own.size() - left]->moveBefore(block, end);
}

void KernelBuilder::ifThen(Value condition, const std::function<void()> &then, const std::function<void()> &otherwise) {
  if (auto known = constantOf(condition)) {
    if (*known)
      then();
    else if (otherwise)
      otherwise();
    return;
  }
  auto op = b.create<mlir::scf::IfOp>(loc, condition, static_cast<bool>(otherwise));
  auto emit = [&](mlir::Block *block, const std::function<void()> &side) {
    mlir::OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(block->getTerminator());
    side();
  };
  emit(op.thenBlock(), then);
  if (otherwise)
    emit(op.elseBlock(), otherwise);
}

KernelBuilder::Values KernelBuilder::transposed(Values rows) {
  int64_t n = static_cast<int64_t>(rows.size());
  llvm::SmallVector<int64_t> low, high; // halves of two vectors, interleaved
  for (int64_t i = 0; i < n / 2; ++i) {
    low.append({i, n + i});
    high.append({n / 2 + i, n + n / 2 + i});
  }
  // log2(n) perfect shuffles of the whole square are its transposition.
  for (int64_t step = 1; step < n; step *= 2) {
    Values next;
    for (int64_t i = 0; i < n / 2; ++i) {
      next.push_back(b.create<mlir::vector::ShuffleOp>(loc, rows[i], rows[i + n / 2], low));
      next.push_back(b.create<mlir::vector::ShuffleOp>(loc, rows[i], rows[i + n / 2], high));
    }
    rows = std::move(next);
  }
  return rows;
}

} // namespace lathe
