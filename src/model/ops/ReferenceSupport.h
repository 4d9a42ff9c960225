// Utilities of reference operators: dispatch over element types, strides, broadcasting, strided copies.
//
// Arithmetic references only see f32, f64, i64, u64, bool and string: narrower numbers are widened
// before the call and narrowed after it (ops/Reference.cpp). Operators that only move elements see
// all types, by the size of an element.
#pragma once

#include "ops/Reference.h"
#include "ops/Registry.h"

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

namespace lathe {

/// Calls f(T()) with the type T in which references compute `type`: float, double, int64_t or uint64_t.
template <class F> void forNumber(ElementType type, F &&f) {
  switch (type) {
  case ElementType::f32:
    return f(float());
  case ElementType::f64:
    return f(double());
  case ElementType::i64:
    return f(int64_t());
  case ElementType::u64:
    return f(uint64_t());
  default:
    fail("no reference for elements of type {}", name(type));
  }
}

/// The least and the greatest number of `kept`, the type in which a result is stored, as numbers of T, the wider type
/// in which the result is computed. They are the results of a max (least) and a min (greatest) over no elements.
template <class T> T leastOf(ElementType kept) {
  if constexpr (std::is_floating_point_v<T>)
    return -std::numeric_limits<T>::infinity();
  else
    return std::is_signed_v<T> ? static_cast<T>(-(int64_t(1) << (bitWidth(kept) - 2)) * 2) : T(0);
}
template <class T> T greatestOf(ElementType kept) {
  if constexpr (std::is_floating_point_v<T>)
    return std::numeric_limits<T>::infinity();
  else
    return std::numeric_limits<T>::max() >> (64 - bitWidth(kept));
}

template <class F> void forFloat(ElementType type, F &&f) {
  if (type == ElementType::f32)
    return f(float());
  require(type == ElementType::f64, "no reference for elements of type {}", name(type));
  f(double());
}

/// Calls f(x, y) with pointers to the elements of two tensors of equal types, typed as unsigned integers of the
/// element size, or as strings.
template <class F> void forStorage(const Tensor &x, Tensor &y, F &&f) {
  if (x.type() == ElementType::string)
    return f(static_cast<const std::string *>(x.strings().data()), y.strings().data());
  switch (bitWidth(x.type())) {
  case 8:
    return f(x.as<uint8_t>(), y.as<uint8_t>());
  case 16:
    return f(x.as<uint16_t>(), y.as<uint16_t>());
  case 32:
    return f(x.as<uint32_t>(), y.as<uint32_t>());
  case 64:
    return f(x.as<uint64_t>(), y.as<uint64_t>());
  default:
    fail("no reference for elements of type {}", name(x.type()));
  }
}

inline int64_t countOf(std::span<const int64_t> dims) {
  return std::accumulate(dims.begin(), dims.end(), int64_t(1), std::multiplies<>());
}

/// Strides of a row-major tensor with the extents `dims`, in elements.
std::vector<int64_t> stridesOf(std::span<const int64_t> dims);

/// Strides with which a tensor of extents `operand` is read at positions of `dims`, to which it broadcasts (0 on
/// broadcast axes).
std::vector<int64_t> broadcastStrides(std::span<const int64_t> operand, std::span<const int64_t> dims);

/// Returns the integers of `value` minus their zero points as i64. `zeroDims` are the
/// extents with which the zero points broadcast to `value`.
Tensor lessZeroPoint(const ReferenceCall &call, const Tensor &value, const Tensor &zero,
                     std::span<const int64_t> zeroDims);

/// Sum, difference and product of two elements; integers wrap around.
template <class T> T wrapAdd(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return a + b;
  else
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
template <class T> T wrapSub(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return a - b;
  else
    return static_cast<T>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
template <class T> T wrapMul(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return a * b;
  else
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

template <class T> bool isNan(T x) { return x != x; }

/// Converts a double to an element of type T: integers truncate and saturate, NaN becomes 0.
template <class T> T toElement(double value) {
  if constexpr (!std::is_floating_point_v<T>) {
    if (isNan(value))
      return 0;
    if (value <= static_cast<double>(std::numeric_limits<T>::min()))
      return std::numeric_limits<T>::min();
    if (value >= static_cast<double>(std::numeric_limits<T>::max())) // rounded up: 2^63 or 2^64
      return std::numeric_limits<T>::max();
  }
  return static_cast<T>(value);
}

/// A loop nest over `dims` with one offset for each of N strided operands. Axes along which all
/// operands are contiguous are merged, so that the innermost run is long.
template <size_t N> class StridedLoop {
public:
  StridedLoop(std::span<const int64_t> dims, const std::array<std::vector<int64_t>, N> &strides) {
    for (size_t i = 0; i < dims.size(); ++i) {
      if (dims[i] == 1)
        continue;
      std::array<int64_t, N> step;
      for (size_t n = 0; n < N; ++n)
        step[n] = strides[n][i];
      bool joins = !extents.empty();
      for (size_t n = 0; joins && n < N; ++n)
        joins = steps.back()[n] == step[n] * dims[i];
      if (joins) {
        extents.back() *= dims[i];
        steps.back() = step;
      } else {
        extents.push_back(dims[i]);
        steps.push_back(step);
      }
    }
    if (extents.empty()) {
      extents.push_back(1);
      steps.push_back({});
    }
  }

  int64_t count() const { return countOf(extents); }
  /// Distance in elements between neighbours of operand n in the innermost run.
  int64_t innerStride(size_t n) const { return steps.back()[n]; }

  /// Calls body(position, offsets, length) for runs of elements that cover the positions [begin, end) in order.
  template <class Body> void run(int64_t begin, int64_t end, Body &&body) const {
    int64_t inner = extents.back();
    while (begin < end) {
      int64_t rest = begin;
      std::array<int64_t, N> offsets{};
      for (size_t axis = extents.size(); axis-- > 0;) {
        int64_t index = rest % extents[axis];
        rest /= extents[axis];
        for (size_t n = 0; n < N; ++n)
          offsets[n] += index * steps[axis][n];
      }
      int64_t length = std::min(inner - begin % inner, end - begin);
      body(begin, offsets, length);
      begin += length;
    }
  }

private:
  std::vector<int64_t> extents;
  std::vector<std::array<int64_t, N>> steps;
};

/// Copies elements from x to y: y at a position of `dims` = x[offset + sum of index * stride over all axes]. Covers
/// transposes, slices, broadcasts and blocks.
void copyStrided(const ReferenceCall &call, const Tensor &x, Tensor &y, std::span<const int64_t> dims,
                 const std::vector<int64_t> &strides, int64_t offset = 0);

/// Copies `value` into the memory of the result `out`, or replaces `out` by `value` if `out` has no memory.
void assign(Tensor &out, const Tensor &value);

} // namespace lathe
