// Coefficients: dev/minimax.py.
#include "codegen/builder/RelaxedMath.h"

#include "codegen/builder/Arithmetic.h"

namespace lathe::relaxed {
namespace {

using mlir::Value;

class Relaxed : public Arithmetic {
public:
  Relaxed(KernelBuilder &kernel, Value x) : Arithmetic(kernel, x.getType()) {
    if (auto vector = llvm::dyn_cast<mlir::VectorType>(type))
      lanes = vector.getNumElements();
  }

  /// 2^(x * factor). `negative`: x * factor is at most 0.
  Value exp2(Value x, double factor, bool negative = false) {
    if (hasAvx512() && kernel.target.has("avx512dq")) {
      // 2^(floor(t)) 2^(t - floor(t)) by two instructions, which treat overflow, underflow and infinities.
      Value t = mul(x, factor);
      Value rest = avx512("mask.reduce", {t, constant(32, roundDown)}, t);
      Value p = polynomial(rest, {0.999925315, 0.695831716, 0.226072341, 0.0780209154});
      return avx512("mask.scalef", {p, t}, t);
    }
    // The exponent field holds 2^(n-1), which is finite for n = 128 and zero for n = -126. The coefficients of the
    // polynomial are twice as large to make up for it.
    double low = -126 / factor, high = negative ? 0 : 128.4 / factor;
    if (factor < 0)
      std::swap(low, high);
    if (!negative || factor < 0)
      x = select(greater(x, high), number(high), x);
    if (!negative || factor > 0)
      x = select(less(x, low), number(low), x);
    Powers n = powersOfTwoIn(x, factor, bias() - 1);
    Value p = polynomial(fma(x, factor, neg(n.number)), {1.99985611, 1.38652301, 0.485223492, 0.110338412});
    return mul(p, powerOfBits(bits(n.shifted)));
  }

  Value reciprocal(Value x) {
    if (hasAvx512())
      return avx512("rcp14", {x}, x);
    Value estimate = estimateOf("rcp", x);
    if (!estimate)
      return div(number(1), x);
    // One step of Newton's method without denormal intermediates. It gives NaN for zero and infinity.
    Value step = mul(estimate, fma(neg(x), estimate, number(2)));
    return select(compare(arith::CmpFPredicate::UNO, step, step), estimate, step);
  }

  Value reciprocalSqrt(Value x) {
    if (hasAvx512())
      return avx512("rsqrt14", {x}, x);
    Value estimate = estimateOf("rsqrt", x);
    if (!estimate)
      return div(number(1), make<mlir::math::SqrtOp>(x));
    Value error = fma(neg(mul(x, estimate)), estimate, number(1));
    Value step = fma(mul(estimate, 0.5), error, estimate);
    return select(compare(arith::CmpFPredicate::UNO, step, step), estimate, step);
  }

  Value sigmoid(Value x) { return reciprocal(add(exp2(x, -log2e), 1)); }

  Value tanh(Value x) {
    Value magnitude = abs(x), z = mul(x, x);
    Value small = fma(mul(z, x), polynomial(z, {-0.333160251, 0.130525112, -0.0405924618}), x);
    Value large = fma(reciprocal(add(exp2(magnitude, 2 * log2e), 1)), -2, number(1));
    return copySign(select(less(magnitude, 0.625), small, large), x);
  }

  /// x P(s) with s in [-1, 1] for x limited to where erf becomes 1.
  Value erfBrief(Value x) {
    constexpr double limit = 2.9;
    x = clamp(x, -limit, limit);
    Value s = fma(mul(x, x), 2 / (limit * limit), number(-1));
    return mul(x, polynomial(s, {0.485809565, -0.234611541, 0.159259275, -0.106233768, 0.0617673248, -0.0394045748,
                                 0.0296664312, -0.0114251720}));
  }

private:
  int64_t lanes = 1;                      // 1: a scalar
  static constexpr int64_t roundDown = 9; // no bits of the fraction are kept, exceptions are suppressed

  bool hasAvx512() const {
    return (lanes == 16 && kernel.target.has("avx512f")) ||
           (lanes == 8 && kernel.target.has("avx512f") && kernel.target.has("avx512vl"));
  }
  Value constant(unsigned width, int64_t value) {
    mlir::Type integer = kernel.b.getIntegerType(width);
    return make<mlir::LLVM::ConstantOp>(integer, kernel.b.getIntegerAttr(integer, value));
  }
  Value call(const std::string &intrinsic, mlir::ValueRange operands) {
    auto made =
        kernel.b.create<mlir::LLVM::CallIntrinsicOp>(kernel.loc, type, kernel.b.getStringAttr(intrinsic), operands);
    return made.getResult(0);
  }
  /// An instruction of AVX-512 on all lanes. `unused`: operand for lanes that a mask excludes.
  Value avx512(const char *name, llvm::SmallVector<Value> operands, Value unused) {
    operands.append({unused, constant(lanes == 16 ? 16 : 8, -1)});
    if (lanes == 16 && std::string_view(name).starts_with("mask"))
      operands.push_back(constant(32, 4)); // rounding and exceptions as set
    return call(fmt::format("llvm.x86.avx512.{}.ps.{}", name, lanes * 32), operands);
  }
  /// An estimate with a relative error of 1.5 x 2^-12; null on targets without the instruction.
  Value estimateOf(const std::string &name, Value x) {
    if (lanes == 8 && kernel.target.has("avx"))
      return call(fmt::format("llvm.x86.avx.{}.ps.256", name), {x});
    if (lanes == 4 && kernel.target.has("sse4.2"))
      return call(fmt::format("llvm.x86.sse.{}.ps", name), {x});
    return {};
  }
};

} // namespace

bool applies(KernelBuilder &kernel, Value x) {
  return kernel.relaxedMath && mlir::getElementTypeOrSelf(x.getType()).isF32();
}

Value exp(KernelBuilder &kernel, Value x) { return Relaxed(kernel, x).exp2(x, Arithmetic::log2e); }
Value expNegative(KernelBuilder &kernel, Value x) { return Relaxed(kernel, x).exp2(x, Arithmetic::log2e, true); }
Value sigmoid(KernelBuilder &kernel, Value x) { return Relaxed(kernel, x).sigmoid(x); }
Value tanh(KernelBuilder &kernel, Value x) { return Relaxed(kernel, x).tanh(x); }
Value erfBrief(KernelBuilder &kernel, Value x) { return Relaxed(kernel, x).erfBrief(x); }
Value reciprocal(KernelBuilder &kernel, Value x) { return Relaxed(kernel, x).reciprocal(x); }
Value reciprocalSqrt(KernelBuilder &kernel, Value x) { return Relaxed(kernel, x).reciprocalSqrt(x); }

} // namespace lathe::relaxed
