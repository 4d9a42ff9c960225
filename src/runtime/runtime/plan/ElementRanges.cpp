#include "runtime/plan/ElementRanges.h"

#include "runtime/Tensor.h"
#include "runtime/ThreadPool.h"

#include <algorithm>
#include <atomic>

// The loops over integers are compiled for wide vectors as well; which ones run is decided once.
#if defined(__x86_64__)
#define LATHE_WIDE_LOOPS 1
#endif

namespace lathe::runtime {
namespace {

constexpr int64_t rowsPerBlock = 64;

/// The top bit of the result is set if an element of [begin, end) is out of range. `begin` is a multiple of the
/// pattern's length. A span is below the top bit, so the top bit of `offset | (span - offset)` tells if offset > span.
template <class U>
[[gnu::always_inline]] inline U excess(const U *elements, int64_t begin, int64_t end, const U *low, const U *span,
                                       int64_t length) {
  U bad = 0;
  if (length == 1) {
    U first = *low, size = *span;
    for (int64_t i = begin; i < end; ++i) {
      U offset = elements[i] - first;
      bad |= offset | (size - offset);
    }
    return bad;
  }
  for (int64_t i = begin; i < end; i += length) {
    int64_t count = std::min(length, end - i);
    for (int64_t k = 0; k < count; ++k) {
      U offset = elements[i + k] - low[k];
      bad |= offset | (span[k] - offset);
    }
  }
  return bad;
}

template <class U> using RangeLoop = U (*)(const U *, int64_t, int64_t, const U *, const U *, int64_t);

template <class U>
U narrowLoop(const U *elements, int64_t begin, int64_t end, const U *low, const U *span, int64_t length) {
  return excess(elements, begin, end, low, span, length);
}

#ifdef LATHE_WIDE_LOOPS
template <class U>
[[gnu::target("avx2")]] U wideLoop(const U *elements, int64_t begin, int64_t end, const U *low, const U *span,
                                   int64_t length) {
  return excess(elements, begin, end, low, span, length);
}

template <class U>
[[gnu::target("avx512f")]] U widestLoop(const U *elements, int64_t begin, int64_t end, const U *low, const U *span,
                                        int64_t length) {
  return excess(elements, begin, end, low, span, length);
}

template <class U> RangeLoop<U> chooseLoop() {
  return __builtin_cpu_supports("avx512f") ? widestLoop<U>
         : __builtin_cpu_supports("avx2")  ? wideLoop<U>
                                           : narrowLoop<U>;
}
#else
template <class U> RangeLoop<U> chooseLoop() { return narrowLoop<U>; }
#endif

template <class U>
bool inRange(const void *elements, int64_t begin, int64_t end, const std::vector<U> &low, const std::vector<U> &span) {
  static const RangeLoop<U> loop = chooseLoop<U>();
  return loop(static_cast<const U *>(elements), begin, end, low.data(), span.data(),
              static_cast<int64_t>(low.size())) >>
             (sizeof(U) * 8 - 1) ==
         0;
}

} // namespace

ElementCheck::ElementCheck(ElementType type, int64_t count, const std::vector<int64_t> &least,
                           const std::vector<int64_t> &most)
    : type(type), count(count), period(least.size()), lows(least), highs(most) {
  // Differences of bounds must leave the highest bit free. Bounds beyond these limits are cut; the bounds that kernels
  // have, which are extents, are much nearer to 0.
  constexpr int64_t far64 = int64_t(1) << 61, far32 = int64_t(1) << 30;
  bool narrow = type == ElementType::i32;
  for (size_t i = 0; i < period; ++i) {
    int64_t low = std::clamp(least[i], -far64, far64), high = std::clamp(most[i], -far64, far64);
    empty |= low > high && static_cast<int64_t>(i) < count; // an existing element has the range
    narrow &= low >= -far32 && high < far32;
  }
  if (empty || (type != ElementType::i32 && type != ElementType::i64) || (type == ElementType::i32 && !narrow))
    return;
  bool equal = true; // one range for all
  for (size_t i = 1; i < period; ++i)
    equal &= least[i] == least[0] && most[i] == most[0];
  size_t length = equal ? 1 : period * rowsPerBlock;
  for (size_t i = 0; i < length; ++i) {
    int64_t low = std::clamp(least[i % period], -far64, far64), high = std::clamp(most[i % period], -far64, far64);
    if (narrow) {
      low32.push_back(static_cast<uint32_t>(low));
      span32.push_back(static_cast<uint32_t>(high - low));
    } else {
      low64.push_back(static_cast<uint64_t>(low));
      span64.push_back(static_cast<uint64_t>(high - low));
    }
  }
}

bool ElementCheck::inside(const void *elements, int64_t begin, int64_t end) const {
  if (begin >= end)
    return true;
  if (empty)
    return false;
  if (!low32.empty())
    return inRange(elements, begin, end, low32, span32);
  if (!low64.empty())
    return inRange(elements, begin, end, low64, span64);
  Tensor tensor = Tensor::borrow(type, {count}, const_cast<void *>(elements));
  for (int64_t i = begin; i < end; ++i)
    if (isFloat(type)) {
      double value = tensor.asDouble(i);
      if (!(value >= static_cast<double>(least(i)) && value <= static_cast<double>(most(i)))) // nor NaN
        return false;
    } else if (int64_t value = tensor.asInteger(i); value < least(i) || value > most(i)) {
      return false;
    }
  return true;
}

std::optional<int64_t> ElementCheck::findOutside(const void *elements, const ThreadPool::Team &team) const {
  // Fewer are checked before another thread has begun.
  constexpr int64_t mostAlone = 16384;
  auto step = static_cast<int64_t>(period) * rowsPerBlock;
  bool good = true;
  if (count <= mostAlone || team.slots() == 1) {
    good = inside(elements, 0, count);
  } else {
    struct Job {
      const ElementCheck &check;
      const void *elements;
      int64_t step;
      std::atomic<bool> good{true};
    } job{*this, elements, step};
    team.run((count + step - 1) / step,
             [](void *context, int, int64_t begin, int64_t end) {
               Job &own = *static_cast<Job *>(context);
               if (!own.check.inside(own.elements, begin * own.step, std::min(end * own.step, own.check.count)))
                 own.good = false;
             },
             &job);
    good = job.good;
  }
  if (good)
    return std::nullopt;
  int64_t begin = 0; // of the first block with such an element
  while (inside(elements, begin, std::min(begin + step, count)))
    begin += step;
  for (int64_t i = begin;; ++i) { // each element as a one of its place
    ElementCheck single(type, 1, {least(i)}, {most(i)});
    if (!single.inside(static_cast<const char *>(elements) + i * bitWidth(type) / 8, 0, 1))
      return i;
  }
}

} // namespace lathe::runtime
