#include "ops/ReferenceSupport.h"

#include <limits>

namespace lathe {
namespace {

/// Floating-point sums are in double: exact enough to judge, cheap enough to run.
template <class T> using SumOf = std::conditional_t<std::is_floating_point_v<T>, double, T>;

/// y = finish(fold of step over the reduced elements, starting with `start`; number of elements).
template <class A, class Start, class Step, class Finish>
void reduce(const A &a, ReferenceCall &call, Start &&start, Step &&step, Finish &&finish) {
  const Tensor &x = call.in(0);
  std::vector<int64_t> axes = normalizeAxes(a.axes, x.rank(), "reduce_c1");
  bool all = axes.empty() && !a.noop_with_empty_axes;
  std::vector<int64_t> strides = stridesOf(x.dims()), keptDims, keptStrides, foldedDims, foldedStrides;
  for (size_t i = 0; i < x.rank(); ++i) {
    bool folded = all || std::find(axes.begin(), axes.end(), static_cast<int64_t>(i)) != axes.end();
    (folded ? foldedDims : keptDims).push_back(x.dim(i));
    (folded ? foldedStrides : keptStrides).push_back(strides[i]);
  }
  StridedLoop<1> kept(keptDims, {keptStrides}), folded(foldedDims, {foldedStrides});
  int64_t count = countOf(foldedDims);
  forNumber(x.type(), [&]<class T>(T) {
    const T *from = x.as<T>();
    T *to = call.out(0).as<T>();
    call.parallelFor(kept.count(), [&](int64_t begin, int64_t end) {
      kept.run(begin, end, [&](int64_t at, const std::array<int64_t, 1> &base, int64_t length) {
        for (int64_t i = 0; i < length; ++i) {
          auto sum = start(T());
          folded.run(0, count, [&](int64_t, const std::array<int64_t, 1> &offset, int64_t run) {
            const T *row = from + base[0] + i * kept.innerStride(0) + offset[0];
            for (int64_t k = 0; k < run; ++k)
              sum = step(sum, row[k * folded.innerStride(0)]);
          });
          auto value = finish(sum, count);
          if constexpr (std::is_same_v<decltype(value), double>)
            to[at + i] = toElement<T>(value);
          else
            to[at + i] = static_cast<T>(value);
        }
      });
    });
  });
}

constexpr auto zero = []<class T>(T) { return SumOf<T>(0); };
constexpr auto sum = []<class S, class T>(S s, T x) { return wrapAdd<S>(s, static_cast<S>(x)); };
constexpr auto sumOfMagnitudes = []<class S, class T>(S s, T x) {
  return wrapAdd<S>(s, static_cast<S>(x < 0 ? wrapSub(T(0), x) : x));
};
constexpr auto sumOfSquares = []<class S, class T>(S s, T x) {
  return wrapAdd<S>(s, wrapMul<S>(static_cast<S>(x), static_cast<S>(x)));
};
constexpr auto asItIs = []<class S>(S s, int64_t) { return s; };

} // namespace

void runReduceSum(const ReduceSumAttrs &a, ReferenceCall &call) { reduce(a, call, zero, sum, asItIs); }
void runReduceL1(const ReduceL1Attrs &a, ReferenceCall &call) { reduce(a, call, zero, sumOfMagnitudes, asItIs); }
void runReduceSumSquare(const ReduceSumSquareAttrs &a, ReferenceCall &call) {
  reduce(a, call, zero, sumOfSquares, asItIs);
}

void runReduceL2(const ReduceL2Attrs &a, ReferenceCall &call) {
  reduce(a, call, zero, sumOfSquares, []<class S>(S s, int64_t) { return std::sqrt(static_cast<double>(s)); });
}

void runReduceMean(const ReduceMeanAttrs &a, ReferenceCall &call) {
  reduce(a, call, zero, sum, []<class S>(S s, int64_t count) -> S {
    if constexpr (std::is_floating_point_v<S>)
      return s / static_cast<S>(count);
    return count ? s / static_cast<S>(count) : S(0);
  });
}

void runReduceLogSum(const ReduceLogSumAttrs &a, ReferenceCall &call) {
  reduce(a, call, zero, sum, []<class S>(S s, int64_t) { return std::log(static_cast<double>(s)); });
}

void runReduceLogSumExp(const ReduceLogSumExpAttrs &a, ReferenceCall &call) {
  // Subtracting a running maximum keeps the exponentials in range.
  struct Scaled {
    double greatest, sum;
  };
  reduce(
      a, call, []<class T>(T) { return Scaled{-std::numeric_limits<double>::infinity(), 0}; },
      []<class T>(Scaled s, T x) {
        double value = static_cast<double>(x);
        if (value <= s.greatest || value == -std::numeric_limits<double>::infinity())
          return Scaled{s.greatest, s.sum + (value == s.greatest ? (std::isinf(value) && value < 0 ? 0.0 : 1.0)
                                                                 : std::exp(value - s.greatest))};
        return Scaled{value, s.sum * std::exp(s.greatest - value) + 1};
      },
      [](Scaled s, int64_t) {
        return s.sum == 0 ? -std::numeric_limits<double>::infinity() : s.greatest + std::log(s.sum);
      });
}

void runReduceMax(const ReduceMaxAttrs &a, ReferenceCall &call) {
  reduce(
      a, call, [kept = call.kept(0)]<class T>(T) { return leastOf<T>(kept); },
      []<class T>(T best, T x) { return x > best || isNan(x) ? x : best; }, asItIs);
}

void runReduceMin(const ReduceMinAttrs &a, ReferenceCall &call) {
  reduce(
      a, call, [kept = call.kept(0)]<class T>(T) { return greatestOf<T>(kept); },
      []<class T>(T best, T x) { return x < best || isNan(x) ? x : best; }, asItIs);
}

void runReduceProd(const ReduceProdAttrs &a, ReferenceCall &call) {
  reduce(
      a, call, []<class T>(T) { return SumOf<T>(1); },
      []<class S, class T>(S s, T x) { return wrapMul<S>(s, static_cast<S>(x)); }, asItIs);
}

namespace {

template <class A, class Better> void argExtreme(const A &a, ReferenceCall &call, Better &&better) {
  const Tensor &x = call.in(0);
  int64_t axis = normalizeAxis(a.axis, x.rank(), "arg_c1"), length = x.dim(axis),
          inner = countOf(std::span(x.dims()).subspan(axis + 1));
  int64_t *to = call.out(0).as<int64_t>();
  forNumber(x.type(), [&]<class T>(T) {
    call.parallelFor(call.out(0).elements(), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const T *from = x.as<T>() + row / inner * inner * length + row % inner;
        int64_t best = 0;
        for (int64_t i = 1; i < length; ++i)
          if (better(from[i * inner], from[best * inner]) ||
              (a.select_last_index && from[i * inner] == from[best * inner]))
            best = i;
        to[row] = best;
      }
    });
  });
}

} // namespace

void runArgMax(const ArgMaxAttrs &a, ReferenceCall &call) {
  argExtreme(a, call, []<class T>(T x, T best) { return x > best || (isNan(x) && !isNan(best)); });
}

void runArgMin(const ArgMinAttrs &a, ReferenceCall &call) {
  argExtreme(a, call, []<class T>(T x, T best) { return x < best || (isNan(x) && !isNan(best)); });
}

} // namespace lathe
