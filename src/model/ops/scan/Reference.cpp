// Operators that visit elements along one axis in order.
#include "ops/ReferenceSupport.h"

#include <algorithm>

namespace lathe {
namespace {

/// x seen as outer x length x inner around an axis.
struct Line {
  int64_t length, inner, lines;
  Line(const Tensor &x, int64_t wanted, const char *what) {
    int64_t axis = normalizeAxis(wanted, static_cast<int64_t>(x.rank()), what);
    length = x.dim(axis);
    inner = countOf(std::span(x.dims()).subspan(axis + 1));
    lines = countOf(std::span(x.dims()).first(axis)) * inner;
  }
  /// Offset of a line's first element where the axis has `extent`.
  int64_t start(int64_t line, int64_t extent) const { return line / inner * extent * inner + line % inner; }
};

template <class RunningAttrs, class Combine>
void run(const RunningAttrs &a, ReferenceCall &call, int initial, Combine &&combine) {
  const Tensor &x = call.in(0);
  Line line(x, a.axis, "running_c1");
  forNumber(x.type(), [&]<class T>(T) {
    // Floats are summed in double, as in reductions.
    using Sum = std::conditional_t<std::is_floating_point_v<T>, double, T>;
    call.parallelFor(line.lines, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T *from = x.as<T>() + line.start(i, line.length);
        T *to = call.out(0).as<T>() + line.start(i, line.length);
        Sum sum = static_cast<Sum>(initial);
        for (int64_t k = 0; k < line.length; ++k) {
          int64_t at = (a.reverse ? line.length - 1 - k : k) * line.inner;
          Sum next = combine(sum, static_cast<Sum>(from[at]));
          to[at] = static_cast<T>(a.exclusive ? sum : next);
          sum = next;
        }
      }
    });
  });
}

} // namespace

void runCumSum(const CumSumAttrs &a, ReferenceCall &call) {
  run(a, call, 0, []<class T>(T sum, T x) { return wrapAdd(sum, x); });
}

void runCumProd(const CumProdAttrs &a, ReferenceCall &call) {
  run(a, call, 1, []<class T>(T product, T x) { return wrapMul(product, x); });
}

void runTopK(const TopKAttrs &a, ReferenceCall &call) {
  const Tensor &x = call.in(0);
  Line line(x, a.axis, "top_k_c1");
  int64_t count = a.k;
  forNumber(x.type(), [&]<class T>(T) {
    call.parallelFor(line.lines, [&](int64_t begin, int64_t end) {
      std::vector<int64_t> order(line.length);
      for (int64_t i = begin; i < end; ++i) {
        const T *from = x.as<T>() + line.start(i, line.length);
        std::iota(order.begin(), order.end(), int64_t(0));
        // A NaN is greater than every number.
        auto greater = [&](T p, T q) { return p > q || (isNan(p) && !isNan(q)); };
        std::stable_sort(order.begin(), order.end(), [&](int64_t p, int64_t q) {
          T left = from[p * line.inner], right = from[q * line.inner];
          return a.largest ? greater(left, right) : greater(right, left);
        });
        for (int64_t k = 0; k < count; ++k) {
          int64_t to = line.start(i, count) + k * line.inner;
          call.out(0).as<T>()[to] = from[order[k] * line.inner];
          call.out(1).as<int64_t>()[to] = order[k];
        }
      }
    });
  });
}

} // namespace lathe
