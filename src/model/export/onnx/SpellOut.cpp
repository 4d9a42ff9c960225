// All values are i64 until the end. ONNX Runtime computes these operators on i64: Add, Sub, Mul, Div, Mod, Sign, Clip,
// Gather, Cast.
#include "export/onnx/SpellOut.h"

#include "export/onnx/Speller.h"

#include "mlir/IR/Iterators.h"

#include <algorithm>
#include <cmath>

namespace lathe::onnx {
namespace {

using Numbers = std::vector<double>;

/// Spells out the operators of fixed-point arithmetic.
class FixedPointSpeller : public Speller {
public:
  using Speller::Speller;

  mlir::Value requantize() {
    auto a = nn::attrsAs<RequantizeAttrs>(op);
    mlir::Value x = cast(op->getOperand(0), ElementType::i64);
    mlir::Value y = a.rounding == "double" ? scaledTwice(x) : scaledOnce(x, a.rounding == "reduced");
    if (a.zero_point)
      y = emit("add", {y, number(static_cast<double>(a.zero_point))}, AddAttrs());
    auto [least, most] = nn::integerLimits(a.to);
    return cast(clip(y, std::max(least, static_cast<double>(a.min)), std::min(most, static_cast<double>(a.max))), a.to);
  }

  mlir::Value lookup() {
    auto a = nn::attrsAs<LookupAttrs>(op);
    Numbers values(a.values.begin(), a.values.end());
    mlir::Value x = op->getOperand(0);
    if (values.size() == 256) {
      mlir::Value index = cast(x, ElementType::i64);
      if (nn::infoOf(x).type == ElementType::i8)
        index = emit("add", {index, number(128)}, AddAttrs());
      return gather(constant(a.to, {256}, values), index);
    }
    mlir::Value whole = cast(x, ElementType::i64), offset = emit("mod", {whole, number(128)}, ModAttrs());
    mlir::Value index =
        emit("add", {divide(emit("sub", {whole, offset}, SubAttrs()), number(128)), number(256)}, AddAttrs());
    mlir::Value table = constant(ElementType::i64, {513}, values);
    mlir::Value from = gather(table, index), to = gather(table, emit("add", {index, number(1)}, AddAttrs()));
    mlir::Value step = multiply(emit("sub", {to, from}, SubAttrs()), offset);
    step = floorDivide(emit("add", {step, number(64)}, AddAttrs()), number(128));
    return cast(emit("add", {from, step}, AddAttrs()), a.to);
  }

  mlir::Value countLeadingZeros() {
    mlir::Value bits = emit("mod", {cast(op->getOperand(0), ElementType::i64), number(std::exp2(32))}, ModAttrs());
    return cast(normalized(bits).zeros, ElementType::i32);
  }

  /// The Newton iterations of ops/quantize/Reference.cpp.
  mlir::Value fixedReciprocal() {
    // ONNX Runtime compares 64-bit numbers in halves, with a signed lower half: limits must not have bit 31 set.
    mlir::Value positive = clip(cast(op->getOperand(0), ElementType::i64), 1, std::exp2(31) - 1);
    mlir::Value half = divide(normalized(positive).bits, number(2));
    mlir::Value y = emit("add", {number(1515870810), highProduct(half, number(-1010580540))}, AddAttrs());
    for (int step = 0; step < 3; ++step) {
      mlir::Value error = emit("sub", {number(std::exp2(29)), highProduct(half, y)}, SubAttrs());
      y = emit("add", {y, multiply(highProduct(y, error), number(4))}, AddAttrs());
    }
    return cast(clip(multiply(y, number(2)), -std::exp2(31), std::exp2(31) - 1), ElementType::i32);
  }

private:
  /// The low 32 bits of x as a signed number.
  mlir::Value low32(mlir::Value x) {
    mlir::Value moved = emit("add", {x, number(std::exp2(31))}, AddAttrs());
    return emit("sub", {emit("mod", {moved, number(std::exp2(32))}, ModAttrs()), number(std::exp2(31))}, SubAttrs());
  }
  mlir::Value highProduct(mlir::Value x, mlir::Value y) {
    return floorDivide(emit("add", {multiply(x, y), number(std::exp2(30))}, AddAttrs()), number(std::exp2(31)));
  }

  /// Applies f to each element of an operand, which is a constant.
  template <class F> mlir::Value mapped(mlir::Value value, const Numbers &numbers, F &&f) {
    Numbers results;
    for (double number : numbers)
      results.push_back(f(number));
    llvm::ArrayRef<int64_t> dims = llvm::cast<mlir::RankedTensorType>(value.getType()).getShape();
    return constant(ElementType::i64, {dims.begin(), dims.end()}, results);
  }

  // ---- Scales of requantize ----
  std::optional<Numbers> shifts() const { return nn::constantNumbers(op->getOperand(2)); }
  bool mayShift(bool left) const {
    auto known = shifts();
    return !known || llvm::any_of(*known, [&](double shift) { return left ? shift > 0 : shift < 0; });
  }
  bool mayBeNegative() const {
    auto known = nn::constantNumbers(op->getOperand(1));
    return !known || llvm::any_of(*known, [](double multiplier) { return multiplier < 0; });
  }

  /// 2^e with e = base + sign * shift >= 0; half of it (0 for e = 0) if `halved`.
  mlir::Value power(double base, double sign, double mostShift, bool halved = false) {
    mlir::Value shift = op->getOperand(2);
    auto value = [&](double e) { return halved && e == 0 ? 0 : std::exp2(e - (halved ? 1 : 0)); };
    if (auto known = shifts())
      return mapped(shift, *known,
                    [&](double s) { return value(std::max(base + sign * std::clamp(s, -31.0, mostShift), 0.0)); });
    constexpr int most = 62;
    Numbers table;
    for (int e = 0; e <= most; ++e)
      table.push_back(value(e));
    mlir::Value e = multiply(clip(cast(shift, ElementType::i64), -31, mostShift), number(sign));
    return gather(constant(ElementType::i64, {most + 1}, table),
                  clip(emit("add", {e, number(base)}, AddAttrs()), 0, most));
  }

  mlir::Value multiplier() {
    mlir::Value value = op->getOperand(1);
    if (auto known = nn::constantNumbers(value))
      return mapped(value, *known, [](double multiplier) { return multiplier; });
    return cast(value, ElementType::i64);
  }

  mlir::Value scaledTwice(mlir::Value x) {
    constexpr double most = 30;
    if (mayShift(true))
      x = low32(multiply(x, power(0, 1, most)));
    x = highProduct(x, multiplier());
    if (mayBeNegative()) // -2^31 times -2^31
      x = low32(x);
    if (!mayShift(false))
      return x;
    mlir::Value half = multiply(emit("sign", {x}, SignAttrs()), power(0, -1, most, true));
    return divide(emit("add", {x, half}, AddAttrs()), power(0, -1, most));
  }

  mlir::Value scaledOnce(mlir::Value x, bool reduced) {
    const double most = reduced ? 14 : 30;
    mlir::Value product = multiply(x, reduced ? reducedMultiplier() : multiplier());
    product = emit("add", {product, power(most, -1, most)}, AddAttrs());
    mlir::Value y = floorDivide(product, power(most + 1, -1, most));
    return reduced || mayShift(true) || mayBeNegative() ? low32(y) : y;
  }

  mlir::Value reducedMultiplier() {
    const double most = std::exp2(15) - 1;
    mlir::Value value = op->getOperand(1);
    if (auto known = nn::constantNumbers(value))
      return mapped(value, *known, [&](double m) { return std::min(std::floor((m + 32768) / 65536), most); });
    mlir::Value rounded = emit("add", {cast(value, ElementType::i64), number(32768)}, AddAttrs());
    return clip(floorDivide(rounded, number(65536)), -std::exp2(31), most);
  }

  // ---- Leading zeros ----
  struct Normalized {
    mlir::Value bits;  // shifted left until bit 31 is set
    mlir::Value zeros; // number of shifted bits; 32 for 0
  };
  /// Normalises an unsigned number of 32 bits.
  Normalized normalized(mlir::Value bits) {
    mlir::Value zeros;
    auto isBelow = [&](double exponent) {
      return cast(emit("less", {bits, number(std::exp2(exponent))}, LessAttrs()), ElementType::i64);
    };
    for (int step : {16, 8, 4, 2, 1}) {
      mlir::Value small = isBelow(32 - step), count = multiply(small, number(step));
      zeros = zeros ? emit("add", {zeros, count}, AddAttrs()) : count;
      mlir::Value factor = emit("add", {multiply(small, number(std::exp2(step) - 1)), number(1)}, AddAttrs());
      bits = multiply(bits, factor);
    }
    return {bits, emit("add", {zeros, isBelow(31)}, AddAttrs())};
  }
};

/// True for an lp_normalize whose norm has a lower bound.
bool isBoundedNorm(mlir::Operation *op) {
  return isOp(op, "lp_normalize") && nn::attrsAs<LpNormalizeAttrs>(op).epsilon != 0;
}

/// Before opset 28, which is not finished, ONNX has Celu only for f32.
bool isCeluWithoutForm(mlir::Operation *op) {
  return isOp(op, "celu") && nn::infoOf(op->getResult(0)).type != ElementType::f32;
}

class CeluSpeller : public Speller {
public:
  using Speller::Speller;

  mlir::Value celu() {
    auto a = nn::attrsAs<CeluAttrs>(op);
    mlir::Value x = op->getOperand(0);
    ElementType type = nn::infoOf(x).type;
    if (type != ElementType::f64)
      return cast(emit("celu", {cast(x, ElementType::f32)}, std::move(a)), type);
    mlir::Value alpha = number(a.alpha, type); // as in ONNX's own function
    return multiply(emit("elu", {divide(x, alpha)}, EluAttrs()), alpha);
  }
};

class NormSpeller : public Speller {
public:
  using Speller::Speller;

  /// x / max(norm, epsilon)
  mlir::Value lpNormalize() {
    auto a = nn::attrsAs<LpNormalizeAttrs>(op);
    mlir::Value x = op->getOperand(0);
    mlir::Value norm =
        a.p == 1 ? reduced(ReduceL1Attrs(), "reduce_l1", a.axis) : reduced(ReduceL2Attrs(), "reduce_l2", a.axis);
    return divide(x, emit("max", {norm, number(a.epsilon, nn::infoOf(x).type)}, MaxAttrs()));
  }

private:
  template <class ReduceAttrs> mlir::Value reduced(ReduceAttrs attrs, llvm::StringRef name, int64_t axis) {
    attrs.axes = {axis};
    return emit(name, {op->getOperand(0), mlir::Value()}, std::move(attrs));
  }
};

mlir::Value spelled(mlir::Operation *op) {
  if (isBoundedNorm(op))
    return NormSpeller(op).lpNormalize();
  if (isCeluWithoutForm(op))
    return CeluSpeller(op).celu();
  FixedPointSpeller speller(op);
  if (isOp(op, "requantize"))
    return speller.requantize();
  if (isOp(op, "lookup"))
    return speller.lookup();
  if (isOp(op, "count_leading_zeros"))
    return speller.countLeadingZeros();
  if (isOp(op, "fixed_reciprocal"))
    return speller.fixedReciprocal();
  return spelledConvolution(op);
}

llvm::SmallVector<mlir::Operation *> toSpell(mlir::ModuleOp module) {
  llvm::SmallVector<mlir::Operation *> ops;
  module.walk([&](mlir::Operation *op) {
    if (nn::recordOf(op) &&
        (isOp(op, "requantize") || isOp(op, "lookup") || isOp(op, "count_leading_zeros") ||
         isOp(op, "fixed_reciprocal") || isConvolutionOfIntegers(op) || isBoundedNorm(op) || isCeluWithoutForm(op)))
      ops.push_back(op);
  });
  return ops;
}

/// Erases casts, zero points and parameters that only spelled-out operators have read.
void eraseUnused(mlir::ModuleOp module) {
  module.walk<mlir::WalkOrder::PostOrder, mlir::ReverseIterator>([](mlir::Operation *op) {
    bool parameter = llvm::isa<nn::ConstantOp>(op) || isOp(op, "cast") || isOp(op, "sub");
    if (parameter && op->use_empty())
      op->erase();
  });
}

} // namespace

mlir::OwningOpRef<mlir::ModuleOp> spelledOut(mlir::ModuleOp module) {
  if (toSpell(module).empty())
    return nullptr;
  mlir::OwningOpRef<mlir::ModuleOp> copy = module.clone();
  for (mlir::Operation *op : toSpell(*copy)) {
    op->getResult(0).replaceAllUsesWith(spelled(op));
    op->erase();
  }
  eraseUnused(*copy);
  return copy;
}

} // namespace lathe::onnx
