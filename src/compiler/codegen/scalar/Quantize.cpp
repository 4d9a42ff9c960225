// Scalar expressions of the integer arithmetic of quantised networks.
//
// Products have 64 bits. For a product, a vector of 32-bit numbers is treated as a vector of 64-bit numbers: its even
// elements are the low halves, its odd elements the high halves, so that no element changes its place (x86: vpmuldq).
#include "codegen/builder/Scalar.h"
#include "codegen/builder/Table.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <algorithm>

namespace lathe {

namespace arith = mlir::arith;
using mlir::Value;
using mlir::ValueRange;

namespace {

class Integers {
public:
  explicit Integers(KernelBuilder &kernel) : k(kernel) {}

  KernelBuilder &k;

  Value splat(Value like, int64_t number) {
    mlir::Type type = like.getType(), element = mlir::getElementTypeOrSelf(type);
    llvm::APInt bits(element.getIntOrFloatBitWidth(), static_cast<uint64_t>(number), /*isSigned=*/true);
    if (auto vector = llvm::dyn_cast<mlir::VectorType>(type))
      return k.b.create<arith::ConstantOp>(k.loc, mlir::DenseElementsAttr::get(vector, bits));
    return k.b.create<arith::ConstantOp>(k.loc, k.b.getIntegerAttr(element, bits));
  }
  template <class Op> Value make(Value x, Value y) { return k.b.create<Op>(k.loc, x, y).getResult(); }
  template <class Op> Value make(Value x, int64_t y) { return make<Op>(x, splat(x, y)); }
  Value less(Value x, Value y) { return k.b.create<arith::CmpIOp>(k.loc, arith::CmpIPredicate::slt, x, y); }

  Value sized(Value x, unsigned width, bool natural = false) {
    mlir::Type element = k.b.getIntegerType(width), type = element;
    if (auto vector = llvm::dyn_cast<mlir::VectorType>(x.getType()))
      type = vector.clone(element);
    unsigned own = mlir::getElementTypeOrSelf(x.getType()).getIntOrFloatBitWidth();
    if (own == width)
      return x;
    if (own > width)
      return k.b.create<arith::TruncIOp>(k.loc, type, x);
    return natural ? k.b.create<arith::ExtUIOp>(k.loc, type, x).getResult()
                   : k.b.create<arith::ExtSIOp>(k.loc, type, x).getResult();
  }

  /// True for a vector with an even number of elements: `Wide` then splits it into even and odd ones.
  static bool pairs(Value x) {
    auto vector = llvm::dyn_cast<mlir::VectorType>(x.getType());
    return vector && vector.getNumElements() % 2 == 0;
  }

  /// 32-bit numbers widened to 64 bits: the even and the odd elements of a vector, otherwise all elements together.
  struct Wide {
    Value even, odd;
  };
  Wide widened(Value x) {
    if (!pairs(x))
      return {sized(x, 64), {}};
    Value both = cast(x, 64);
    return {make<arith::ShRSIOp>(make<arith::ShLIOp>(both, 32), 32), make<arith::ShRSIOp>(both, 32)};
  }
  template <class F> static Wide map(const Wide &x, const Wide &y, F &&f) {
    return {f(x.even, y.even), x.odd ? f(x.odd, y.odd) : Value()};
  }
  template <class Op> Wide map(const Wide &x, const Wide &y) {
    return map(x, y, [&](Value a, Value b) { return make<Op>(a, b); });
  }
  template <class Op> Wide map(const Wide &x, int64_t y) {
    return map(x, x, [&](Value a, Value) { return make<Op>(a, y); });
  }

  /// The 32 bits of each number that begin at bit `from`.
  Value narrowed(const Wide &x, int64_t from) {
    Value even = from ? make<arith::ShRUIOp>(x.even, from) : x.even;
    if (!x.odd)
      return sized(even, 32);
    Value low = cast(even, 32), high = cast(make<arith::ShLIOp>(x.odd, 32 - from), 32);
    llvm::SmallVector<bool> isEven;
    for (int64_t i = 0; i < llvm::cast<mlir::VectorType>(low.getType()).getNumElements(); ++i)
      isEven.push_back(i % 2 == 0);
    auto type = mlir::VectorType::get({static_cast<int64_t>(isEven.size())}, k.b.getI1Type());
    Value mask = k.b.create<arith::ConstantOp>(k.loc, mlir::DenseElementsAttr::get(type, llvm::ArrayRef<bool>(isEven)));
    return k.b.create<arith::SelectOp>(k.loc, mask, low, high);
  }

  /// (x * m + 2^30) >> 31
  Value highProduct(Value x, Value m) {
    return narrowed(map<arith::AddIOp>(map<arith::MulIOp>(widened(x), widened(m)), int64_t(1) << 30), 31);
  }

  /// x / 2^exponent, halves away from zero.
  Value divideByPowerOfTwo(Value x, Value exponent) {
    Value mask = make<arith::SubIOp>(make<arith::ShLIOp>(splat(x, 1), exponent), splat(x, 1));
    Value rest = make<arith::AndIOp>(x, mask);
    Value limit = make<arith::SubIOp>(make<arith::ShRUIOp>(mask, 1), make<arith::ShRSIOp>(x, 31));
    Value up = sized(less(limit, rest), 32); // -1 where the result is the next number
    return make<arith::SubIOp>(make<arith::ShRSIOp>(x, exponent), up);
  }

  Value scaledTwice(Value x, Value m, Value shift) {
    Value zero = splat(shift, 0);
    Value left = make<arith::MaxSIOp>(shift, zero),
          right = make<arith::MaxSIOp>(make<arith::SubIOp>(zero, shift), zero);
    return divideByPowerOfTwo(highProduct(make<arith::ShLIOp>(x, left), m), right);
  }

  Value scaledOnce(Value x, Value m, Value shift) {
    Wide by = widened(make<arith::SubIOp>(splat(shift, 31), shift)),
         product = map<arith::MulIOp>(widened(x), widened(m));
    auto shifted = [&](Value p, Value amount) {
      Value half = make<arith::ShLIOp>(splat(p, 1), make<arith::SubIOp>(amount, splat(p, 1)));
      return make<arith::ShRSIOp>(make<arith::AddIOp>(p, half), amount);
    };
    return narrowed(map(product, by, shifted), 0);
  }

  /// x has 64 bits.
  Value scaledByHalf(Value x, Value m, Value shift) {
    Value wide = sized(m, 64), by = make<arith::SubIOp>(splat(x, 15), sized(shift, 64));
    Value half = make<arith::ShLIOp>(splat(x, 1), make<arith::SubIOp>(by, splat(x, 1)));
    Value reduced = make<arith::ShRSIOp>(make<arith::AddIOp>(wide, int64_t(1) << 15), 16);
    Value product = make<arith::MulIOp>(x, make<arith::MinSIOp>(reduced, (1 << 15) - 1));
    return sized(make<arith::ShRSIOp>(make<arith::AddIOp>(product, half), by), 32);
  }

  Value leadingZeros(Value x) {
    return k.b.create<mlir::LLVM::CountLeadingZerosOp>(k.loc, x.getType(), x, k.b.getBoolAttr(false));
  }

private:
  /// Reinterprets the bytes of `x` as integers of `width` bits.
  Value cast(Value x, int64_t width) {
    auto type = llvm::cast<mlir::VectorType>(x.getType());
    int64_t bits = type.getNumElements() * type.getElementTypeBitWidth();
    auto result = KernelBuilder::vectorOf(k.b.getIntegerType(static_cast<unsigned>(width)), bits / width);
    return k.b.create<mlir::vector::BitCastOp>(k.loc, result, x);
  }
};

} // namespace

Value lowerRequantize(ScalarBuilder &b, const RequantizeAttrs &attrs, ValueRange in) {
  Integers n(b.kernel);
  Value y = attrs.rounding == "double"   ? n.scaledTwice(in[0], in[1], in[2])
            : attrs.rounding == "single" ? n.scaledOnce(in[0], in[1], in[2])
                                         : n.scaledByHalf(in[0], in[1], in[2]);
  unsigned width = bitWidth(attrs.to);
  bool natural = attrs.to == ElementType::u8;
  int64_t half = int64_t(1) << (width - 1), least = natural ? 0 : -half, most = natural ? 2 * half - 1 : half - 1;
  // The limits apply before the zero point is added, so the sum cannot overflow.
  if (width < 32 || attrs.min > least)
    y = n.make<arith::MaxSIOp>(y, std::max(attrs.min, least) - attrs.zero_point);
  if (width < 32 || attrs.max < most)
    y = n.make<arith::MinSIOp>(y, std::min(attrs.max, most) - attrs.zero_point);
  if (attrs.zero_point)
    y = n.make<arith::AddIOp>(y, attrs.zero_point);
  return n.sized(y, width);
}

Value lowerLookup(ScalarBuilder &b, const LookupAttrs &attrs, ValueRange in) {
  Integers n(b.kernel);
  unsigned width = bitWidth(attrs.to);
  if (attrs.values.size() == 256) {
    // The table is indexed by the bits of x; i8 begins with 0 ... 127.
    std::vector<int64_t> values = attrs.values;
    if (b.operandType == ElementType::i8)
      std::rotate(values.begin(), values.begin() + 128, values.end());
    return byteTableEntry(b.kernel, values, width, in[0]);
  }
  Value table = constantTable(b.kernel, integerTable(b.kernel, attrs.values, width)), x = n.sized(in[0], 32);
  Value index = n.make<arith::AddIOp>(n.make<arith::ShRSIOp>(x, 7), 256), offset = n.make<arith::AndIOp>(x, 127);
  auto entry = [&](Value at) { return n.sized(tableEntry(b.kernel, table, at, b.kernel.b.getIntegerType(width)), 32); };
  Value base = entry(index), slope = n.make<arith::SubIOp>(entry(n.make<arith::AddIOp>(index, 1)), base);
  Value change = n.make<arith::ShRSIOp>(n.make<arith::AddIOp>(n.make<arith::MulIOp>(slope, offset), 64), 7);
  return n.sized(n.make<arith::AddIOp>(base, change), width);
}

Value lowerCountLeadingZeros(ScalarBuilder &b, const CountLeadingZerosAttrs &, ValueRange in) {
  return Integers(b.kernel).leadingZeros(in[0]);
}

Value lowerFixedReciprocal(ScalarBuilder &b, const FixedReciprocalAttrs &, ValueRange in) {
  Integers n(b.kernel);
  Value positive = n.make<arith::MaxSIOp>(in[0], 1);
  Value shifted = n.make<arith::ShLIOp>(positive, n.leadingZeros(positive)); // 2^31 * (1 + f), unsigned
  Value half = n.make<arith::ShRUIOp>(shifted, 1);
  // The number 2 / (1 + f) with 29 fractional bits by Newton's method, from 48/17 - 32/17 * (1 + f) / 2.
  Value y = n.make<arith::AddIOp>(n.highProduct(half, n.splat(half, -1010580540)), 1515870810);
  for (int step = 0; step < 3; ++step) {
    Value error = n.make<arith::SubIOp>(n.splat(y, 1 << 29), n.highProduct(half, y));
    y = n.make<arith::AddIOp>(y, n.make<arith::ShLIOp>(n.highProduct(y, error), 2));
  }
  // Twice y, saturated.
  Value greatest = n.splat(y, INT32_MAX), tooGreat = n.less(n.splat(y, (1 << 30) - 1), y);
  return b.select(tooGreat, greatest, n.make<arith::ShLIOp>(y, 1));
}

} // namespace lathe
