// Emits float arithmetic; the functions in Math.cpp and RelaxedMath.cpp are written with it.
#pragma once

#include "codegen/builder/KernelBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/TypeUtilities.h"

#include <cmath>
#include <limits>

namespace lathe {

namespace arith = mlir::arith;

/// Emits float arithmetic in one format (float32 or float64), on values of one shape (scalar or vector).
class Arithmetic {
public:
  using Value = mlir::Value;
  Arithmetic(KernelBuilder &kernel, mlir::Type type)
      : kernel(kernel), type(type), wide(mlir::getElementTypeOrSelf(type).isF64()) {
    mlir::Type integer = kernel.b.getIntegerType(wide ? 64 : 32);
    auto vector = llvm::dyn_cast<mlir::VectorType>(type);
    integerType = vector ? mlir::Type(vector.clone(integer)) : integer;
  }

  KernelBuilder &kernel;
  mlir::Type type, integerType;
  const bool wide; // true for float64, false for float32
  int mantissa() const { return wide ? 52 : 23; }
  int bias() const { return wide ? 1023 : 127; }

  Value number(double value) { return kernel.constantF(value, type); }
  Value integer(int64_t value) {
    auto element = mlir::getElementTypeOrSelf(integerType);
    auto attr = kernel.b.getIntegerAttr(element, llvm::APInt(wide ? 64 : 32, static_cast<uint64_t>(value), true));
    if (auto vector = llvm::dyn_cast<mlir::VectorType>(integerType))
      return make<arith::ConstantOp>(mlir::DenseElementsAttr::get(vector, attr.getValue()));
    return make<arith::ConstantOp>(attr);
  }
  template <class Op, class... Args> Value make(Args &&...args) {
    return kernel.b.create<Op>(kernel.loc, std::forward<Args>(args)...);
  }

  Value add(Value x, Value y) { return make<arith::AddFOp>(x, y); }
  Value add(Value x, double y) { return add(x, number(y)); }
  Value sub(Value x, Value y) { return make<arith::SubFOp>(x, y); }
  Value mul(Value x, Value y) { return make<arith::MulFOp>(x, y); }
  Value mul(Value x, double y) { return mul(x, number(y)); }
  Value div(Value x, Value y) { return make<arith::DivFOp>(x, y); }
  Value neg(Value x) { return make<arith::NegFOp>(x); }
  Value abs(Value x) { return make<mlir::math::AbsFOp>(x); }
  Value fma(Value x, Value y, Value z) { return kernel.fma(x, y, z); }
  Value fma(Value x, double y, Value z) { return fma(x, number(y), z); }
  Value select(Value c, Value x, Value y) { return make<arith::SelectOp>(c, x, y); }
  Value compare(arith::CmpFPredicate p, Value x, Value y) { return make<arith::CmpFOp>(p, x, y); }
  Value less(Value x, double y) { return compare(arith::CmpFPredicate::OLT, x, number(y)); }
  Value greater(Value x, double y) { return compare(arith::CmpFPredicate::OGT, x, number(y)); }
  Value equal(Value x, double y) { return compare(arith::CmpFPredicate::OEQ, x, number(y)); }
  Value logicalAnd(Value x, Value y) { return make<arith::AndIOp>(x, y); }
  Value logicalOr(Value x, Value y) { return make<arith::OrIOp>(x, y); }
  /// x limited to [lo, hi]; NaN stays NaN.
  Value clamp(Value x, double lo, double hi) {
    x = select(greater(x, hi), number(hi), x);
    return select(less(x, lo), number(lo), x);
  }

  Value bits(Value x) { return make<arith::BitcastOp>(integerType, x); }
  Value fromBits(Value x) { return make<arith::BitcastOp>(type, x); }
  Value addI(Value x, Value y) { return make<arith::AddIOp>(x, y); }
  Value subI(Value x, Value y) { return make<arith::SubIOp>(x, y); }
  Value andI(Value x, int64_t y) { return make<arith::AndIOp>(x, integer(y)); }
  Value shiftLeft(Value x, int64_t y) { return make<arith::ShLIOp>(x, integer(y)); }
  // arithmetic shift, which keeps the sign
  Value shiftRight(Value x, int64_t y) { return make<arith::ShRSIOp>(x, integer(y)); }
  /// A value with the magnitude of x and the sign of y.
  Value copySign(Value x, Value y) { return make<mlir::math::CopySignOp>(x, y); }
  /// 2^n for an integer (or vector of integers) n within the normal range of exponents.
  Value powerOfTwo(Value n) { return fromBits(shiftLeft(addI(n, integer(bias())), mantissa())); }

  /// x rounded to an integer, both as float and as integer. |x| must be below 2^(mantissa - 2).
  struct Rounded {
    Value number, integer;
  };
  Rounded nearest(Value x) {
    // Adding 1.5 * 2^mantissa leaves the integer in the low bits. A conversion is avoided, because its result for NaN
    // would be poison.
    double magic = std::ldexp(1.5, mantissa());
    Value shifted = add(x, magic);
    return {sub(shifted, number(magic)), subI(bits(shifted), bits(number(magic)))};
  }
  /// Rounds x * factor to an integer as `nearest` does. `number` is the result; the low bits of `shifted` hold the
  /// result plus `offset`.
  struct Powers {
    Value number, shifted;
  };
  Powers powersOfTwoIn(Value x, double factor, int64_t offset) {
    double magic = std::ldexp(1.5, mantissa()) + static_cast<double>(offset);
    Value shifted = factor == 1 ? add(x, magic) : fma(x, factor, number(magic));
    return {sub(shifted, number(magic)), shifted};
  }
  static constexpr double log2e = 1.4426950408889634074;
  /// Returns 2^n, where the low bits of `integer` hold n + bias(); they become the exponent of the float.
  Value powerOfBits(Value integer) { return fromBits(shiftLeft(integer, mantissa())); }

  /// Returns the polynomial c0 + c1 x + c2 x^2 ..., computed by Horner's rule.
  Value polynomial(Value x, std::initializer_list<double> coefficients) {
    auto at = std::rbegin(coefficients);
    Value result = number(*at);
    for (++at; at != std::rend(coefficients); ++at)
      result = fma(result, x, number(*at));
    return result;
  }
};

} // namespace lathe
