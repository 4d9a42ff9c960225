// Scalar expression of conversions between element types. Values out of range have defined results (docs/numerics.md),
// equal to those of Tensor::convertedTo, which is the reference.
#include "codegen/builder/Scalar.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <cmath>

namespace lathe {

namespace arith = mlir::arith;
using mlir::Value;
using mlir::ValueRange;

namespace {

class Converter {
public:
  explicit Converter(ScalarBuilder &b) : b(b), k(b.kernel) {}

  Value convert(Value x) {
    ElementType from = b.operandType, to = b.resultType;
    k.computeType(to); // declines types without a compute type
    if (to == ElementType::boolean)
      return from == to ? x : differsFromZero(x, from);
    if (isFloat(from))
      return isFloat(to) ? floatToFloat(x, to) : floatToInteger(x, to);
    bool natural = isUnsignedInteger(from) || from == ElementType::boolean;
    return isFloat(to) ? integerToFloat(x, to, natural) : integerToInteger(x, to, natural);
  }

private:
  ScalarBuilder &b;
  KernelBuilder &k;

  static bool isHalf(ElementType type) { return type == ElementType::f16 || type == ElementType::bf16; }
  static unsigned widthOf(Value x) { return mlir::getElementTypeOrSelf(x.getType()).getIntOrFloatBitWidth(); }

  /// `element` in the shape (scalar or vector) of `x`.
  static mlir::Type shaped(Value x, mlir::Type element) {
    auto vector = llvm::dyn_cast<mlir::VectorType>(x.getType());
    return vector ? mlir::Type(vector.clone(element)) : element;
  }
  template <class Op> Value make(mlir::Type element, Value x) {
    return k.b.create<Op>(k.loc, shaped(x, element), x).getResult();
  }
  Value compare(arith::CmpFPredicate predicate, Value x, Value y) {
    return k.b.create<arith::CmpFOp>(k.loc, predicate, x, y);
  }
  /// An integer constant in the shape of `x`, with `value` in every lane.
  Value integer(Value x, unsigned width, const llvm::APInt &value) {
    mlir::Type type = shaped(x, k.b.getIntegerType(width));
    if (auto vector = llvm::dyn_cast<mlir::VectorType>(type))
      return k.b.create<arith::ConstantOp>(k.loc, mlir::DenseElementsAttr::get(vector, value));
    return k.b.create<arith::ConstantOp>(k.loc, k.b.getIntegerAttr(type, value));
  }

  Value differsFromZero(Value x, ElementType from) {
    if (isFloat(from))
      return compare(arith::CmpFPredicate::UNE, x, k.zero(x.getType()));
    return k.b.create<arith::CmpIOp>(k.loc, arith::CmpIPredicate::ne, x, k.zero(x.getType()));
  }

  Value floatToFloat(Value x, ElementType to) {
    if (isHalf(to))
      return k.rounded(widthOf(x) == 64 ? oddFloat(x) : x, to);
    unsigned width = bitWidth(to);
    if (widthOf(x) < width)
      return make<arith::ExtFOp>(k.computeType(to), x);
    return widthOf(x) > width ? make<arith::TruncFOp>(k.computeType(to), x) : x;
  }

  Value integerToFloat(Value x, ElementType to, bool natural) {
    auto number = [&](mlir::Type element) {
      return natural ? make<arith::UIToFPOp>(element, x) : make<arith::SIToFPOp>(element, x);
    };
    if (!isHalf(to))
      return number(k.computeType(to));
    // A float holds every 16-bit integer; for others the reference rounds a double.
    return k.rounded(widthOf(x) <= 16 ? number(k.b.getF32Type()) : oddFloat(number(k.b.getF64Type())), to);
  }

  /// A double as a float; inexact results are rounded to the neighbour whose last bit is set. Rounding that again, to a
  /// type with at least two bits less, gives the same as rounding the double once (Boldo and Melquiond, "Emulation of
  /// FMA and correctly rounded sums: proved algorithms using rounding to odd", 2008).
  Value oddFloat(Value x) {
    Value nearest = make<arith::TruncFOp>(k.b.getF32Type(), x), back = make<arith::ExtFOp>(k.b.getF64Type(), nearest);
    Value inexact = compare(arith::CmpFPredicate::UNE, back, x);
    Value zero = k.zero(x.getType()), negative = compare(arith::CmpFPredicate::OLT, x, zero);
    Value beyond = k.b.create<arith::SelectOp>(k.loc, negative, compare(arith::CmpFPredicate::OLT, back, x),
                                               compare(arith::CmpFPredicate::OGT, back, x));
    mlir::Type word = k.b.getI32Type();
    Value bits = make<arith::BitcastOp>(word, nearest), one = integer(x, 32, llvm::APInt(32, 1));
    // Subtracts one from the magnitude if the nearest float lies beyond x.
    Value towardsZero =
        k.b.create<arith::SelectOp>(k.loc, beyond, k.b.create<arith::SubIOp>(k.loc, bits, one).getResult(), bits);
    Value odd = k.b.create<arith::OrIOp>(k.loc, towardsZero, one);
    return make<arith::BitcastOp>(k.b.getF32Type(), k.b.create<arith::SelectOp>(k.loc, inexact, odd, bits));
  }

  /// Truncates. Numbers out of range become the nearest integer in range, and NaN becomes 0, because the instruction
  /// leaves both undefined.
  Value floatToInteger(Value x, ElementType to) {
    unsigned width = bitWidth(to), digits = widthOf(x) == 64 ? 53 : 24;
    bool natural = isUnsignedInteger(to);
    unsigned bits = natural ? width : width - 1; // of the greatest value, which is 2^bits - 1
    double beyond = std::ldexp(1.0, static_cast<int>(bits)), lowest = natural ? 0 : -beyond;
    bool exact = bits <= digits;
    Value limited = k.firstUnlessGreater(x, b.constantLike(x, lowest));
    if (exact)
      limited = k.firstUnlessLess(limited, b.constantLike(x, beyond - 1));
    Value nan = compare(arith::CmpFPredicate::UNO, x, x);
    limited = k.b.create<arith::SelectOp>(k.loc, nan, k.zero(x.getType()), limited);
    // Converts through the next signed type that holds every value of the target, if there is one.
    unsigned through = width < 32 ? 32 : to == ElementType::u32 ? 64 : width;
    Value y = to == ElementType::u64 ? make<arith::FPToUIOp>(k.b.getI64Type(), limited)
                                     : make<arith::FPToSIOp>(k.b.getIntegerType(through), limited);
    if (through != width)
      y = make<arith::TruncIOp>(k.b.getIntegerType(width), y);
    if (exact)
      return y;
    Value tooGreat = compare(arith::CmpFPredicate::OGE, x, b.constantLike(x, beyond));
    llvm::APInt greatest = natural ? llvm::APInt::getMaxValue(width) : llvm::APInt::getSignedMaxValue(width);
    return k.b.create<arith::SelectOp>(k.loc, tooGreat, integer(x, width, greatest), y);
  }

  /// Keeps the low bits.
  Value integerToInteger(Value x, ElementType to, bool natural) {
    unsigned width = bitWidth(to);
    mlir::Type element = k.computeType(to);
    if (widthOf(x) > width)
      return make<arith::TruncIOp>(element, x);
    if (widthOf(x) == width)
      return x;
    return natural ? make<arith::ExtUIOp>(element, x) : make<arith::ExtSIOp>(element, x);
  }
};

} // namespace

Value lowerCast(ScalarBuilder &b, const CastAttrs &, ValueRange in) { return Converter(b).convert(in[0]); }

} // namespace lathe
