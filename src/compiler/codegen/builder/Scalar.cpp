#include "codegen/builder/Scalar.h"

#include "codegen/builder/QuantizedCast.h"
#include "codegen/builder/RelaxedMath.h"

#include "ir/Bridge.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/APSInt.h"

#include <algorithm>

namespace lathe {

namespace arith = mlir::arith;
using mlir::Value;

// ---- Arithmetic ----

namespace {

/// `number` truncated and limited to integers of `width` bits; NaN gives 0. The references convert in the same way
/// (toElement in ops/ReferenceSupport.h).
llvm::APInt integerOf(double number, unsigned width, bool isUnsigned) {
  llvm::APSInt result(width, isUnsigned);
  bool exact;
  llvm::APFloat(number).convertToInteger(result, llvm::APFloat::rmTowardZero, &exact); // saturates
  return result;
}

} // namespace

Value ScalarBuilder::constantLike(Value value, double number) {
  mlir::Type type = value.getType();
  mlir::Type element = mlir::getElementTypeOrSelf(type);
  if (llvm::isa<mlir::FloatType>(element))
    return kernel.constantF(number, type);
  unsigned width = element.getIntOrFloatBitWidth();
  bool natural = width == 1 || (isUnsigned() && number >= 0); // -1: all bits set
  auto bits = kernel.b.getIntegerAttr(element, integerOf(number, width, natural));
  if (auto vector = llvm::dyn_cast<mlir::VectorType>(type))
    return kernel.b.create<arith::ConstantOp>(kernel.loc, mlir::DenseElementsAttr::get(vector, bits.getValue()));
  return kernel.b.create<arith::ConstantOp>(kernel.loc, bits);
}

Value ScalarBuilder::constant(double value) {
  mlir::Type element = kernel.computeType(operandType);
  if (auto vector = llvm::dyn_cast<mlir::VectorType>(like.getType()))
    element = vector.clone(element);
  return constantLike(kernel.zero(element), value);
}

/// A sum or product of floats. With relaxed mathematics LLVM may contract it to fused operations.
template <class Op> static Value inexact(KernelBuilder &kernel, Value x, Value y) {
  auto flags = kernel.relaxedMath ? arith::FastMathFlags::contract : arith::FastMathFlags::none;
  return kernel.b.create<Op>(kernel.loc, x, y, flags);
}

Value ScalarBuilder::add(Value x, Value y) {
  return isFloat() ? inexact<arith::AddFOp>(kernel, x, y)
                   : kernel.b.create<arith::AddIOp>(kernel.loc, x, y).getResult();
}

Value ScalarBuilder::sub(Value x, Value y) {
  return isFloat() ? inexact<arith::SubFOp>(kernel, x, y)
                   : kernel.b.create<arith::SubIOp>(kernel.loc, x, y).getResult();
}

Value ScalarBuilder::mul(Value x, Value y) {
  return isFloat() ? inexact<arith::MulFOp>(kernel, x, y)
                   : kernel.b.create<arith::MulIOp>(kernel.loc, x, y).getResult();
}

Value ScalarBuilder::div(Value x, Value y) {
  if (isFloat())
    return kernel.b.create<arith::DivFOp>(kernel.loc, x, y);
  // Division by zero and INT_MIN / -1 trap on some machines and are undefined in LLVM, so these lanes divide by one.
  Value one = constantLike(y, 1), zero = constantLike(y, 0);
  Value isZero = equal(y, zero), quotient;
  if (isUnsigned()) {
    quotient = kernel.b.create<arith::DivUIOp>(kernel.loc, x, select(isZero, one, y));
  } else {
    Value isMinusOne = equal(y, constantLike(y, -1));
    Value divisor = select(kernel.b.create<arith::OrIOp>(kernel.loc, isZero, isMinusOne), one, y);
    quotient = select(isMinusOne, sub(zero, x), kernel.b.create<arith::DivSIOp>(kernel.loc, x, divisor));
  }
  return select(isZero, zero, quotient);
}

Value ScalarBuilder::neg(Value x) {
  return isFloat() ? kernel.b.create<arith::NegFOp>(kernel.loc, x).getResult() : sub(constantLike(x, 0), x);
}

/// x if it is NaN or `predicate` holds for x and y, else y. Needed for 16-bit floats: LLVM 19 narrows maximum and
/// minimum of widened 16-bit floats and loses a NaN in y.
static Value firstIf(KernelBuilder &k, arith::CmpFPredicate predicate, Value x, Value y) {
  Value wins = k.b.create<arith::CmpFOp>(k.loc, predicate, x, y);
  Value isNan = k.b.create<arith::CmpFOp>(k.loc, arith::CmpFPredicate::UNO, x, x);
  return k.b.create<arith::SelectOp>(k.loc, k.b.create<arith::OrIOp>(k.loc, wins, isNan), x, y);
}

Value ScalarBuilder::max(Value x, Value y) {
  if (operandType == ElementType::f16)
    return firstIf(kernel, arith::CmpFPredicate::OGT, x, y);
  if (isFloat())
    return kernel.b.create<arith::MaximumFOp>(kernel.loc, x, y);
  return isUnsigned() ? kernel.b.create<arith::MaxUIOp>(kernel.loc, x, y).getResult()
                      : kernel.b.create<arith::MaxSIOp>(kernel.loc, x, y).getResult();
}

Value ScalarBuilder::min(Value x, Value y) {
  if (operandType == ElementType::f16)
    return firstIf(kernel, arith::CmpFPredicate::OLT, x, y);
  if (isFloat())
    return kernel.b.create<arith::MinimumFOp>(kernel.loc, x, y);
  return isUnsigned() ? kernel.b.create<arith::MinUIOp>(kernel.loc, x, y).getResult()
                      : kernel.b.create<arith::MinSIOp>(kernel.loc, x, y).getResult();
}

Value ScalarBuilder::atLeast(Value x, double bound) {
  if (isUnsigned() && bound < 0)
    return x;
  Value limit = constantLike(x, bound);
  if (!isFloat())
    return max(x, limit);
  Value below = kernel.b.create<arith::CmpFOp>(kernel.loc, arith::CmpFPredicate::OGT, limit, x);
  return select(below, limit, x);
}

Value ScalarBuilder::atMost(Value x, double bound) {
  Value limit = constantLike(x, isUnsigned() ? std::max(bound, 0.0) : bound);
  if (!isFloat())
    return min(x, limit);
  Value above = kernel.b.create<arith::CmpFOp>(kernel.loc, arith::CmpFPredicate::OLT, limit, x);
  return select(above, limit, x);
}

Value ScalarBuilder::fma(Value x, Value y, Value z) { return isFloat() ? kernel.fma(x, y, z) : add(mul(x, y), z); }

Value ScalarBuilder::abs(Value x) {
  if (isFloat())
    return kernel.b.create<mlir::math::AbsFOp>(kernel.loc, x);
  return isUnsigned() ? x : max(x, neg(x));
}

Value ScalarBuilder::floor(Value x) { return kernel.b.create<mlir::math::FloorOp>(kernel.loc, x); }
Value ScalarBuilder::ceil(Value x) { return kernel.b.create<mlir::math::CeilOp>(kernel.loc, x); }
Value ScalarBuilder::roundEven(Value x) { return kernel.b.create<mlir::math::RoundEvenOp>(kernel.loc, x); }
Value ScalarBuilder::reciprocal(Value x) {
  return relaxed::applies(kernel, x) ? relaxed::reciprocal(kernel, x) : div(constantLike(x, 1), x);
}
Value ScalarBuilder::reciprocalSqrt(Value x) {
  return relaxed::applies(kernel, x) ? relaxed::reciprocalSqrt(kernel, x) : div(constantLike(x, 1), sqrt(x));
}
Value ScalarBuilder::quotient(Value x, Value y) {
  return relaxed::applies(kernel, x) ? mul(x, relaxed::reciprocal(kernel, y)) : div(x, y);
}

Value ScalarBuilder::sqrt(Value x) { return kernel.b.create<mlir::math::SqrtOp>(kernel.loc, x); }

Value ScalarBuilder::equal(Value x, Value y) {
  if (llvm::isa<mlir::FloatType>(mlir::getElementTypeOrSelf(x.getType())))
    return kernel.b.create<arith::CmpFOp>(kernel.loc, arith::CmpFPredicate::OEQ, x, y);
  return kernel.b.create<arith::CmpIOp>(kernel.loc, arith::CmpIPredicate::eq, x, y);
}

Value ScalarBuilder::less(Value x, Value y) {
  if (isFloat())
    return kernel.b.create<arith::CmpFOp>(kernel.loc, arith::CmpFPredicate::OLT, x, y);
  return kernel.b.create<arith::CmpIOp>(kernel.loc,
                                        isUnsigned() ? arith::CmpIPredicate::ult : arith::CmpIPredicate::slt, x, y);
}

Value ScalarBuilder::lessEqual(Value x, Value y) {
  if (isFloat())
    return kernel.b.create<arith::CmpFOp>(kernel.loc, arith::CmpFPredicate::OLE, x, y);
  return kernel.b.create<arith::CmpIOp>(kernel.loc,
                                        isUnsigned() ? arith::CmpIPredicate::ule : arith::CmpIPredicate::sle, x, y);
}

Value ScalarBuilder::select(Value condition, Value x, Value y) {
  return kernel.b.create<arith::SelectOp>(kernel.loc, condition, x, y);
}

// ---- Expressions ----

/// A constant of one element as a scalar.
static Value constantValue(KernelBuilder &kernel, const nn::ConstantData &data) {
  auto width = bitWidth(data.type) / 8;
  if (width == 0 || data.bytes.size() != width)
    throw Declined{"a kernel's body holds a constant with more than one value"};
  mlir::Type type = kernel.computeType(data.type);
  if (!isFloat(data.type)) {
    uint64_t raw = 0;
    std::memcpy(&raw, data.bytes.data(), width);
    return kernel.b.create<arith::ConstantOp>(
        kernel.loc, kernel.b.getIntegerAttr(type, llvm::APInt(type.getIntOrFloatBitWidth(), raw)));
  }
  llvm::APInt bits(bitWidth(data.type), 0);
  std::memcpy(const_cast<uint64_t *>(bits.getRawData()), data.bytes.data(), width);
  const llvm::fltSemantics &semantics = data.type == ElementType::f32   ? llvm::APFloat::IEEEsingle()
                                        : data.type == ElementType::f64 ? llvm::APFloat::IEEEdouble()
                                        : data.type == ElementType::f16 ? llvm::APFloat::IEEEhalf()
                                                                        : llvm::APFloat::BFloat();
  llvm::APFloat value(semantics, bits);
  bool exact;
  value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &exact);
  return kernel.constantF(value.convertToDouble(), type);
}

Value Pointwise::evaluate(Value nnValue) {
  if (auto found = done.find(nnValue); found != done.end())
    return found->second;
  if (Value given = leaf(nnValue))
    return done[nnValue] = given;
  mlir::Operation *op = nnValue.getDefiningOp();
  if (!op)
    throw Declined{"an argument of the kernel is used where it has no element to give"};

  if (auto constant = llvm::dyn_cast<nn::ConstantOp>(op))
    return done[nnValue] = constantValue(kernel, nn::constantData(constant.getValue()));

  if (Value quantized = quantizedCast(kernel, op, [&](Value value) { return evaluate(value); }))
    return done[nnValue] = quantized;

  const OpRecord *record = nn::recordOf(op);
  const ScalarLowering *lowering = record ? findScalarLowering(record->name) : nullptr;
  if (!lowering)
    throw Declined{fmt::format("'{}' has no scalar expression", op->getName().getStringRef().str())};

  // Operands that do not vary along the vector stay scalars until they meet an operand that does.
  llvm::SmallVector<Value> operands;
  int64_t lanes = 0;
  ElementType operandType = ElementType::invalid;
  for (Value operand : nn::operandsByRecord(op)) {
    if (!operand) {
      operands.push_back(Value());
      continue;
    }
    ElementType type = nn::infoOf(operand).type;
    if (operandType == ElementType::invalid || operandType == ElementType::boolean)
      operandType = type;
    operands.push_back(evaluate(operand));
    if (auto vector = llvm::dyn_cast<mlir::VectorType>(operands.back().getType()))
      lanes = vector.getNumElements();
  }
  Value like;
  for (Value &operand : operands)
    if (operand) {
      if (lanes)
        operand = kernel.splat(operand, lanes);
      if (!like)
        like = operand;
    }
  ScalarBuilder scalar(kernel, operandType, nn::infoOf(nnValue).type, like);
  return done[nnValue] = lowering->lower(scalar, *nn::attrsOf(op), operands);
}

} // namespace lathe
