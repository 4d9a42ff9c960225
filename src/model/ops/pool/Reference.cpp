#include "ops/ReferenceSupport.h"
#include "ops/WindowPads.h"

#include <limits>

namespace lathe {
namespace {

/// Calls window(plane pointers ..., taps) for every output: three spatial axes, missing ones of extent 1 first.
struct PoolShape {
  std::array<int64_t, 3> in{1, 1, 1}, kernel{1, 1, 1}, out{1, 1, 1}, stride{1, 1, 1}, dilation{1, 1, 1}, pad{0, 0, 0},
      endPad{0, 0, 0};
  int64_t planes;

  template <class PoolAttrs>
  PoolShape(const PoolAttrs &a, const Tensor &x, const Tensor &y) : planes(x.dim(0) * x.dim(1)) {
    size_t spatial = x.rank() - 2;
    for (size_t i = 0; i < spatial; ++i) {
      size_t axis = i + 3 - spatial;
      in[axis] = x.dim(2 + i);
      kernel[axis] = a.kernel[i];
      out[axis] = y.dim(2 + i);
      stride[axis] = a.strides[i];
      dilation[axis] = a.dilations[i];
      int64_t window = (kernel[axis] - 1) * dilation[axis] + 1;
      pad[axis] = a.pads[i] - windowShift(a.pads, i, spatial, window, stride[axis], in[axis]).constant();
      endPad[axis] = a.pads[spatial + i];
    }
  }

  /// Calls pool(taps inside x, result index) for every output; `at` has the offsets of the taps, `padded` is the number
  /// of taps inside x or its padding.
  template <class Pool> void run(const ReferenceCall &call, Pool &&pool) const {
    int64_t inPixels = countOf(in), outPixels = countOf(out);
    call.parallelFor(planes, [&](int64_t begin, int64_t end) {
      std::array<std::vector<int64_t>, 3> inside;
      std::array<int64_t, 3> padded;
      auto along = [&](size_t axis, int64_t position) {
        // Taps [first, last] are inside x, taps up to lastPadded inside x or its padding; the window starts inside
        // them.
        int64_t start = position * stride[axis] - pad[axis], step = dilation[axis];
        int64_t first = start >= 0 ? 0 : (-start + step - 1) / step;
        int64_t last = std::min(kernel[axis] - 1, start < in[axis] ? (in[axis] - 1 - start) / step : -1);
        padded[axis] = std::min(kernel[axis], (in[axis] + endPad[axis] - 1 - start) / step + 1);
        inside[axis].clear();
        for (int64_t tap = first; tap <= last; ++tap)
          inside[axis].push_back(start + tap * step);
      };
      for (int64_t plane = begin; plane < end; ++plane) {
        int64_t result = plane * outPixels;
        for (int64_t d = 0; d < out[0]; ++d) {
          along(0, d);
          for (int64_t h = 0; h < out[1]; ++h) {
            along(1, h);
            for (int64_t w = 0; w < out[2]; ++w) {
              along(2, w);
              pool(plane * inPixels, inside, padded[0] * padded[1] * padded[2], result++);
            }
          }
        }
      }
    });
  }

  template <class Visit>
  void forTaps(int64_t plane, const std::array<std::vector<int64_t>, 3> &inside, Visit &&visit) const {
    for (int64_t d : inside[0])
      for (int64_t h : inside[1])
        for (int64_t w : inside[2])
          visit(plane + (d * in[1] + h) * in[2] + w);
  }
};

} // namespace

void runMaxPool(const MaxPoolAttrs &a, ReferenceCall &call) {
  const Tensor &x = call.in(0);
  PoolShape shape(a, x, call.out(0));
  forNumber(x.type(), [&]<class T>(T) {
    const T *from = x.as<T>();
    T *to = call.out(0).as<T>();
    T least = leastOf<T>(call.kept(0));
    shape.run(call, [&](int64_t plane, const auto &inside, int64_t, int64_t result) {
      T best = least;
      shape.forTaps(plane, inside, [&](int64_t at) { best = from[at] > best || isNan(from[at]) ? from[at] : best; });
      to[result] = best;
    });
  });
}

void runMaxPoolIndices(const MaxPoolIndicesAttrs &a, ReferenceCall &call) {
  const Tensor &x = call.in(0);
  PoolShape shape(a, x, call.out(0));
  forNumber(x.type(), [&]<class T>(T) {
    const T *from = x.as<T>();
    shape.run(call, [&](int64_t plane, const auto &inside, int64_t, int64_t result) {
      int64_t best = -1;
      shape.forTaps(plane, inside, [&](int64_t at) {
        if (best < 0 || from[at] > from[best] || (isNan(from[at]) && !isNan(from[best])))
          best = at;
      });
      if (a.column_major && best >= 0) {
        int64_t pixel = best - plane, width = shape.in[2], height = shape.in[1], depth = shape.in[0];
        int64_t column = pixel % width, row = pixel / width % height, slice = pixel / width / height;
        best = plane + (column * height + row) * depth + slice;
      }
      call.out(0).template as<int64_t>()[result] = best;
    });
  });
}

void runAveragePool(const AveragePoolAttrs &a, ReferenceCall &call) {
  const Tensor &x = call.in(0);
  PoolShape shape(a, x, call.out(0));
  forNumber(x.type(), [&]<class T>(T) {
    using Sum = std::conditional_t<std::is_floating_point_v<T>, double, T>;
    const T *from = x.as<T>();
    T *to = call.out(0).as<T>();
    shape.run(call, [&](int64_t plane, const auto &inside, int64_t padded, int64_t result) {
      Sum sum = 0;
      shape.forTaps(plane, inside, [&](int64_t at) { sum = wrapAdd<Sum>(sum, from[at]); });
      int64_t count = inside[0].size() * inside[1].size() * inside[2].size();
      int64_t divisor = a.count_include_pad ? padded : count;
      to[result] = divisor ? static_cast<T>(sum / static_cast<Sum>(divisor)) : T(0);
    });
  });
}

} // namespace lathe
