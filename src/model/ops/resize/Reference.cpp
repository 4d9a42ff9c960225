#include "ops/ReferenceSupport.h"

namespace lathe {
namespace {

struct ResizeTap {
  int64_t index;
  double weight;
};

/// For each position of the result along one axis, its elements of x and their weights.
struct AxisTaps {
  std::vector<std::vector<ResizeTap>> taps;
  std::vector<bool> outside; // tf_crop_and_resize: takes the extrapolation value
  bool identity = true;
};

/// Position in x of position `at` of the result, as ONNX Resize defines its coordinate modes. `length` is the exact,
/// possibly fractional, extent of the result.
double sourcePosition(const ResizeAttrs &a, int64_t at, int64_t in, int64_t out, double scale, double length,
                      double roiStart, double roiEnd) {
  double x = static_cast<double>(at);
  if (a.coordinate_mode == "asymmetric")
    return x / scale;
  if (a.coordinate_mode == "align_corners")
    return length == 1 ? 0 : x * (in - 1) / (length - 1);
  if (a.coordinate_mode == "tf_half_pixel_for_nn")
    return (x + 0.5) / scale;
  if (a.coordinate_mode == "pytorch_half_pixel")
    return length > 1 ? (x + 0.5) / scale - 0.5 : 0;
  if (a.coordinate_mode == "half_pixel_symmetric")
    return in / 2.0 * (1 - out / length) + (x + 0.5) / scale - 0.5;
  if (a.coordinate_mode == "tf_crop_and_resize")
    return roiStart * (in - 1) +
           (length == 1 ? (roiEnd - roiStart) * (in - 1) / 2 : x * (roiEnd - roiStart) * (in - 1) / (length - 1));
  return (x + 0.5) / scale - 0.5; // half_pixel
}

double linearWeight(double distance) { return std::max(0.0, 1 - std::abs(distance)); }

double cubicWeight(double distance, double a) {
  double x = std::abs(distance);
  if (x <= 1)
    return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

std::vector<ResizeTap> tapsAt(const ResizeAttrs &a, double position, int64_t in, double scale) {
  double base = std::floor(position), ratio = position - base;
  auto clamped = [&](double index) {
    return static_cast<int64_t>(std::clamp<double>(index, 0, static_cast<double>(in - 1)));
  };
  if (a.mode == "nearest") {
    bool up = a.nearest_mode == "ceil"                ? ratio > 0
              : a.nearest_mode == "floor"             ? false
              : a.nearest_mode == "round_prefer_ceil" ? ratio >= 0.5
                                                      : ratio > 0.5;
    return {{clamped(base + up), 1}};
  }
  // Shrinking with antialias widens the kernel by the scale.
  bool cubic = a.mode == "cubic";
  double shrink = a.antialias ? std::min(scale, 1.0) : 1.0;
  int64_t first = static_cast<int64_t>(std::floor((cubic ? -2 : -1) / shrink)) + 1, last = 1 - first;
  std::vector<ResizeTap> taps;
  double sum = 0;
  for (int64_t i = first; i <= last; ++i) {
    double weight = cubic ? cubicWeight((i - ratio) * shrink, a.cubic_coeff_a) : linearWeight((i - ratio) * shrink);
    double index = base + static_cast<double>(i);
    if (a.exclude_outside && (index < 0 || index > static_cast<double>(in - 1)))
      weight = 0;
    taps.push_back({clamped(index), weight});
    sum += weight;
  }
  if (a.antialias || a.exclude_outside)
    for (ResizeTap &tap : taps)
      tap.weight = sum == 0 ? 0 : tap.weight / sum;
  return taps;
}

AxisTaps axisTaps(const ResizeAttrs &a, int64_t in, int64_t out, double scale, double length, double roiStart,
                  double roiEnd) {
  AxisTaps axis;
  bool crop = a.coordinate_mode == "tf_crop_and_resize";
  for (int64_t i = 0; i < out; ++i) {
    double position = sourcePosition(a, i, in, out, scale, length, roiStart, roiEnd);
    axis.outside.push_back(crop && !(position >= 0 && position <= static_cast<double>(in - 1)));
    axis.taps.push_back(tapsAt(a, axis.outside.back() || !std::isfinite(position) ? 0 : position, in, scale));
    const ResizeTap &tap = axis.taps.back().front();
    axis.identity &= axis.taps.back().size() == 1 ? tap.index == i : position == static_cast<double>(i);
  }
  axis.identity &= in == out;
  return axis;
}

/// Resamples along `axis`: `dims` are the extents of `values`; the extent of `axis` becomes the number of taps.
std::vector<double> resample(const ReferenceCall &call, const std::vector<double> &values, std::vector<int64_t> &dims,
                             size_t axis, const AxisTaps &taps) {
  int64_t in = dims[axis], out = taps.taps.size(), inner = countOf(std::span(dims).subspan(axis + 1));
  dims[axis] = out;
  std::vector<double> result(countOf(dims));
  call.parallelFor(result.size() / std::max<int64_t>(inner, 1), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      double *to = result.data() + row * inner;
      for (const ResizeTap &tap : taps.taps[row % out]) {
        const double *from = values.data() + (row / out * in + tap.index) * inner;
        for (int64_t i = 0; i < inner; ++i)
          to[i] += tap.weight * from[i];
      }
    }
  });
  return result;
}

} // namespace

void runResize(const ResizeAttrs &a, ReferenceCall &call) {
  const Tensor &x = call.in(0);
  Tensor &y = call.out(0);
  require(x.elements() > 0, "resize: x is {}, there is nothing to sample", fmt::join(x.dims(), "x"));
  std::vector<AxisTaps> axes;
  for (size_t i = 0; i < x.rank(); ++i) {
    bool crop = a.coordinate_mode == "tf_crop_and_resize";
    int64_t in = x.dim(i), out = y.dim(i);
    double scale = a.scales.empty() ? static_cast<double>(out) / static_cast<double>(in) : a.scales[i];
    double length = a.scales.empty() ? static_cast<double>(out) : scale * static_cast<double>(in);
    axes.push_back(axisTaps(a, in, out, scale, length, crop ? a.roi[i] : 0, crop ? a.roi[x.rank() + i] : 1));
  }
  if (a.mode == "nearest" && a.coordinate_mode != "tf_crop_and_resize") { // exact for every type
    std::vector<int64_t> strides = stridesOf(x.dims());
    int64_t inner = x.rank() ? y.dims().back() : 1;
    forStorage(x, y, [&](auto *from, auto *to) {
      call.parallelFor(y.elements() / inner, [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
          int64_t rest = row, offset = 0;
          for (size_t axis = std::max<size_t>(x.rank(), 1) - 1; axis-- > 0; rest /= y.dim(axis))
            offset += axes[axis].taps[rest % y.dim(axis)].front().index * strides[axis];
          for (int64_t i = 0; i < inner; ++i)
            to[row * inner + i] = from[offset + (x.rank() ? axes.back().taps[i].front().index : 0)];
        }
      });
    });
    return;
  }
  Tensor wide = x.convertedTo(ElementType::f64);
  std::vector<double> values(wide.as<double>(), wide.as<double>() + wide.elements());
  std::vector<int64_t> dims = x.dims();
  for (size_t i = 0; i < x.rank(); ++i)
    if (!axes[i].identity)
      values = resample(call, values, dims, i, axes[i]);
  for (int64_t at = 0; at < y.elements(); ++at) {
    int64_t rest = at;
    for (size_t axis = x.rank(); axis-- > 0; rest /= y.dim(axis))
      if (axes[axis].outside[rest % y.dim(axis)])
        values[at] = a.extrapolation_value;
  }
  assign(y, Tensor::of<double>(y.dims(), values).convertedTo(y.type()));
}

} // namespace lathe
