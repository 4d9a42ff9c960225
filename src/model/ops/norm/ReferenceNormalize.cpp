// Normalisations by the statistics of the values themselves. Sums are in float64. Deviations are computed from the
// mean, not from the difference of two large sums.
#include "ops/ReferenceSupport.h"

namespace lathe {
namespace {

struct Statistics {
  double mean = 0, variance = 0;
};

/// A normalisation with known statistics: y = (x - shift) * factor.
struct Normalization {
  double shift = 0, factor = 1;
};

template <class T> Statistics statisticsOf(const T *x, int64_t length) {
  Statistics s;
  for (int64_t i = 0; i < length; ++i)
    s.mean += static_cast<double>(x[i]);
  s.mean /= static_cast<double>(length);
  for (int64_t i = 0; i < length; ++i) {
    double deviation = static_cast<double>(x[i]) - s.mean;
    s.variance += deviation * deviation;
  }
  s.variance /= static_cast<double>(length);
  return s;
}

/// y = (x - shift) * factor * scale + bias over the axes from `axis` on, with `normalizationOf(row, length)`; scale and
/// bias (may be absent) broadcast to x.
template <class Find> void normalizeRows(ReferenceCall &call, int64_t axis, Find &&normalizationOf) {
  const Tensor &x = call.in(0);
  axis = normalizeAxis(axis, static_cast<int64_t>(x.rank()), "layer_norm_c1");
  int64_t length = countOf(std::span(x.dims()).subspan(axis));
  bool hasBias = call.has(2);
  std::vector<int64_t> zeros(x.rank(), 0);
  StridedLoop<2> loop(x.dims(), {broadcastStrides(call.in(1).dims(), x.dims()),
                                 hasBias ? broadcastStrides(call.in(2).dims(), x.dims()) : zeros});
  forFloat(x.type(), [&]<class T>(T) {
    const T *scale = call.in(1).as<T>(), *bias = hasBias ? call.in(2).as<T>() : nullptr;
    call.parallelFor(length ? x.elements() / length : 0, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const T *from = x.as<T>() + row * length;
        T *to = call.out(0).as<T>() + row * length;
        Normalization n = normalizationOf(from, length);
        loop.run(row * length, (row + 1) * length,
                 [&](int64_t at, const std::array<int64_t, 2> &offsets, int64_t count) {
                   for (int64_t i = 0; i < count; ++i) {
                     double value = (static_cast<double>(from[at - row * length + i]) - n.shift) * n.factor *
                                    static_cast<double>(scale[offsets[0] + i * loop.innerStride(0)]);
                     if (bias)
                       value += static_cast<double>(bias[offsets[1] + i * loop.innerStride(1)]);
                     to[at - row * length + i] = static_cast<T>(value);
                   }
                 });
      }
    });
  });
}

/// Normalises rows that consist of `channelsOfRow` whole channels.
void normalizeChannels(ReferenceCall &call, int64_t channelsOfRow, double epsilon) {
  const Tensor &x = call.in(0);
  int64_t channels = x.dim(1), pixels = countOf(std::span(x.dims()).subspan(2)), length = channelsOfRow * pixels;
  forFloat(x.type(), [&]<class T>(T) {
    const T *scale = call.in(1).as<T>(), *bias = call.in(2).as<T>();
    call.parallelFor(length ? x.elements() / length : 0, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        Statistics s = statisticsOf(x.as<T>() + row * length, length);
        double factor = 1 / std::sqrt(s.variance + epsilon);
        for (int64_t i = row * length; i < (row + 1) * length; ++i) {
          int64_t c = i / pixels % channels;
          call.out(0).as<T>()[i] =
              static_cast<T>((static_cast<double>(x.as<T>()[i]) - s.mean) * factor * static_cast<double>(scale[c]) +
                             static_cast<double>(bias[c]));
        }
      }
    });
  });
}

} // namespace

void runLayerNorm(const LayerNormAttrs &a, ReferenceCall &call) {
  normalizeRows(call, a.axis, [&]<class T>(const T *x, int64_t length) {
    Statistics s = statisticsOf(x, length);
    return Normalization{s.mean, 1 / std::sqrt(s.variance + a.epsilon)};
  });
}

void runRmsNorm(const RmsNormAttrs &a, ReferenceCall &call) {
  normalizeRows(call, a.axis, [&]<class T>(const T *x, int64_t length) {
    double squares = 0;
    for (int64_t i = 0; i < length; ++i)
      squares += static_cast<double>(x[i]) * static_cast<double>(x[i]);
    return Normalization{0, 1 / std::sqrt(squares / static_cast<double>(length) + a.epsilon)};
  });
}

void runInstanceNorm(const InstanceNormAttrs &a, ReferenceCall &call) { normalizeChannels(call, 1, a.epsilon); }

void runGroupNorm(const GroupNormAttrs &a, ReferenceCall &call) {
  normalizeChannels(call, call.in(0).dim(1) / a.num_groups, a.epsilon);
}

void runLpNormalize(const LpNormalizeAttrs &a, ReferenceCall &call) {
  const Tensor &x = call.in(0);
  int64_t axis = normalizeAxis(a.axis, static_cast<int64_t>(x.rank()), "lp_normalize_c1");
  int64_t length = x.dim(axis), inner = countOf(std::span(x.dims()).subspan(axis + 1));
  forFloat(x.type(), [&]<class T>(T) {
    call.parallelFor(length ? x.elements() / length : 0, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        int64_t start = row / inner * inner * length + row % inner;
        const T *from = x.as<T>() + start;
        T *to = call.out(0).as<T>() + start;
        double norm = 0;
        for (int64_t i = 0; i < length; ++i) {
          auto value = static_cast<double>(from[i * inner]);
          norm += a.p == 1 ? std::abs(value) : value * value;
        }
        norm = std::max(a.p == 1 ? norm : std::sqrt(norm), a.epsilon);
        for (int64_t i = 0; i < length; ++i)
          to[i * inner] = norm == 0 ? T(0) : static_cast<T>(static_cast<double>(from[i * inner]) / norm);
      }
    });
  });
}

void runHardmax(const HardmaxAttrs &a, ReferenceCall &call) {
  const Tensor &x = call.in(0);
  int64_t axis = normalizeAxis(a.axis, static_cast<int64_t>(x.rank()), "softmax_c1");
  int64_t length = x.dim(axis), inner = countOf(std::span(x.dims()).subspan(axis + 1));
  forFloat(x.type(), [&]<class T>(T) {
    call.parallelFor(length ? x.elements() / length : 0, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        int64_t start = row / inner * inner * length + row % inner, greatest = 0;
        const T *from = x.as<T>() + start;
        T *to = call.out(0).as<T>() + start;
        for (int64_t i = 1; i < length; ++i)
          if (from[i * inner] > from[greatest * inner])
            greatest = i;
        for (int64_t i = 0; i < length; ++i)
          to[i * inner] = T(i == greatest);
      }
    });
  });
}

} // namespace lathe
