// Scalar expressions of the element-wise operators with one operand.
#include "codegen/builder/Scalar.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>

namespace lathe {

using mlir::Value;
using mlir::ValueRange;

namespace {

/// log(1 + y) for y >= 0, accurate for small y: log(u) y / (u - 1) with u = 1 + y rounded (Kahan).
Value log1p(ScalarBuilder &b, Value y) {
  Value one = b.constant(1), u = b.add(one, y);
  Value change = b.sub(u, one);
  Value quotient = b.div(b.mul(b.log(u), y), change);
  return b.select(b.equal(change, b.constant(0)), y, quotient);
}

/// log(1 + y) for any y >= 0: beyond 1e9 the 1 is lost, and infinity stays.
Value log1pOfAny(ScalarBuilder &b, Value y) { return b.select(b.less(b.constant(1e9), y), b.log(y), log1p(b, y)); }

/// |magnitude| with the sign of x; NaN where either is.
Value withSign(ScalarBuilder &b, Value magnitude, Value x) {
  return b.kernel.b.create<mlir::math::CopySignOp>(b.kernel.loc, magnitude, x);
}

/// log(1 + e^x) = max(x, 0) + log(1 + e^-|x|)
Value softplus(ScalarBuilder &b, Value x) { return b.add(b.atLeast(x, 0), log1p(b, b.exp(b.neg(b.abs(x))))); }

/// x limited to [0, 1].
Value unitInterval(ScalarBuilder &b, Value x) { return b.atMost(b.atLeast(x, 0), 1); }

} // namespace

Value lowerRelu(ScalarBuilder &b, const ReluAttrs &, ValueRange in) { return b.atLeast(in[0], 0); }

Value lowerLeakyRelu(ScalarBuilder &b, const LeakyReluAttrs &attrs, ValueRange in) {
  return b.select(b.less(in[0], b.constant(0)), b.mul(in[0], b.constant(attrs.alpha)), in[0]);
}

Value lowerElu(ScalarBuilder &b, const EluAttrs &attrs, ValueRange in) {
  return b.select(b.less(in[0], b.constant(0)), b.mul(b.expm1(in[0]), b.constant(attrs.alpha)), in[0]);
}

Value lowerSelu(ScalarBuilder &b, const SeluAttrs &attrs, ValueRange in) {
  Value below = b.mul(b.expm1(in[0]), b.constant(attrs.gamma * attrs.alpha));
  return b.select(b.less(b.constant(0), in[0]), b.mul(in[0], b.constant(attrs.gamma)), below);
}

Value lowerCelu(ScalarBuilder &b, const CeluAttrs &attrs, ValueRange in) {
  Value curve = b.mul(b.expm1(b.div(in[0], b.constant(attrs.alpha))), b.constant(attrs.alpha));
  return b.add(b.atLeast(in[0], 0), b.atMost(curve, 0));
}

Value lowerThresholdedRelu(ScalarBuilder &b, const ThresholdedReluAttrs &attrs, ValueRange in) {
  return b.select(b.lessEqual(in[0], b.constant(attrs.alpha)), b.constant(0), in[0]);
}

Value lowerShrink(ScalarBuilder &b, const ShrinkAttrs &attrs, ValueRange in) {
  Value limit = b.constant(attrs.lambd), bias = b.constant(attrs.bias);
  Value below = b.add(in[0], bias), above = b.sub(in[0], bias);
  Value between = b.mul(in[0], b.constant(0)); // NaN stays NaN
  return b.select(b.less(in[0], b.neg(limit)), below, b.select(b.less(limit, in[0]), above, between));
}

Value lowerSigmoid(ScalarBuilder &b, const SigmoidAttrs &, ValueRange in) { return b.sigmoid(in[0]); }
Value lowerTanh(ScalarBuilder &b, const TanhAttrs &, ValueRange in) { return b.tanh(in[0]); }
Value lowerExp(ScalarBuilder &b, const ExpAttrs &, ValueRange in) { return b.exp(in[0]); }
Value lowerLog(ScalarBuilder &b, const LogAttrs &, ValueRange in) { return b.log(in[0]); }
Value lowerSqrt(ScalarBuilder &b, const SqrtAttrs &, ValueRange in) { return b.sqrt(in[0]); }
Value lowerNeg(ScalarBuilder &b, const NegAttrs &, ValueRange in) { return b.neg(in[0]); }
Value lowerAbs(ScalarBuilder &b, const AbsAttrs &, ValueRange in) { return b.abs(in[0]); }
Value lowerFloor(ScalarBuilder &b, const FloorAttrs &, ValueRange in) { return b.floor(in[0]); }
Value lowerCeil(ScalarBuilder &b, const CeilAttrs &, ValueRange in) { return b.ceil(in[0]); }
Value lowerRound(ScalarBuilder &b, const RoundAttrs &, ValueRange in) { return b.roundEven(in[0]); }
Value lowerErf(ScalarBuilder &b, const ErfAttrs &, ValueRange in) { return b.erf(in[0]); }
Value lowerSin(ScalarBuilder &b, const SinAttrs &, ValueRange in) { return b.sin(in[0]); }
Value lowerCos(ScalarBuilder &b, const CosAttrs &, ValueRange in) { return b.cos(in[0]); }
Value lowerAtan(ScalarBuilder &b, const AtanAttrs &, ValueRange in) { return b.atan(in[0]); }

Value lowerTan(ScalarBuilder &b, const TanAttrs &, ValueRange in) { return b.div(b.sin(in[0]), b.cos(in[0])); }

Value lowerAsin(ScalarBuilder &b, const AsinAttrs &, ValueRange in) {
  // The angle whose sine is x and whose cosine is sqrt((1 - x)(1 + x)), without cancellation at the borders.
  Value one = b.constant(1);
  return b.atan(b.div(in[0], b.sqrt(b.mul(b.sub(one, in[0]), b.add(one, in[0])))));
}

Value lowerAcos(ScalarBuilder &b, const AcosAttrs &, ValueRange in) {
  // tan(y / 2) = sqrt((1 - x) / (1 + x))
  Value one = b.constant(1);
  return b.mul(b.constant(2), b.atan(b.sqrt(b.div(b.sub(one, in[0]), b.add(one, in[0])))));
}

Value lowerSinh(ScalarBuilder &b, const SinhAttrs &, ValueRange in) {
  // (e^a - e^-a) / 2 by e^a - 1, accurate near 0; for large a, where e^a overflows first, by e^(a/2).
  Value a = b.abs(in[0]), half = b.constant(0.5), e = b.expm1(a), root = b.exp(b.mul(a, half));
  Value small = b.mul(half, b.add(e, b.div(e, b.add(e, b.constant(1)))));
  Value large = b.mul(b.mul(root, half), root);
  return withSign(b, b.select(b.less(a, b.constant(40)), small, large), in[0]);
}

Value lowerCosh(ScalarBuilder &b, const CoshAttrs &, ValueRange in) {
  Value a = b.abs(in[0]), half = b.constant(0.5), e = b.exp(a), root = b.exp(b.mul(a, half));
  Value small = b.add(b.mul(half, e), b.div(half, e));
  return b.select(b.less(a, b.constant(40)), small, b.mul(b.mul(root, half), root));
}

Value lowerAsinh(ScalarBuilder &b, const AsinhAttrs &, ValueRange in) {
  // log(a + sqrt(a^2 + 1)) with a^2 / (1 + sqrt(a^2 + 1)) in place of sqrt(a^2 + 1) - 1; log(2a) where a^2 overflows.
  Value a = b.abs(in[0]), one = b.constant(1), square = b.mul(a, a);
  Value excess = b.div(square, b.add(one, b.sqrt(b.add(square, one))));
  Value small = log1p(b, b.add(a, excess)), large = b.add(b.log(a), b.constant(M_LN2));
  return withSign(b, b.select(b.less(a, b.constant(1e9)), small, large), in[0]);
}

Value lowerAcosh(ScalarBuilder &b, const AcoshAttrs &, ValueRange in) {
  // log(x + sqrt(x^2 - 1)) with t = x - 1, accurate near 1.
  Value t = b.sub(in[0], b.constant(1));
  Value root = b.sqrt(b.mul(t, b.add(t, b.constant(2))));
  Value large = b.add(b.log(in[0]), b.constant(M_LN2));
  Value result = b.select(b.less(in[0], b.constant(1e9)), log1p(b, b.add(t, root)), large);
  // Below -1 the root of a product of two negative numbers would be a number, but the result is NaN.
  return b.select(b.less(t, b.constant(0)), b.constant(std::numeric_limits<double>::quiet_NaN()), result);
}

Value lowerAtanh(ScalarBuilder &b, const AtanhAttrs &, ValueRange in) {
  Value a = b.abs(in[0]);
  Value ratio = b.div(b.add(a, a), b.sub(b.constant(1), a)); // (1 + a) / (1 - a) - 1
  return withSign(b, b.mul(b.constant(0.5), log1pOfAny(b, ratio)), in[0]);
}

Value lowerSwish(ScalarBuilder &b, const SwishAttrs &attrs, ValueRange in) {
  Value scaled = attrs.alpha == 1 ? in[0] : b.mul(in[0], b.constant(attrs.alpha));
  return b.mul(in[0], b.sigmoid(scaled));
}

Value lowerReciprocal(ScalarBuilder &b, const ReciprocalAttrs &, ValueRange in) { return b.div(b.constant(1), in[0]); }

Value lowerSign(ScalarBuilder &b, const SignAttrs &, ValueRange in) {
  Value zero = b.constant(0);
  Value below = b.isUnsigned() ? in[0] : b.select(b.less(in[0], zero), b.constant(-1), in[0]); // 0 and NaN unchanged
  return b.select(b.less(zero, in[0]), b.constant(1), below);
}

Value lowerSoftplus(ScalarBuilder &b, const SoftplusAttrs &, ValueRange in) { return softplus(b, in[0]); }

Value lowerSoftsign(ScalarBuilder &b, const SoftsignAttrs &, ValueRange in) {
  return b.quotient(in[0], b.add(b.abs(in[0]), b.constant(1)));
}

Value lowerHardSigmoid(ScalarBuilder &b, const HardSigmoidAttrs &attrs, ValueRange in) {
  return unitInterval(b, b.fma(in[0], b.constant(attrs.alpha), b.constant(attrs.beta)));
}

Value lowerHardSwish(ScalarBuilder &b, const HardSwishAttrs &, ValueRange in) {
  return b.mul(in[0], unitInterval(b, b.fma(in[0], b.constant(1.0 / 6), b.constant(0.5))));
}

Value lowerMish(ScalarBuilder &b, const MishAttrs &, ValueRange in) {
  // tanh(log(1 + e)) = e (e + 2) / (e (e + 2) + 2); 1 to the last bit from 20 on, so x is limited before e^2 overflows.
  Value e = b.exp(b.atMost(in[0], 20));
  Value p = b.mul(e, b.add(e, b.constant(2)));
  return b.mul(in[0], b.quotient(p, b.add(p, b.constant(2))));
}

Value lowerGelu(ScalarBuilder &b, const GeluAttrs &attrs, ValueRange in) {
  Value x = in[0];
  if (attrs.approximate == "tanh") {
    Value cube = b.mul(b.mul(x, x), x);
    Value inner = b.mul(b.fma(cube, b.constant(0.044715), x), b.constant(std::sqrt(2 / M_PI)));
    return b.mul(x, b.sigmoid(b.mul(inner, b.constant(2)))); // (1 + tanh(y)) / 2 = sigmoid(2 y)
  }
  Value half = b.mul(x, b.constant(0.5));
  return b.fma(half, b.erfBrief(b.mul(x, b.constant(std::sqrt(0.5)))), half);
}

Value lowerNot(ScalarBuilder &b, const NotAttrs &, ValueRange in) {
  return b.kernel.b.create<mlir::arith::XOrIOp>(b.kernel.loc, in[0], b.constantLike(in[0], 1));
}

Value lowerIsNan(ScalarBuilder &b, const IsNanAttrs &, ValueRange in) {
  return b.kernel.b.create<mlir::arith::CmpFOp>(b.kernel.loc, mlir::arith::CmpFPredicate::UNO, in[0], in[0]);
}

Value lowerIsInf(ScalarBuilder &b, const IsInfAttrs &attrs, ValueRange in) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (!attrs.detect_positive && !attrs.detect_negative)
    return b.less(in[0], in[0]); // never
  if (attrs.detect_positive && attrs.detect_negative)
    return b.equal(b.abs(in[0]), b.constant(infinity));
  return b.equal(in[0], b.constant(attrs.detect_positive ? infinity : -infinity));
}

Value lowerBitwiseNot(ScalarBuilder &b, const BitwiseNotAttrs &, ValueRange in) {
  return b.kernel.b.create<mlir::arith::XOrIOp>(b.kernel.loc, in[0], b.constant(-1));
}

Value lowerClip(ScalarBuilder &b, const ClipAttrs &attrs, ValueRange in) {
  // The lower bound first: if min exceeds max, max wins. A NaN bound gives NaN.
  constexpr double infinity = std::numeric_limits<double>::infinity();
  Value x = in[0];
  if (in.size() > 1 && in[1])
    x = b.max(x, in[1]);
  else if (std::isnan(attrs.min))
    x = b.max(x, b.constant(attrs.min));
  else if (attrs.min > -infinity)
    x = b.atLeast(x, attrs.min);
  if (in.size() > 2 && in[2])
    x = b.min(x, in[2]);
  else if (std::isnan(attrs.max))
    x = b.min(x, b.constant(attrs.max));
  else if (attrs.max < infinity)
    x = b.atMost(x, attrs.max);
  return x;
}

} // namespace lathe
