// All integers arrive as i64 (u8: u64) and are converted to the result's type after the call.
#include "ops/ReferenceSupport.h"

#include <algorithm>
#include <bit>

namespace lathe {
namespace {

int64_t low32(int64_t value) { return static_cast<int32_t>(static_cast<uint32_t>(value)); }

/// x * m / 2^31, halves up: gemmlowp's SaturatingRoundingDoublingHighMul, unless both are -2^31.
int64_t highProduct(int64_t x, int64_t m) { return low32((x * m + (int64_t(1) << 30)) >> 31); }

/// x / 2^exponent, halves away from zero: gemmlowp's RoundingDivideByPOT.
int64_t divideByPowerOfTwo(int64_t x, int64_t exponent) {
  int64_t divisor = int64_t(1) << exponent, half = divisor / 2;
  return (x < 0 ? x - half : x + half) / divisor;
}

int64_t scaledTwice(int64_t x, int64_t m, int64_t shift) {
  int64_t left = std::max<int64_t>(shift, 0), right = std::max<int64_t>(-shift, 0);
  return divideByPowerOfTwo(highProduct(low32(wrapMul(x, int64_t(1) << left)), m), right);
}

int64_t scaledOnce(int64_t x, int64_t m, int64_t shift) {
  return low32((x * m + (int64_t(1) << (30 - shift))) >> (31 - shift));
}

int64_t scaledByHalf(int64_t x, int64_t m, int64_t shift) {
  int64_t reduced = std::min<int64_t>((m + (1 << 15)) >> 16, (1 << 15) - 1);
  return low32(wrapAdd(wrapMul(x, reduced), int64_t(1) << (14 - shift)) >> (15 - shift));
}

/// 1 / (1 + f) for f in [0, 1), both with 31 fractional bits. Newton's iterates have 29.
int64_t reciprocalOfOnePlus(int64_t f) {
  constexpr int64_t one = int64_t(1) << 29, start = 1515870810, slope = -1010580540; // 48/17 and -32/17
  int64_t half = (f + (int64_t(1) << 31)) >> 1;                                      // (1 + f) / 2, 31 fractional bits
  int64_t y = start + highProduct(half, slope);
  for (int step = 0; step < 3; ++step)
    y += highProduct(y, one - highProduct(half, y)) * 4;
  return std::min<int64_t>(y * 2, INT32_MAX); // y is 2 / (1 + f) with 29 fractional bits
}

/// to[i] = f(x[i]) on integers, which are i64 or u64.
template <class F> void integers(ReferenceCall &call, F &&f) {
  const Tensor &x = call.in(0);
  Tensor &y = call.out(0);
  auto run = [&]<class T, class R>(const T *from, R *to) {
    call.parallelFor(x.elements(), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        to[i] = static_cast<R>(f(static_cast<int64_t>(from[i])));
    });
  };
  auto into = [&]<class R>(R *to) {
    if (x.type() == ElementType::u64)
      run(x.as<uint64_t>(), to);
    else
      run(x.as<int64_t>(), to);
  };
  if (y.type() == ElementType::u64)
    into(y.as<uint64_t>());
  else
    into(y.as<int64_t>());
}

} // namespace

void runRequantize(const RequantizeAttrs &a, ReferenceCall &call) {
  Tensor &y = call.out(0);
  const std::vector<int64_t> &dims = y.dims();
  StridedLoop<3> loop(dims, {broadcastStrides(dims, dims), broadcastStrides(call.in(1).dims(), dims),
                             broadcastStrides(call.in(2).dims(), dims)});
  const int64_t *x = call.in(0).as<int64_t>(), *m = call.in(1).as<int64_t>(), *s = call.in(2).as<int64_t>();
  bool twice = a.rounding == "double", once = a.rounding == "single", natural = a.to == ElementType::u8;
  int64_t half = int64_t(1) << (bitWidth(a.to) - 1);
  int64_t least = std::max(a.min, natural ? 0 : -half), most = std::min(a.max, natural ? 2 * half - 1 : half - 1);
  auto one = [&](int64_t value, int64_t multiplier, int64_t shift) {
    shift = std::clamp<int64_t>(shift, -31, twice || once ? 30 : 14);
    int64_t scaled = twice  ? scaledTwice(value, multiplier, shift)
                     : once ? scaledOnce(value, multiplier, shift)
                            : scaledByHalf(value, multiplier, shift);
    return std::clamp(scaled + a.zero_point, least, most);
  };
  auto into = [&]<class R>(R *to) {
    call.parallelFor(loop.count(), [&](int64_t begin, int64_t end) {
      loop.run(begin, end, [&](int64_t at, const std::array<int64_t, 3> &offsets, int64_t length) {
        for (int64_t i = 0; i < length; ++i)
          to[at + i] =
              static_cast<R>(one(x[offsets[0] + i * loop.innerStride(0)], m[offsets[1] + i * loop.innerStride(1)],
                                 s[offsets[2] + i * loop.innerStride(2)]));
      });
    });
  };
  if (y.type() == ElementType::u64)
    into(y.as<uint64_t>());
  else
    into(y.as<int64_t>());
}

void runLookup(const LookupAttrs &a, ReferenceCall &call) {
  const std::vector<int64_t> &v = a.values;
  if (v.size() == 256) {
    int64_t least = call.in(0).type() == ElementType::u64 ? 0 : -128;
    return integers(call, [&](int64_t x) { return v[static_cast<size_t>(x - least)]; });
  }
  integers(call, [&](int64_t x) {
    auto i = static_cast<size_t>(256 + (x >> 7));
    return v[i] + (((v[i + 1] - v[i]) * (x & 127) + 64) >> 7);
  });
}

void runCountLeadingZeros(const CountLeadingZerosAttrs &, ReferenceCall &call) {
  integers(call, [](int64_t x) { return int64_t(std::countl_zero(static_cast<uint32_t>(x))); });
}

void runFixedReciprocal(const FixedReciprocalAttrs &, ReferenceCall &call) {
  integers(call, [](int64_t x) {
    auto positive = static_cast<uint32_t>(std::max<int64_t>(x, 1));
    uint32_t shifted = positive << std::countl_zero(positive); // 2^31 * (1 + f)
    return reciprocalOfOnePlus(static_cast<int64_t>(shifted) - (int64_t(1) << 31));
  });
}

} // namespace lathe
