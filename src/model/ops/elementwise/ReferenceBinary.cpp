#include "ops/ReferenceSupport.h"

namespace lathe {
namespace {

/// to[i] = f(a[i], b[i]), both broadcast to the shape of the result.
template <class T, class R, class F> void zip(const ReferenceCall &call, const T *a, const T *b, Tensor &y, F &&f) {
  StridedLoop<2> loop(y.dims(),
                      {broadcastStrides(call.in(0).dims(), y.dims()), broadcastStrides(call.in(1).dims(), y.dims())});
  R *to = y.as<R>();
  call.parallelFor(loop.count(), [&](int64_t begin, int64_t end) {
    int64_t stepA = loop.innerStride(0), stepB = loop.innerStride(1);
    loop.run(begin, end, [&](int64_t at, const std::array<int64_t, 2> &offsets, int64_t length) {
      const T *fromA = a + offsets[0], *fromB = b + offsets[1];
      R *result = to + at;
      if (stepA == 1 && stepB == 1) // the common case, which vectorises without multiplications
        for (int64_t i = 0; i < length; ++i)
          result[i] = static_cast<R>(f(fromA[i], fromB[i]));
      else
        for (int64_t i = 0; i < length; ++i)
          result[i] = static_cast<R>(f(fromA[i * stepA], fromB[i * stepB]));
    });
  });
}

template <class F> void arithmetic(ReferenceCall &call, F &&f) {
  forNumber(call.in(0).type(),
            [&]<class T>(T) { zip<T, T>(call, call.in(0).as<T>(), call.in(1).as<T>(), call.out(0), f); });
}

template <class F> void comparison(ReferenceCall &call, F &&f) {
  forNumber(call.in(0).type(),
            [&]<class T>(T) { zip<T, uint8_t>(call, call.in(0).as<T>(), call.in(1).as<T>(), call.out(0), f); });
}

template <class F> void logical(ReferenceCall &call, F &&f) {
  zip<uint8_t, uint8_t>(call, call.in(0).as<uint8_t>(), call.in(1).as<uint8_t>(), call.out(0),
                        [&](uint8_t a, uint8_t b) { return f(a != 0, b != 0); });
}

/// Applies f to the bits of integers.
template <class F> void bitwise(ReferenceCall &call, F &&f) {
  arithmetic(call, [&]<class T>(T a, T b) -> T {
    if constexpr (std::is_floating_point_v<T>)
      return a; // the shape function excludes floats
    else
      return static_cast<T>(f(static_cast<uint64_t>(a), static_cast<uint64_t>(b)));
  });
}

/// base to the power of a whole exponent modulo 2^64; a negative exponent gives the truncated reciprocal.
template <class T> T integerPower(T base, T exponent) {
  if (exponent < 0)
    return base == 1 ? T(1) : base == T(-1) ? (exponent % 2 == 0 ? T(1) : T(-1)) : T(0);
  T result = 1;
  for (uint64_t e = static_cast<uint64_t>(exponent); e; e >>= 1) {
    if (e & 1)
      result = wrapMul(result, base);
    base = wrapMul(base, base);
  }
  return result;
}

} // namespace

void runAdd(const AddAttrs &, ReferenceCall &call) {
  arithmetic(call, []<class T>(T a, T b) { return wrapAdd(a, b); });
}
void runSub(const SubAttrs &, ReferenceCall &call) {
  arithmetic(call, []<class T>(T a, T b) { return wrapSub(a, b); });
}
void runMul(const MulAttrs &, ReferenceCall &call) {
  arithmetic(call, []<class T>(T a, T b) { return wrapMul(a, b); });
}
void runDiv(const DivAttrs &, ReferenceCall &call) {
  arithmetic(call, []<class T>(T a, T b) -> T {
    if constexpr (std::is_floating_point_v<T>)
      return a / b;
    if (b == 0) // undefined in ONNX; 0 here
      return 0;
    if (std::is_signed_v<T> && b == T(-1)) // the lowest integer has no positive counterpart: wraps
      return wrapSub(T(0), a);
    return a / b;
  });
}
void runPow(const PowAttrs &, ReferenceCall &call) {
  arithmetic(call, []<class T>(T a, T b) -> T {
    if constexpr (std::is_floating_point_v<T>)
      return std::pow(a, b);
    else
      return integerPower(a, b);
  });
}
void runMax(const MaxAttrs &, ReferenceCall &call) {
  arithmetic(call, []<class T>(T a, T b) { return a > b || isNan(a) ? a : b; });
}
void runMin(const MinAttrs &, ReferenceCall &call) {
  arithmetic(call, []<class T>(T a, T b) { return a < b || isNan(a) ? a : b; });
}
void runMod(const ModAttrs &attrs, ReferenceCall &call) {
  arithmetic(call, [&]<class T>(T a, T b) -> T {
    if constexpr (std::is_floating_point_v<T>) {
      return std::fmod(a, b);
    } else {
      if (b == 0 || (std::is_signed_v<T> && b == T(-1))) // undefined in ONNX; always 0
        return 0;
      T rest = a % b;
      return !attrs.fmod && rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
    }
  });
}
void runPrelu(const PreluAttrs &, ReferenceCall &call) {
  arithmetic(call, []<class T>(T x, T slope) { return x < 0 ? wrapMul(x, slope) : x; });
}

void runEqual(const EqualAttrs &, ReferenceCall &call) {
  auto equal = []<class T>(const T &a, const T &b) { return a == b; };
  ElementType type = call.in(0).type();
  if (type == ElementType::string)
    zip<std::string, uint8_t>(call, call.in(0).strings().data(), call.in(1).strings().data(), call.out(0), equal);
  else if (type == ElementType::boolean)
    logical(call, equal);
  else
    comparison(call, equal);
}
void runLess(const LessAttrs &, ReferenceCall &call) {
  comparison(call, []<class T>(T a, T b) { return a < b; });
}
void runLessEqual(const LessEqualAttrs &, ReferenceCall &call) {
  comparison(call, []<class T>(T a, T b) { return a <= b; });
}
void runGreater(const GreaterAttrs &, ReferenceCall &call) {
  comparison(call, []<class T>(T a, T b) { return a > b; });
}
void runGreaterEqual(const GreaterEqualAttrs &, ReferenceCall &call) {
  comparison(call, []<class T>(T a, T b) { return a >= b; });
}

void runAnd(const AndAttrs &, ReferenceCall &call) {
  logical(call, [](bool a, bool b) { return a && b; });
}
void runOr(const OrAttrs &, ReferenceCall &call) {
  logical(call, [](bool a, bool b) { return a || b; });
}
void runXor(const XorAttrs &, ReferenceCall &call) {
  logical(call, [](bool a, bool b) { return a != b; });
}

void runBitwiseAnd(const BitwiseAndAttrs &, ReferenceCall &call) {
  bitwise(call, [](uint64_t a, uint64_t b) { return a & b; });
}
void runBitwiseOr(const BitwiseOrAttrs &, ReferenceCall &call) {
  bitwise(call, [](uint64_t a, uint64_t b) { return a | b; });
}
void runBitwiseXor(const BitwiseXorAttrs &, ReferenceCall &call) {
  bitwise(call, [](uint64_t a, uint64_t b) { return a ^ b; });
}
void runBitShift(const BitShiftAttrs &attrs, ReferenceCall &call) {
  // Narrower integers are widened here: bits beyond their width are cut off afterwards.
  bool left = attrs.direction == "LEFT";
  bitwise(call, [&](uint64_t a, uint64_t b) { return b >= 64 ? 0 : left ? a << b : a >> b; });
}

void runWhere(const WhereAttrs &, ReferenceCall &call) {
  Tensor &y = call.out(0);
  const Tensor &a = call.in(1), &b = call.in(2);
  StridedLoop<3> loop(y.dims(), {broadcastStrides(call.in(0).dims(), y.dims()), broadcastStrides(a.dims(), y.dims()),
                                 broadcastStrides(b.dims(), y.dims())});
  const uint8_t *condition = call.in(0).as<uint8_t>();
  forStorage(a, y, [&]<class T>(const T *fromA, T *to) {
    const T *fromB;
    if constexpr (std::is_same_v<T, std::string>)
      fromB = b.strings().data();
    else
      fromB = b.as<T>();
    call.parallelFor(loop.count(), [&](int64_t begin, int64_t end) {
      loop.run(begin, end, [&](int64_t at, const std::array<int64_t, 3> &offsets, int64_t length) {
        for (int64_t i = 0; i < length; ++i)
          to[at + i] = condition[offsets[0] + i * loop.innerStride(0)] ? fromA[offsets[1] + i * loop.innerStride(1)]
                                                                       : fromB[offsets[2] + i * loop.innerStride(2)];
      });
    });
  });
}

} // namespace lathe
