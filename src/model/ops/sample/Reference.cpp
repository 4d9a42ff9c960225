// Operators that read or write elements at positions which may lie between or outside the elements.
#include "ops/ReferenceSupport.h"

#include <algorithm>

namespace lathe {
namespace {

/// An element of x along one axis and its weight; index -1 is a zero outside.
struct SampleTap {
  int64_t index;
  double weight;
};

/// The coordinate `at` mirrored into [low, high].
double reflected(double at, double low, double high) {
  double range = high - low;
  if (range <= 0)
    return low;
  double beyond = at < low ? low - at : at > high ? at - high : -1;
  if (beyond < 0)
    return at;
  auto turns = static_cast<int64_t>(beyond / range);
  double rest = beyond - static_cast<double>(turns) * range;
  return (at < low) == (turns % 2 == 0) ? low + rest : high - rest;
}

class GridAxis {
public:
  GridAxis(const GridSampleAttrs &a, int64_t extent)
      : a(a), extent(extent), low(a.align_corners ? 0 : -0.5),
        high(static_cast<double>(extent) - (a.align_corners ? 1 : 0.5)) {}

  /// `normalized`: -1 to 1 across the extent.
  std::vector<SampleTap> taps(double normalized) const {
    double at = a.align_corners ? (normalized + 1) / 2 * static_cast<double>(extent - 1)
                                : ((normalized + 1) * static_cast<double>(extent) - 1) / 2;
    if (isNan(at))
      at = -1e9;
    at = std::clamp(at, -1e9, 1e9); // avoids overflow; still far outside
    if (a.mode == "nearest")
      at = std::nearbyint(at);
    if (at < low || at > high) {
      if (a.padding_mode == "border")
        at = std::clamp(at, 0.0, static_cast<double>(extent - 1));
      else if (a.padding_mode == "reflection")
        at = reflected(at, low, high);
    }
    auto first = static_cast<int64_t>(std::floor(at));
    double t = at - static_cast<double>(first);
    if (a.mode == "nearest")
      return {{inside(static_cast<int64_t>(at)), 1}};
    if (a.mode == "linear")
      return {{inside(first), 1 - t}, {inside(first + 1), t}};
    constexpr double k = -0.75;
    auto near = [](double d) { return ((k + 2) * d - (k + 3)) * d * d + 1; };
    auto far = [](double d) { return ((k * d - 5 * k) * d + 8 * k) * d - 4 * k; };
    return {{inside(first - 1), far(t + 1)},
            {inside(first), near(t)},
            {inside(first + 1), near(1 - t)},
            {inside(first + 2), far(2 - t)}};
  }

private:
  const GridSampleAttrs &a;
  int64_t extent;
  double low, high;
  int64_t inside(int64_t index) const {
    if (index >= 0 && index < extent)
      return index;
    if (a.padding_mode == "zeros")
      return -1;
    if (a.padding_mode == "border")
      return std::clamp<int64_t>(index, 0, extent - 1);
    return std::clamp<int64_t>(static_cast<int64_t>(reflected(static_cast<double>(index), low, high)), 0, extent - 1);
  }
};

} // namespace

void runGridSample(const GridSampleAttrs &a, ReferenceCall &call) {
  const Tensor &x = call.in(0), &grid = call.in(1);
  Tensor &y = call.out(0);
  size_t spatial = x.rank() - 2;
  std::vector<GridAxis> axes;
  for (size_t i = 0; i < spatial; ++i)
    axes.emplace_back(a, x.dim(2 + i));
  int64_t channels = x.dim(1), plane = countOf(std::span(x.dims()).subspan(2)),
          points = countOf(std::span(y.dims()).subspan(2));
  forFloat(x.type(), [&]<class T>(T) {
    call.parallelFor(x.dim(0) * points, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        std::vector<SampleTap> all = {{0, 1}}; // offsets in a plane
        for (size_t axis = 0; axis < spatial; ++axis) {
          double at = grid.asDouble(i * static_cast<int64_t>(spatial) + static_cast<int64_t>(spatial - 1 - axis));
          std::vector<SampleTap> next;
          for (const SampleTap &before : all)
            for (const SampleTap &tap : axes[axis].taps(at))
              next.push_back({before.index < 0 || tap.index < 0 ? -1 : before.index * x.dim(2 + axis) + tap.index,
                              before.weight * tap.weight});
          all = std::move(next);
        }
        for (int64_t c = 0; c < channels; ++c) {
          const T *from = x.as<T>() + (i / points * channels + c) * plane;
          double sum = 0;
          for (const SampleTap &tap : all)
            if (tap.index >= 0 && tap.weight != 0)
              sum += tap.weight * static_cast<double>(from[tap.index]);
          y.as<T>()[(i / points * channels + c) * points + i % points] = static_cast<T>(sum);
        }
      }
    });
  });
}

namespace {

/// The four neighbours of a position in a plane and their weights; all weights 0 outside.
template <class T> std::array<double, 4> corners(const T *plane, int64_t height, int64_t width, double y, double x) {
  if (y < -1 || y > static_cast<double>(height) || x < -1 || x > static_cast<double>(width))
    return {};
  auto along = [](double at, int64_t extent, int64_t &low, int64_t &high) {
    at = std::max(at, 0.0);
    low = static_cast<int64_t>(at);
    high = low + 1;
    if (low >= extent - 1) {
      low = high = extent - 1;
      return 0.0;
    }
    return at - static_cast<double>(low);
  };
  int64_t top, bottom, left, right;
  double v = along(y, height, top, bottom), h = along(x, width, left, right);
  auto at = [&](int64_t row, int64_t column) { return static_cast<double>(plane[row * width + column]); };
  return {(1 - v) * (1 - h) * at(top, left), (1 - v) * h * at(top, right), v * (1 - h) * at(bottom, left),
          v * h * at(bottom, right)};
}

} // namespace

void runRoiAlign(const RoiAlignAttrs &a, ReferenceCall &call) {
  const Tensor &x = call.in(0), &rois = call.in(1), &batches = call.in(2);
  int64_t channels = x.dim(1), height = x.dim(2), width = x.dim(3), bins = a.output_height * a.output_width;
  bool half = a.coordinate_mode == "half_pixel", average = a.mode == "avg";
  require(height > 0 && width > 0, "roi_align: x has no pixels");
  forFloat(x.type(), [&]<class T>(T) {
    call.parallelFor(rois.dim(0), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        int64_t batch = batches.asInteger(r);
        require(batch >= 0 && batch < x.dim(0), "roi_align: batch index {} is outside [0, {})", batch, x.dim(0));
        double corner[4];
        for (int64_t i = 0; i < 4; ++i) {
          corner[i] = rois.asDouble(r * 4 + i) * a.spatial_scale - (half ? 0.5 : 0);
          require(std::abs(corner[i]) < 1e9, "roi_align: region {} has the coordinate {}", r, corner[i]);
        }
        double w = corner[2] - corner[0], h = corner[3] - corner[1];
        if (!half) {
          w = std::max(w, 1.0);
          h = std::max(h, 1.0);
        }
        double binHeight = h / static_cast<double>(a.output_height), binWidth = w / static_cast<double>(a.output_width);
        auto samples = [&](double bin) {
          return a.sampling_ratio > 0 ? a.sampling_ratio : std::max<int64_t>(static_cast<int64_t>(std::ceil(bin)), 0);
        };
        int64_t rows = samples(binHeight), columns = samples(binWidth);
        require(rows <= 1 << 14 && columns <= 1 << 14, "roi_align: region {} has {} x {} samples a bin", r, rows,
                columns);
        for (int64_t c = 0; c < channels; ++c) {
          const T *plane = x.as<T>() + (batch * channels + c) * height * width;
          for (int64_t bin = 0; bin < bins; ++bin) {
            double top = corner[1] + static_cast<double>(bin / a.output_width) * binHeight,
                   left = corner[0] + static_cast<double>(bin % a.output_width) * binWidth;
            double sum = 0;
            for (int64_t i = 0; i < rows; ++i)
              for (int64_t k = 0; k < columns; ++k) {
                auto four = corners(plane, height, width,
                                    top + (static_cast<double>(i) + 0.5) * binHeight / static_cast<double>(rows),
                                    left + (static_cast<double>(k) + 0.5) * binWidth / static_cast<double>(columns));
                if (average)
                  sum += four[0] + four[1] + four[2] + four[3];
                else { // ONNX's definition: the maximum of weighted corners, not of interpolated samples
                  double most = std::max({four[0], four[1], four[2], four[3]});
                  sum = i == 0 && k == 0 ? most : std::max(sum, most);
                }
              }
            if (average)
              sum /= static_cast<double>(std::max<int64_t>(rows * columns, 1));
            call.out(0).as<T>()[(r * channels + c) * bins + bin] = static_cast<T>(sum);
          }
        }
      }
    });
  });
}

void runMaxUnpool(const MaxUnpoolAttrs &a, ReferenceCall &call) {
  const Tensor &x = call.in(0), &indices = call.in(1);
  Tensor &y = call.out(0);
  require(y.defined(), "max_unpool: the result's extents are not known");
  // Positions refer to the pooled tensor. Its extents may be smaller than the requested ones.
  std::vector<int64_t> pooled = y.dims();
  if (!a.output_shape.empty())
    for (size_t i = 0; i + 2 < x.rank(); ++i)
      pooled[2 + i] = (x.dim(2 + i) - 1) * a.strides[i] - a.pads[i] - a.pads[x.rank() - 2 + i] + a.kernel[i];
  std::vector<int64_t> strides = stridesOf(y.dims());
  int64_t count = 1;
  for (int64_t extent : pooled)
    count *= std::max<int64_t>(extent, 0);
  forStorage(x, y, [&](auto *from, auto *to) {
    std::fill_n(to, y.elements(), std::decay_t<decltype(*to)>());
    for (int64_t i = 0; i < x.elements(); ++i) {
      int64_t rest = indices.as<int64_t>()[i], offset = 0;
      require(rest >= 0 && rest < count, "max_unpool: position {} is outside [0, {})", rest, count);
      for (size_t axis = y.rank(); axis-- > 0;) {
        int64_t coordinate = rest % pooled[axis];
        rest /= pooled[axis];
        require(coordinate < y.dim(axis), "max_unpool: position {} is outside the result", indices.as<int64_t>()[i]);
        offset += coordinate * strides[axis];
      }
      to[offset] = from[i];
    }
  });
}

void runCol2Im(const Col2ImAttrs &a, ReferenceCall &call) {
  const Tensor &x = call.in(0);
  Tensor &y = call.out(0);
  size_t spatial = a.image.size();
  int64_t elements = countOf(a.block), positions = x.dim(2), pixels = countOf(a.image), planes = y.dim(0) * y.dim(1);
  std::vector<int64_t> counts;
  for (size_t i = 0; i < spatial; ++i)
    counts.push_back(
        (a.image[i] + a.pads[i] + a.pads[spatial + i] - a.dilations[i] * (a.block[i] - 1) - 1) / a.strides[i] + 1);
  forNumber(x.type(), [&]<class T>(T) {
    call.parallelFor(planes, [&](int64_t begin, int64_t end) {
      for (int64_t plane = begin; plane < end; ++plane) {
        T *to = y.as<T>() + plane * pixels;
        std::fill_n(to, pixels, T(0));
        for (int64_t element = 0; element < elements; ++element)
          for (int64_t position = 0; position < positions; ++position) {
            int64_t e = element, p = position, offset = 0, step = 1;
            bool within = true;
            for (size_t i = spatial; i-- > 0;) {
              int64_t at = p % counts[i] * a.strides[i] - a.pads[i] + e % a.block[i] * a.dilations[i];
              p /= counts[i];
              e /= a.block[i];
              within &= at >= 0 && at < a.image[i];
              offset += at * step;
              step *= a.image[i];
            }
            if (within)
              to[offset] = wrapAdd(to[offset], x.as<T>()[(plane * elements + element) * positions + position]);
          }
      }
    });
  });
}

void runDet(const DetAttrs &, ReferenceCall &call) {
  const Tensor &x = call.in(0);
  int64_t n = x.dims().back();
  forFloat(x.type(), [&]<class T>(T) {
    for (int64_t i = 0; i < call.out(0).elements(); ++i) {
      std::vector<double> m(x.as<T>() + i * n * n, x.as<T>() + (i + 1) * n * n);
      double det = 1;
      for (int64_t k = 0; k < n; ++k) {
        int64_t pivot = k;
        for (int64_t row = k + 1; row < n; ++row)
          if (std::abs(m[row * n + k]) > std::abs(m[pivot * n + k]))
            pivot = row;
        if (pivot != k) {
          std::swap_ranges(m.begin() + k * n, m.begin() + (k + 1) * n, m.begin() + pivot * n);
          det = -det;
        }
        det *= m[k * n + k];
        if (m[k * n + k] == 0)
          break;
        for (int64_t row = k + 1; row < n; ++row) {
          double factor = m[row * n + k] / m[k * n + k];
          for (int64_t column = k; column < n; ++column)
            m[row * n + column] -= factor * m[k * n + column];
        }
      }
      call.out(0).as<T>()[i] = static_cast<T>(det);
    }
  });
}

} // namespace lathe
