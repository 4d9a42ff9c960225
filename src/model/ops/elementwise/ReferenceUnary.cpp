#include "ops/ReferenceSupport.h"

#include <limits>

namespace lathe {
namespace {

/// to[i] = f(from[i]).
template <class T, class R, class F> void map(const ReferenceCall &call, const Tensor &x, Tensor &y, F &&f) {
  const T *from = x.as<T>();
  R *to = y.as<R>();
  call.parallelFor(x.elements(), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      to[i] = static_cast<R>(f(from[i]));
  });
}

template <class F> void floats(ReferenceCall &call, F &&f) {
  forFloat(call.in(0).type(), [&]<class T>(T) { map<T, T>(call, call.in(0), call.out(0), f); });
}

template <class F> void numbers(ReferenceCall &call, F &&f) {
  forNumber(call.in(0).type(), [&]<class T>(T) { map<T, T>(call, call.in(0), call.out(0), f); });
}

/// log(1 + exp(x)) without overflow.
template <class T> T softplus(T x) { return std::max(x, T(0)) + std::log1p(std::exp(-std::abs(x))); }

} // namespace

void runRelu(const ReluAttrs &, ReferenceCall &call) {
  numbers(call, []<class T>(T x) { return x > 0 || isNan(x) ? x : T(0); });
}
void runLeakyRelu(const LeakyReluAttrs &a, ReferenceCall &call) {
  floats(call, [&]<class T>(T x) { return x < 0 ? T(a.alpha) * x : x; });
}
void runElu(const EluAttrs &a, ReferenceCall &call) {
  floats(call, [&]<class T>(T x) { return x < 0 ? T(a.alpha) * std::expm1(x) : x; });
}
void runSelu(const SeluAttrs &a, ReferenceCall &call) {
  floats(call, [&]<class T>(T x) { return x > 0 ? T(a.gamma) * x : T(a.gamma) * T(a.alpha) * std::expm1(x); });
}
void runCelu(const CeluAttrs &a, ReferenceCall &call) {
  floats(call, [&]<class T>(T x) { return x < 0 ? T(a.alpha) * std::expm1(x / T(a.alpha)) : x; });
}
void runThresholdedRelu(const ThresholdedReluAttrs &a, ReferenceCall &call) {
  floats(call, [&]<class T>(T x) { return x > T(a.alpha) || isNan(x) ? x : T(0); });
}
void runSigmoid(const SigmoidAttrs &, ReferenceCall &call) {
  floats(call, []<class T>(T x) { return 1 / (1 + std::exp(-x)); });
}
void runTanh(const TanhAttrs &, ReferenceCall &call) {
  floats(call, []<class T>(T x) { return std::tanh(x); });
}
void runExp(const ExpAttrs &, ReferenceCall &call) {
  floats(call, []<class T>(T x) { return std::exp(x); });
}
void runLog(const LogAttrs &, ReferenceCall &call) {
  floats(call, []<class T>(T x) { return std::log(x); });
}
void runSqrt(const SqrtAttrs &, ReferenceCall &call) {
  floats(call, []<class T>(T x) { return std::sqrt(x); });
}
void runNeg(const NegAttrs &, ReferenceCall &call) {
  numbers(call, []<class T>(T x) {
    if constexpr (std::is_floating_point_v<T>)
      return -x;
    else
      return wrapSub(T(0), x);
  });
}
void runAbs(const AbsAttrs &, ReferenceCall &call) {
  numbers(call, []<class T>(T x) {
    if constexpr (std::is_floating_point_v<T>)
      return std::abs(x);
    else
      return x < 0 ? wrapSub(T(0), x) : x;
  });
}
void runFloor(const FloorAttrs &, ReferenceCall &call) {
  floats(call, []<class T>(T x) { return std::floor(x); });
}
void runCeil(const CeilAttrs &, ReferenceCall &call) {
  floats(call, []<class T>(T x) { return std::ceil(x); });
}
void runRound(const RoundAttrs &, ReferenceCall &call) {
  floats(call, []<class T>(T x) { return std::nearbyint(x); }); // default rounding mode: halves to even
}
void runErf(const ErfAttrs &, ReferenceCall &call) {
  floats(call, []<class T>(T x) { return std::erf(x); });
}
void runReciprocal(const ReciprocalAttrs &, ReferenceCall &call) {
  floats(call, []<class T>(T x) { return 1 / x; });
}
void runSign(const SignAttrs &, ReferenceCall &call) {
  numbers(call, []<class T>(T x) { return isNan(x) ? x : T((x > 0) - (x < 0)); });
}
void runSoftplus(const SoftplusAttrs &, ReferenceCall &call) {
  floats(call, []<class T>(T x) { return isNan(x) ? x : softplus(x); });
}
void runSoftsign(const SoftsignAttrs &, ReferenceCall &call) {
  floats(call, []<class T>(T x) { return x / (1 + std::abs(x)); });
}
void runHardSigmoid(const HardSigmoidAttrs &a, ReferenceCall &call) {
  floats(call, [&]<class T>(T x) {
    T y = T(a.alpha) * x + T(a.beta);
    return y < 0 ? T(0) : y > 1 ? T(1) : y;
  });
}
void runHardSwish(const HardSwishAttrs &, ReferenceCall &call) {
  floats(call, []<class T>(T x) {
    T y = x / 6 + T(0.5);
    return x * (y < 0 ? T(0) : y > 1 ? T(1) : y);
  });
}
void runMish(const MishAttrs &, ReferenceCall &call) {
  floats(call, []<class T>(T x) { return isNan(x) ? x : x * std::tanh(softplus(x)); });
}
void runShrink(const ShrinkAttrs &a, ReferenceCall &call) {
  floats(call, [&]<class T>(T x) {
    return x < -T(a.lambd) ? x + T(a.bias) : x > T(a.lambd) ? x - T(a.bias) : isNan(x) ? x : T(0);
  });
}
void runSin(const SinAttrs &, ReferenceCall &call) {
  floats(call, []<class T>(T x) { return std::sin(x); });
}
void runCos(const CosAttrs &, ReferenceCall &call) {
  floats(call, []<class T>(T x) { return std::cos(x); });
}
void runAtan(const AtanAttrs &, ReferenceCall &call) {
  floats(call, []<class T>(T x) { return std::atan(x); });
}
void runTan(const TanAttrs &, ReferenceCall &call) {
  floats(call, []<class T>(T x) { return std::tan(x); });
}
void runAsin(const AsinAttrs &, ReferenceCall &call) {
  floats(call, []<class T>(T x) { return std::asin(x); });
}
void runAcos(const AcosAttrs &, ReferenceCall &call) {
  floats(call, []<class T>(T x) { return std::acos(x); });
}
void runSinh(const SinhAttrs &, ReferenceCall &call) {
  floats(call, []<class T>(T x) { return std::sinh(x); });
}
void runCosh(const CoshAttrs &, ReferenceCall &call) {
  floats(call, []<class T>(T x) { return std::cosh(x); });
}
void runAsinh(const AsinhAttrs &, ReferenceCall &call) {
  floats(call, []<class T>(T x) { return std::asinh(x); });
}
void runAcosh(const AcoshAttrs &, ReferenceCall &call) {
  floats(call, []<class T>(T x) { return std::acosh(x); });
}
void runAtanh(const AtanhAttrs &, ReferenceCall &call) {
  floats(call, []<class T>(T x) { return std::atanh(x); });
}
void runSwish(const SwishAttrs &a, ReferenceCall &call) {
  floats(call, [&]<class T>(T x) { return x / (1 + std::exp(-T(a.alpha) * x)); });
}
void runGelu(const GeluAttrs &a, ReferenceCall &call) {
  if (a.approximate == "tanh")
    floats(call, []<class T>(T x) {
      return x / 2 * (1 + std::tanh(T(0.79788456080286535588) * (x + T(0.044715) * x * x * x)));
    });
  else
    floats(call, []<class T>(T x) { return x / 2 * (1 + std::erf(x * T(0.70710678118654752440))); });
}

void runNot(const NotAttrs &, ReferenceCall &call) {
  map<uint8_t, uint8_t>(call, call.in(0), call.out(0), [](uint8_t x) { return x == 0; });
}
void runIsNan(const IsNanAttrs &, ReferenceCall &call) {
  forFloat(call.in(0).type(),
           [&]<class T>(T) { map<T, uint8_t>(call, call.in(0), call.out(0), [](T x) { return isNan(x); }); });
}

void runIsInf(const IsInfAttrs &a, ReferenceCall &call) {
  forFloat(call.in(0).type(), [&]<class T>(T) {
    map<T, uint8_t>(call, call.in(0), call.out(0),
                    [&](T x) { return std::isinf(x) && (x < 0 ? a.detect_negative : a.detect_positive); });
  });
}
void runBitwiseNot(const BitwiseNotAttrs &, ReferenceCall &call) {
  numbers(call, []<class T>(T x) {
    if constexpr (std::is_floating_point_v<T>)
      return x; // the shape function excludes floats
    else
      return static_cast<T>(~x);
  });
}

void runClip(const ClipAttrs &a, ReferenceCall &call) {
  forNumber(call.in(0).type(), [&]<class T>(T) {
    // A bound that is an operand has the type of x; an attribute may exceed the range of an integer type.
    auto bound = [&](size_t index, double attribute, T none) -> T {
      if (call.has(index))
        return call.in(index).elements() ? *call.in(index).as<T>() : none;
      if constexpr (std::is_floating_point_v<T>)
        return static_cast<T>(attribute);
      else
        return *Tensor::of<double>({}, {attribute}).convertedTo(elementTypeOf<T>()).template as<T>(); // saturates
    };
    constexpr T infinity = std::numeric_limits<T>::infinity();
    constexpr bool real = std::is_floating_point_v<T>;
    T least = bound(1, a.min, real ? -infinity : std::numeric_limits<T>::lowest());
    T most = bound(2, a.max, real ? infinity : std::numeric_limits<T>::max());
    numbers(call, [&]<class U>(U x) -> U {
      if constexpr (std::is_same_v<U, T>) {
        // If the bounds cross, the upper bound wins, as in min(max, max(x, min)); NaN in any of the three wins.
        U low = x < least || isNan(least) ? least : x;
        return low > most || isNan(most) ? most : low;
      }
      return x;
    });
  });
}

void runCast(const CastAttrs &a, ReferenceCall &call) { assign(call.out(0), call.in(0).convertedTo(a.to, a.saturate)); }

} // namespace lathe
