// Scalar expressions of the element-wise operators with two or three operands.
#include "codegen/builder/Scalar.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

namespace lathe {

using mlir::Value;
using mlir::ValueRange;

namespace {

/// The constant that `value` (every lane of it) is known to be.
std::optional<double> knownNumber(Value value) {
  llvm::APFloat number(0.0);
  if (!mlir::matchPattern(value, mlir::m_ConstantFloat(&number)))
    return std::nullopt;
  bool exact;
  number.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &exact);
  return number.convertToDouble();
}

} // namespace

Value lowerAdd(ScalarBuilder &b, const AddAttrs &, ValueRange in) { return b.add(in[0], in[1]); }
Value lowerSub(ScalarBuilder &b, const SubAttrs &, ValueRange in) { return b.sub(in[0], in[1]); }
Value lowerMul(ScalarBuilder &b, const MulAttrs &, ValueRange in) { return b.mul(in[0], in[1]); }
Value lowerDiv(ScalarBuilder &b, const DivAttrs &, ValueRange in) { return b.div(in[0], in[1]); }
Value lowerMax(ScalarBuilder &b, const MaxAttrs &, ValueRange in) { return b.max(in[0], in[1]); }
Value lowerMin(ScalarBuilder &b, const MinAttrs &, ValueRange in) { return b.min(in[0], in[1]); }

Value lowerPow(ScalarBuilder &b, const PowAttrs &, ValueRange in) {
  if (!b.isFloat())
    throw Declined{"pow of integers"};
  // Exponents that need one or two multiplications, and for which C's pow has no special cases.
  if (auto exponent = knownNumber(in[1])) {
    if (*exponent == 1)
      return in[0];
    if (*exponent == 2)
      return b.mul(in[0], in[0]);
    if (*exponent == 3)
      return b.mul(b.mul(in[0], in[0]), in[0]);
    if (*exponent == -1)
      return b.div(b.constant(1), in[0]);
  }
  return b.pow(in[0], in[1]);
}

Value lowerMod(ScalarBuilder &b, const ModAttrs &attrs, ValueRange in) {
  if (b.isFloat())
    throw Declined{"remainder of floating-point numbers"};
  Value zero = b.constant(0), quotient = b.div(in[0], in[1]);
  Value rest = b.select(b.equal(in[1], zero), zero, b.sub(in[0], b.mul(quotient, in[1])));
  if (attrs.fmod || b.isUnsigned())
    return rest;
  // The remainder gets the sign of the divisor.
  Value different = b.kernel.b.create<mlir::arith::XOrIOp>(b.kernel.loc, b.less(rest, zero), b.less(in[1], zero));
  Value adjusted = b.select(different, b.add(rest, in[1]), rest);
  return b.select(b.equal(rest, zero), rest, adjusted);
}

Value lowerPrelu(ScalarBuilder &b, const PreluAttrs &, ValueRange in) {
  if (b.isUnsigned())
    return in[0];
  return b.select(b.less(in[0], b.constant(0)), b.mul(in[0], in[1]), in[0]);
}

Value lowerEqual(ScalarBuilder &b, const EqualAttrs &, ValueRange in) { return b.equal(in[0], in[1]); }
Value lowerLess(ScalarBuilder &b, const LessAttrs &, ValueRange in) { return b.less(in[0], in[1]); }
Value lowerLessEqual(ScalarBuilder &b, const LessEqualAttrs &, ValueRange in) { return b.lessEqual(in[0], in[1]); }
Value lowerGreater(ScalarBuilder &b, const GreaterAttrs &, ValueRange in) { return b.less(in[1], in[0]); }
Value lowerGreaterEqual(ScalarBuilder &b, const GreaterEqualAttrs &, ValueRange in) {
  return b.lessEqual(in[1], in[0]);
}

Value lowerAnd(ScalarBuilder &b, const AndAttrs &, ValueRange in) {
  return b.kernel.b.create<mlir::arith::AndIOp>(b.kernel.loc, in[0], in[1]);
}
Value lowerOr(ScalarBuilder &b, const OrAttrs &, ValueRange in) {
  return b.kernel.b.create<mlir::arith::OrIOp>(b.kernel.loc, in[0], in[1]);
}
Value lowerXor(ScalarBuilder &b, const XorAttrs &, ValueRange in) {
  return b.kernel.b.create<mlir::arith::XOrIOp>(b.kernel.loc, in[0], in[1]);
}

Value lowerBitwiseAnd(ScalarBuilder &b, const BitwiseAndAttrs &, ValueRange in) {
  return b.kernel.b.create<mlir::arith::AndIOp>(b.kernel.loc, in[0], in[1]);
}
Value lowerBitwiseOr(ScalarBuilder &b, const BitwiseOrAttrs &, ValueRange in) {
  return b.kernel.b.create<mlir::arith::OrIOp>(b.kernel.loc, in[0], in[1]);
}
Value lowerBitwiseXor(ScalarBuilder &b, const BitwiseXorAttrs &, ValueRange in) {
  return b.kernel.b.create<mlir::arith::XOrIOp>(b.kernel.loc, in[0], in[1]);
}

Value lowerBitShift(ScalarBuilder &b, const BitShiftAttrs &attrs, ValueRange in) {
  // A shift by the width or more is poison, so shift by 0 and select 0 there.
  Value width = b.constant(mlir::getElementTypeOrSelf(in[0].getType()).getIntOrFloatBitWidth());
  Value fits = b.less(in[1], width), zero = b.constant(0), amount = b.select(fits, in[1], zero);
  Value shifted = attrs.direction == "LEFT"
                      ? b.kernel.b.create<mlir::arith::ShLIOp>(b.kernel.loc, in[0], amount).getResult()
                      : b.kernel.b.create<mlir::arith::ShRUIOp>(b.kernel.loc, in[0], amount).getResult();
  return b.select(fits, shifted, zero);
}

Value lowerWhere(ScalarBuilder &b, const WhereAttrs &, ValueRange in) { return b.select(in[0], in[1], in[2]); }

} // namespace lathe
