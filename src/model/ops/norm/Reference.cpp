#include "ops/ReferenceSupport.h"

#include <limits>

namespace lathe {

void runBatchNorm(const BatchNormAttrs &a, ReferenceCall &call) {
  const Tensor &x = call.in(0);
  int64_t channels = x.dim(1), pixels = countOf(std::span(x.dims()).subspan(2));
  std::array<Tensor, 5> statistics;
  for (size_t i = 1; i < 5; ++i)
    statistics[i] = call.in(i).convertedTo(x.type());
  forFloat(x.type(), [&]<class T>(T) {
    const T *from = x.as<T>(), *scale = statistics[1].as<T>(), *bias = statistics[2].as<T>(),
            *mean = statistics[3].as<T>(), *variance = statistics[4].as<T>();
    T *to = call.out(0).as<T>();
    call.parallelFor(x.dim(0) * channels, [&](int64_t begin, int64_t end) {
      for (int64_t plane = begin; plane < end; ++plane) {
        int64_t c = plane % channels;
        T factor = scale[c] / std::sqrt(variance[c] + static_cast<T>(a.epsilon));
        for (int64_t i = plane * pixels; i < (plane + 1) * pixels; ++i)
          to[i] = (from[i] - mean[c]) * factor + bias[c];
      }
    });
  });
}

void runLrn(const LrnAttrs &a, ReferenceCall &call) {
  const Tensor &x = call.in(0);
  int64_t channels = x.dim(1), pixels = countOf(std::span(x.dims()).subspan(2));
  forFloat(x.type(), [&]<class T>(T) {
    const T *from = x.as<T>();
    T *to = call.out(0).as<T>();
    call.parallelFor(x.dim(0) * channels, [&](int64_t begin, int64_t end) {
      std::vector<double> squares(pixels);
      for (int64_t plane = begin; plane < end; ++plane) {
        int64_t c = plane % channels;
        int64_t first = std::max<int64_t>(0, c - (a.size - 1) / 2),
                last = std::min(channels - 1, c + std::min(a.size / 2, channels));
        std::fill(squares.begin(), squares.end(), 0.0);
        for (int64_t other = first; other <= last; ++other) {
          const T *row = from + (plane - c + other) * pixels;
          for (int64_t i = 0; i < pixels; ++i)
            squares[i] += static_cast<double>(row[i]) * row[i];
        }
        for (int64_t i = 0; i < pixels; ++i)
          to[plane * pixels + i] =
              static_cast<T>(from[plane * pixels + i] / std::pow(a.bias + a.alpha / a.size * squares[i], a.beta));
      }
    });
  });
}

namespace {

/// finish(value - greatest, sum of exponentials) for every element, along one axis.
template <class Finish> void softmax(ReferenceCall &call, int64_t axis, Finish &&finish) {
  const Tensor &x = call.in(0);
  axis = normalizeAxis(axis, x.rank(), "softmax_c1");
  int64_t length = x.dim(axis), inner = countOf(std::span(x.dims()).subspan(axis + 1));
  forFloat(x.type(), [&]<class T>(T) {
    call.parallelFor(x.elements() / length, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        int64_t start = row / inner * inner * length + row % inner;
        const T *from = x.as<T>() + start;
        T *to = call.out(0).as<T>() + start;
        T greatest = -std::numeric_limits<T>::infinity();
        for (int64_t i = 0; i < length; ++i)
          greatest = std::max(greatest, from[i * inner]);
        double sum = 0;
        for (int64_t i = 0; i < length; ++i)
          sum += std::exp(static_cast<double>(from[i * inner] - greatest));
        for (int64_t i = 0; i < length; ++i)
          to[i * inner] = static_cast<T>(finish(static_cast<double>(from[i * inner] - greatest), sum));
      }
    });
  });
}

} // namespace

void runSoftmax(const SoftmaxAttrs &a, ReferenceCall &call) {
  softmax(call, a.axis, [](double x, double sum) { return std::exp(x) / sum; });
}

void runLogSoftmax(const LogSoftmaxAttrs &a, ReferenceCall &call) {
  softmax(call, a.axis, [](double x, double sum) { return x - std::log(sum); });
}

} // namespace lathe
