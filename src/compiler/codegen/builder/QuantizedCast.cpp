#include "codegen/builder/QuantizedCast.h"

#include "ir/Bridge.h"
#include "ops/Attrs.h"
#include "ops/Registry.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>
#include <cstring>

namespace lathe {
namespace {

namespace arith = mlir::arith;
using mlir::Value;

/// round(x) + zero, limited.
struct Quantization {
  Value x;
  int64_t zero, least, most;
};

constexpr double greatest = 1024; // of the integers below: far from where f32 rounds

std::optional<int64_t> integerOf(double number) {
  if (!(std::abs(number) <= greatest) || number != std::trunc(number))
    return std::nullopt;
  return static_cast<int64_t>(number);
}

/// The integer in a constant of one f32.
std::optional<int64_t> integerConstant(Value value) {
  auto constant = value.getDefiningOp<nn::ConstantOp>();
  if (!constant)
    return std::nullopt;
  nn::ConstantData data = nn::constantData(constant.getValue());
  float number;
  if (data.type != ElementType::f32 || data.bytes.size() != sizeof number)
    return std::nullopt;
  std::memcpy(&number, data.bytes.data(), sizeof number);
  return integerOf(number);
}

/// The quantisation whose result is `bytes`; empty if there is none.
std::optional<Quantization> quantizationOf(Value bytes) {
  mlir::Operation *cast = bytes.getDefiningOp();
  if (!isOp(cast, "cast") || !isByte(nn::infoOf(bytes).type))
    return std::nullopt;
  mlir::Operation *clip = cast->getOperand(0).getDefiningOp();
  if (!isOp(clip, "clip") || clip->getNumOperands() != 1 || nn::infoOf(clip->getOperand(0)).type != ElementType::f32)
    return std::nullopt;
  auto limits = nn::attrsAs<ClipAttrs>(clip);
  std::optional<int64_t> least = integerOf(limits.min), most = integerOf(limits.max), zero = 0;
  int64_t lowest = nn::infoOf(bytes).type == ElementType::u8 ? 0 : -128;
  if (!least || !most || *least > *most || *least < lowest || *most > lowest + 255)
    return std::nullopt;
  mlir::Operation *round = clip->getOperand(0).getDefiningOp();
  if (isOp(round, "add")) {
    zero = integerConstant(round->getOperand(1));
    round = round->getOperand(0).getDefiningOp();
  }
  if (!zero || !isOp(round, "round"))
    return std::nullopt;
  return Quantization{round->getOperand(0), *zero, *least, *most};
}

class Converter {
public:
  Converter(KernelBuilder &k, const Quantization &to, Value x)
      : k(k), to(to), x(x), type(llvm::cast<mlir::VectorType>(x.getType())), lanes(type.getNumElements()) {}

  static bool applies(const KernelBuilder &k, Value x) {
    auto vector = llvm::dyn_cast<mlir::VectorType>(x.getType());
    if (!vector || !vector.getElementType().isF32() || !k.target.has("sse4.2"))
      return false;
    int64_t lanes = vector.getNumElements();
    return lanes == 4 || (lanes == 8 && k.target.has("avx")) || (lanes == 16 && k.target.has("avx512f"));
  }

  Value bytes() { return k.b.create<arith::TruncIOp>(k.loc, type.clone(k.b.getIntegerType(8)), integers(to.zero)); }

  /// The bytes minus `number` as floats.
  Value floats(int64_t number) {
    if (to.zero == 0 && number == 0 && to.least == 0) { // otherwise -0 could come out, which no byte less a number is
      Value rounded = k.b.create<mlir::math::RoundEvenOp>(k.loc, x);
      Value above = k.firstUnlessGreater(k.constantF(0, type), rounded); // 0 where x is NaN
      return k.firstUnlessLess(above, k.constantF(double(to.most), type));
    }
    return k.b.create<arith::SIToFPOp>(k.loc, type, integers(to.zero - number));
  }

private:
  KernelBuilder &k;
  const Quantization &to;
  Value x;
  mlir::VectorType type;
  int64_t lanes;

  Value splat(int64_t number) {
    auto wide = type.clone(k.b.getI32Type());
    llvm::APInt bits(32, static_cast<uint64_t>(number), /*isSigned=*/true);
    return k.b.create<arith::ConstantOp>(k.loc, mlir::DenseElementsAttr::get(wide, bits));
  }

  /// round(x) limited as the bytes are, minus the zero point, plus `offset`; NaN gives byte 0. The conversion gives the
  /// least integer for NaN and for x below -2^31.
  Value integers(int64_t offset) {
    Value limited = k.firstUnlessLess(x, k.constantF(double(to.most - to.zero), type));
    Value y = k.b.create<arith::MaxSIOp>(k.loc, converted(limited), splat(to.least - to.zero));
    if (offset)
      y = k.b.create<arith::AddIOp>(k.loc, y, splat(offset));
    if (to.least == 0)
      return y;
    Value nan = k.b.create<arith::CmpFOp>(k.loc, arith::CmpFPredicate::UNO, x, x);
    return k.b.create<arith::SelectOp>(k.loc, nan, splat(offset - to.zero), y);
  }

  Value converted(Value value) {
    auto result = type.clone(k.b.getI32Type());
    auto call = [&](const char *name, mlir::ValueRange operands) {
      return k.b.create<mlir::LLVM::CallIntrinsicOp>(k.loc, result, k.b.getStringAttr(name), operands).getResult(0);
    };
    if (lanes == 4)
      return call("llvm.x86.sse2.cvtps2dq", value);
    if (lanes == 8)
      return call("llvm.x86.avx.cvt.ps2dq.256", value);
    auto number = [&](unsigned bits, int64_t immediate) -> Value {
      mlir::Type integer = k.b.getIntegerType(bits);
      return k.b.create<mlir::LLVM::ConstantOp>(k.loc, integer, k.b.getIntegerAttr(integer, immediate));
    };
    constexpr int64_t toNearest = 8; // halves to even, whatever the current direction
    return call("llvm.x86.avx512.mask.cvtps2dq.512", {value, k.zero(result), number(16, -1), number(32, toNearest)});
  }
};

} // namespace

Value quantizedCast(KernelBuilder &k, mlir::Operation *op, llvm::function_ref<Value(Value)> evaluate) {
  Value result = op->getResult(0);
  Value x;
  auto applies = [&](const std::optional<Quantization> &to) {
    if (to)
      x = evaluate(to->x);
    return to && Converter::applies(k, x);
  };
  if (isOp(op, "cast") && isByte(nn::infoOf(result).type)) {
    std::optional<Quantization> to = quantizationOf(result);
    return applies(to) ? Converter(k, *to, x).bytes() : Value();
  }
  // Floats of bytes: results of a cast, or of a subtraction after a cast.
  bool less = isOp(op, "sub");
  mlir::Operation *cast = less ? op->getOperand(0).getDefiningOp() : op;
  std::optional<int64_t> number = less ? integerConstant(op->getOperand(1)) : 0;
  if (!number || !isOp(cast, "cast") || nn::infoOf(cast->getResult(0)).type != ElementType::f32)
    return {};
  std::optional<Quantization> to = quantizationOf(cast->getOperand(0));
  return applies(to) ? Converter(k, *to, x).floats(*number) : Value();
}

} // namespace lathe
