// The transcendental functions of ScalarBuilder as straight-line code on scalars and vectors: no call, no table, no
// branch.
//
// Largest error in units in the last place, as measured by codegen/builder/MathTest.cpp against libm in float64 (float32) and
// long double (float64), over all magnitudes:
//
//            float32   float64                                     float32   float64
//   exp        1.0       1.0                             tanh        1.2       2.4
//   expm1      1.4       1.8                             sigmoid     2.2       2.1
//   log        0.8       0.8                             erf         0.9       declined
//   sin, cos   0.5       1.6  (|x| <= 2^20; see below)   pow         0.5       declined
//   atan       1.9       1.1
//
// erfBrief: 2.5e-7 absolute, 8 ULP.
//
// Kernels run with denormals flushed: a denormal result may come out as zero and a denormal argument counts as zero.
// With KernelBuilder::relaxedMath some of them are replaced (RelaxedMath.h).
// Infinities and NaN behave as IEEE and C define. sin and cos of |x| > 2^50 (where neighbouring floats are periods
// apart) have the values of 0. Coefficients: dev/minimax.py.
#include "codegen/builder/Arithmetic.h"
#include "codegen/builder/RelaxedMath.h"
#include "codegen/builder/Scalar.h"

namespace lathe {

using mlir::Value;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// The functions in one format.
class Functions : public Arithmetic {
public:
  using Arithmetic::Arithmetic;

  // e^x = 2^n * (1 + p) with x = n ln 2 + r: p of x and n.
  Value reducedExp(Value x, Value n) {
    // ln 2 in two parts: the upper part has enough zero bits for an exact product with n.
    Value r = fma(n, wide ? -6.93147180369123816490e-01 : -0.693359375, x);
    r = fma(n, wide ? -1.90821492927058770002e-10 : 2.12194440e-4, r);
    Value p =
        wide ? polynomial(r, {0.50000000000000111, 0.16666666666666421, 0.041666666666526624, 0.0083333333334884279,
                              0.0013888888944495691, 0.00019841269520295813, 2.4801492240202126e-5,
                              2.7557573528188698e-6, 2.7630546408837876e-7, 2.5004317612745555e-8})
             : polynomial(r, {0.499999940, 0.166665196, 0.0416682363, 0.00836882368, 0.00138235523});
    return fma(mul(r, r), p, r);
  }
  struct Reduced {
    Value n; // integer
    Value p; // e^r - 1
  };
  Reduced reduceExp(Value x) {
    Powers n = powersOfTwoIn(x, log2e, 0);
    return {subI(bits(n.shifted), bits(number(std::ldexp(1.5, mantissa())))), reducedExp(x, n.number)};
  }

  Value exp(Value x) {
    x = wide ? clamp(x, -760, 720) : clamp(x, -110, 95);
    // Two factors, because 2^n overflows before e^x does: computes the sum of both biased exponents and halves it.
    Powers n = powersOfTwoIn(x, log2e, 2 * bias());
    Value p = reducedExp(x, n.number), half = shiftRight(bits(n.shifted), 1);
    Value first = powerOfBits(half), second = powerOfBits(subI(bits(n.shifted), half));
    return mul(fma(p, first, first), second);
  }

  /// Bounds of expBounded's arguments: e^x is finite at the upper one, and denormal (zero) below the lower one.
  double lowestBound() const { return wide ? -709 : -88; }
  double highestBound() const { return wide ? 709 : 88; }
  /// e^x between the bounds. The biased exponent of 2^n is in the low bits of the rounding sum; it is 0, so that 2^n is
  /// zero, at the lower bound.
  Value expBounded(Value x) {
    Powers n = powersOfTwoIn(x, log2e, bias());
    Value p = reducedExp(x, n.number), factor = powerOfBits(bits(n.shifted));
    return fma(p, factor, factor);
  }

  Value expNegative(Value x) { return expBounded(select(less(x, lowestBound()), number(lowestBound()), x)); }

  Value expm1(Value x) {
    Value limited = wide ? clamp(x, -50, 710) : clamp(x, -30, 88.9);
    Reduced e = reduceExp(limited);
    // 2 * (2^(n-1) p + (2^(n-1) - 1/2)): 2^n alone would overflow at the top.
    Value s = powerOfTwo(subI(e.n, integer(1)));
    Value result = mul(fma(s, e.p, add(s, -0.5)), 2);
    // Keeps the sign of zero and the last bit of small arguments.
    return select(less(abs(x), wide ? 1e-17 : 1e-9), x, result);
  }

  /// log of a positive normal number as exponent and log of the mantissa in [sqrt(1/2), sqrt(2)).
  struct Split {
    Value exponent, fraction; // float; fraction = mantissa - 1
  };
  Split split(Value x) {
    int64_t sqrtHalf = wide ? 0x3fe6a09e667f3bcd : 0x3f3504f3;
    Value offset = subI(bits(x), integer(sqrtHalf));
    Value e = shiftRight(offset, mantissa());
    Value m = fromBits(addI(andI(offset, wide ? 0xfffffffffffff : 0x7fffff), integer(sqrtHalf)));
    return {make<arith::SIToFPOp>(type, e), add(m, -1)};
  }

  Value log(Value x) {
    Split s = split(x);
    Value f = s.fraction, result;
    if (wide) {
      // log(1 + f) = f - (f^2/2 - t (f^2/2 + R)), t = f / (2 + f), R = t^2 P(t^2).
      Value t = div(f, add(f, 2)), z = mul(t, t), half = mul(mul(f, f), 0.5);
      Value r =
          mul(z, polynomial(z, {0.66666666666666663, 0.40000000000004937, 0.28571428569404184, 0.22222222608282907,
                                0.18181778234825652, 0.15386994621901567, 0.13252009340498647, 0.13236100668524836}));
      Value low = fma(s.exponent, 1.90821492927058770002e-10, mul(t, add(half, r)));
      result = fma(s.exponent, 6.93147180369123816490e-01, sub(f, sub(half, low)));
    } else {
      Value p = polynomial(f, {0.333333105, -0.249999866, 0.200022236, -0.166692466, 0.142187133, -0.123844817,
                               0.118727364, -0.117888413, 0.0691463128});
      Value square = mul(f, f);
      Value low = fma(mul(square, f), p, mul(s.exponent, -2.12194440e-4));
      result = fma(s.exponent, 0.693359375, add(f, fma(square, -0.5, low)));
    }
    double smallest = wide ? 2.2250738585072014e-308 : 1.1754943508222875e-38;
    result = select(equal(x, infinity), x, result);
    result = select(less(x, smallest), number(-infinity), result);
    Value undefined = make<arith::CmpFOp>(arith::CmpFPredicate::ULT, x, number(0)); // negative or NaN
    return select(undefined, number(std::numeric_limits<double>::quiet_NaN()), result);
  }

  Value tanh(Value x) {
    Value magnitude = abs(x);
    if (wide) {
      Value e = expm1(mul(clamp(magnitude, 0, 25), 2));
      return copySign(div(e, add(e, 2)), x);
    }
    Value z = mul(x, x);
    Value p = polynomial(z, {-0.333333313, 0.133332223, -0.0539484620, 0.0217087492, -0.00819508638, 0.00215763575});
    Value small = fma(mul(z, x), p, x);
    // 1 - 2 / (e^2|x| + 1), where e^2|x| may be inexact in the last bit. 2^(n + r) = 2^n + 2^n (2^r - 1).
    magnitude = select(greater(magnitude, 10), number(10), magnitude);
    Powers n = powersOfTwoIn(magnitude, 2 * log2e, bias());
    Value r = fma(magnitude, 2 * log2e, neg(n.number)), factor = powerOfBits(bits(n.shifted));
    Value q =
        mul(r, polynomial(r, {0.693147182, 0.240226477, 0.0555035956, 0.00961850211, 0.00133909972, 0.000153282439}));
    Value large = sub(number(1), div(number(2), fma(q, factor, add(factor, 1))));
    return copySign(select(less(magnitude, 0.625), small, large), x);
  }

  /// Outside the bounds it is 1 within half an ULP, or denormal.
  Value sigmoid(Value x) { return div(number(1), add(expBounded(clamp(neg(x), lowestBound(), highestBound())), 1)); }

  Value erf(Value x) {
    Value magnitude = abs(x), z = mul(x, x);
    Value near = polynomial(
        z, {0.128379166, -0.376126289, 0.112836204, -0.0268551204, 0.00519005535, -0.000801328511, 7.79917100e-5});
    Value small = fma(x, near, x);
    // 1 - erfc(0.875) 2^(n + r) with n + r = log2(erfc / erfc(0.875)).
    Value t = sub(clamp(magnitude, 0.875, 4), number(0.875));
    Value tail = mul(t, polynomial(t, {-3.50606513, -1.19245899, -0.0676128492, 0.0162844490, -0.00312010129,
                                       0.000403206242, -2.51517667e-5}));
    Powers n = powersOfTwoIn(tail, 1, bias());
    Value p = polynomial(sub(tail, n.number),
                         {0.215924948, 0.149667710, 0.0518698432, 0.0119854826, 0.00208888925, 0.000286322203});
    Value large = copySign(fma(neg(p), powerOfBits(bits(n.shifted)), number(1)), x);
    return select(less(magnitude, 0.875), small, large);
  }

  /// x P(s) with s in [-1, 1], for x limited to the range where erf is below 1 by more than an ULP: no second branch,
  /// no exponential.
  Value erfBrief(Value x) {
    constexpr double limit = 3.85;
    x = clamp(x, -limit, limit);
    Value s = fma(mul(x, x), 2 / (limit * limit), number(-1));
    return mul(x, polynomial(s, {0.367284805, -0.183301687, 0.136211962, -0.110375345, 0.0908147171, -0.0733125061,
                                 0.0564287193, -0.0404039584, 0.0282649696, -0.0202157684, 0.0111780418, -0.00337909488,
                                 0.00256147189, -0.00333098485, 0.00131491967}));
  }

  Value atan(Value x) {
    // Ranges end at tan(pi/8) and tan(3 pi/8): atan a = pi/2 + atan(-1/a), or pi/4 + atan((a - 1)/(a + 1)).
    Value a = abs(x);
    Value top = greater(a, 2.414213562373095), middle = greater(a, 0.4142135623730950);
    Value numerator = select(top, number(-1), select(middle, add(a, -1), a));
    Value denominator = select(top, a, select(middle, add(a, 1), number(1)));
    Value r = div(numerator, denominator), z = mul(r, r);
    Value p =
        wide ? polynomial(z, {-0.33333333333333326, 0.19999999999997176, -0.14285714285332748, 0.11111111085030194,
                              -0.090909080390906033, 0.076922805199049843, -0.066661954422519043, 0.058767293248406419,
                              -0.052165986053129512, 0.044964738537694615, -0.033315099886015380, 0.015038060658302784})
             : polynomial(z, {-0.333333164, 0.199985310, -0.142444640, 0.105997249, -0.0609139055});
    Value base = select(top, number(M_PI / 2), select(middle, number(M_PI / 4), number(0)));
    // The rounding error of base.
    double lost = wide ? 6.123233995736766e-17 : M_PI / 2 - static_cast<double>(static_cast<float>(M_PI / 2));
    Value rest = select(top, number(lost), select(middle, number(lost / 2), number(0)));
    Value result = add(base, add(r, fma(mul(z, r), p, rest)));
    return copySign(result, x);
  }

  /// sin or cos in float64; `terms` limits the polynomial where the result is rounded to float32.
  Value sine(Value x, bool cosine, bool full) {
    Value usable = make<arith::CmpFOp>(arith::CmpFPredicate::OLE, abs(x), number(std::ldexp(1.0, 50)));
    x = select(usable, x, mul(x, 0)); // infinity becomes NaN
    Rounded n = nearest(mul(x, 2 / M_PI));
    // pi/2 in three parts of 53 bits.
    Value r = fma(n.number, -1.5707963267948966, x);
    r = fma(n.number, -6.123233995736766e-17, r);
    r = fma(n.number, 1.4973849048591833e-33, r);
    Value z = mul(r, r);
    Value s = full ? polynomial(z, {-0.16666666666666666, 0.0083333333333330400, -0.00019841269840958860,
                                    2.7557319071439511e-6, -2.5052070123079271e-8, 1.6054195818916677e-10,
                                    -7.3831750654458162e-13})
                   : polynomial(z, {-0.16666666641500591, 0.0083333293719051529, -0.00019839330433807281,
                                    2.7182700244998523e-6});
    Value c = full ? polynomial(z, {0.041666666666666664, -0.0013888888888888378, 2.4801587301164768e-5,
                                    -2.7557319051848158e-7, 2.0876719712514754e-9, -1.1466576694471701e-11,
                                    4.5790482906126860e-14})
                   : polynomial(z, {0.041666666622589422, -0.0013888883733538218, 2.4799514878568638e-5,
                                    -2.7209819978584957e-7});
    s = fma(mul(z, r), s, r);
    c = fma(mul(z, z), c, fma(z, -0.5, number(1)));
    Value quadrant = cosine ? addI(n.integer, integer(1)) : n.integer;
    Value odd = make<arith::CmpIOp>(arith::CmpIPredicate::ne, andI(quadrant, 1), integer(0));
    Value result = select(odd, c, s);
    Value sign = shiftLeft(andI(quadrant, 2), 62);
    result = fromBits(make<arith::XOrIOp>(bits(result), sign));
    return cosine ? result : select(equal(x, 0), x, result); // the sign of zero
  }
};

Functions arithmeticOf(KernelBuilder &kernel, Value x, const char *what, bool narrowOnly = false) {
  mlir::Type element = mlir::getElementTypeOrSelf(x.getType());
  if (!llvm::isa<mlir::FloatType>(element))
    throw Declined{fmt::format("{} of integers", what)};
  if (narrowOnly && element.isF64())
    throw Declined{fmt::format("{} in float64", what)};
  return Functions(kernel, x.getType());
}

/// The shape of `type` with float64 elements.
mlir::Type widened(KernelBuilder &kernel, mlir::Type type) {
  auto vector = llvm::dyn_cast<mlir::VectorType>(type);
  return vector ? mlir::Type(vector.clone(kernel.b.getF64Type())) : kernel.b.getF64Type();
}

Value sineOf(KernelBuilder &kernel, Value x, bool cosine) {
  Functions a = arithmeticOf(kernel, x, cosine ? "cos" : "sin");
  if (a.wide)
    return a.sine(x, cosine, true);
  Functions d(kernel, widened(kernel, x.getType()));
  Value result = d.sine(d.make<arith::ExtFOp>(d.type, x), cosine, false);
  return a.make<arith::TruncFOp>(a.type, result);
}

} // namespace

Value ScalarBuilder::exp(Value x) {
  return relaxed::applies(kernel, x) ? relaxed::exp(kernel, x) : arithmeticOf(kernel, x, "exp").exp(x);
}
Value ScalarBuilder::expNegative(Value x) {
  return relaxed::applies(kernel, x) ? relaxed::expNegative(kernel, x) : arithmeticOf(kernel, x, "exp").expNegative(x);
}
Value ScalarBuilder::expm1(Value x) { return arithmeticOf(kernel, x, "expm1").expm1(x); }
Value ScalarBuilder::log(Value x) { return arithmeticOf(kernel, x, "log").log(x); }
Value ScalarBuilder::tanh(Value x) {
  return relaxed::applies(kernel, x) ? relaxed::tanh(kernel, x) : arithmeticOf(kernel, x, "tanh").tanh(x);
}
Value ScalarBuilder::sigmoid(Value x) {
  return relaxed::applies(kernel, x) ? relaxed::sigmoid(kernel, x) : arithmeticOf(kernel, x, "sigmoid").sigmoid(x);
}
Value ScalarBuilder::erf(Value x) { return arithmeticOf(kernel, x, "erf", true).erf(x); }
Value ScalarBuilder::erfBrief(Value x) {
  return relaxed::applies(kernel, x) ? relaxed::erfBrief(kernel, x) : arithmeticOf(kernel, x, "erf", true).erfBrief(x);
}
Value ScalarBuilder::atan(Value x) { return arithmeticOf(kernel, x, "atan").atan(x); }
Value ScalarBuilder::sin(Value x) { return sineOf(kernel, x, false); }
Value ScalarBuilder::cos(Value x) { return sineOf(kernel, x, true); }

Value ScalarBuilder::pow(Value x, Value y) {
  Functions a = arithmeticOf(kernel, x, "pow", true);
  // |x|^y = e^(y log |x|) in float64, whose exponent range makes every intermediate finite; then the cases of C's pow.
  Functions d(kernel, widened(kernel, x.getType()));
  Value base = d.make<arith::ExtFOp>(d.type, x), power = d.make<arith::ExtFOp>(d.type, y);
  Value exponent = d.mul(d.log(d.abs(base)), power);
  Value result = a.make<arith::TruncFOp>(a.type, d.exp(exponent));
  // A float32 from 2^25 on is an even integer; below, rounding y and y/2 shows integers and odd integers.
  auto isInteger = [&](Value v) {
    Value limited = d.clamp(v, -std::ldexp(1.0, 40), std::ldexp(1.0, 40));
    return d.compare(arith::CmpFPredicate::OEQ, d.nearest(limited).number, limited);
  };
  Value whole = isInteger(power);
  Value even = isInteger(d.mul(power, 0.5));
  Value one = a.number(1);
  // The sign of the base, zero included, survives an odd exponent.
  Value odd = a.logicalAnd(whole, a.make<arith::XOrIOp>(even, kernel.b.create<arith::ConstantOp>(
                                                                  kernel.loc, kernel.b.getOneAttr(even.getType()))));
  result = a.select(odd, a.copySign(result, x), result);
  // A negative finite base needs an integer exponent.
  Value negative = a.logicalAnd(a.less(x, 0), a.greater(x, -infinity));
  Value undefined =
      a.logicalAnd(negative, a.make<arith::XOrIOp>(whole, kernel.b.create<arith::ConstantOp>(
                                                              kernel.loc, kernel.b.getOneAttr(whole.getType()))));
  result = a.select(undefined, a.number(std::numeric_limits<double>::quiet_NaN()), result);
  // 1^y and x^0 are 1 even for NaN; so is (-1)^(+-infinity).
  Value minusOne = a.logicalAnd(a.equal(x, -1), a.equal(a.abs(y), infinity));
  Value isOne = a.logicalOr(a.logicalOr(a.equal(x, 1), a.equal(y, 0)), minusOne);
  return a.select(isOne, one, result);
}

} // namespace lathe
