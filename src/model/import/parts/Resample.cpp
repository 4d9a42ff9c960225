#include "import/parts/Resample.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>

namespace lathe::source {
namespace {

template <int Radius> double lanczos(double x) {
  if (x > Radius)
    return 0;
  if (x <= 1e-3)
    return 1;
  double angle = std::numbers::pi * x;
  return Radius * std::sin(angle) * std::sin(angle / Radius) / (angle * angle);
}

double gaussian(double x) { return x >= 1.5 ? 0 : std::exp(-2 * x * x); } // deviation 0.5
double box(double x) { return x < 0.5 ? 1 : x == 0.5 ? 0.5 : 0; }
double triangle(double x) { return x < 1 ? 1 - x : 0; }

double keysCubic(double x) {
  if (x >= 2)
    return 0;
  return x >= 1 ? ((-0.5 * x + 2.5) * x - 4) * x + 2 : (1.5 * x - 2.5) * x * x + 1;
}

double mitchellCubic(double x) {
  if (x >= 2)
    return 0;
  return x >= 1 ? ((-7.0 / 18 * x + 2) * x - 10.0 / 3) * x + 16.0 / 9 : (7.0 / 6 * x - 2) * x * x + 8.0 / 9;
}

/// A matrix of weights, one row for each sample.
struct Weights {
  int64_t samples, pixels;
  std::vector<float> values;

  Weights(int64_t samples, int64_t pixels) : samples(samples), pixels(pixels) {
    require(samples >= 1 && pixels >= 1, "resizes {} pixels to {}, expected at least 1", pixels, samples);
    values.resize(static_cast<size_t>(madeElements({samples, pixels}, "a matrix of weights")));
  }
  float &at(int64_t sample, int64_t pixel) { return values[static_cast<size_t>(sample * pixels + pixel)]; }
  mlir::Value constant(Emitter &op) const {
    TensorData data{ElementType::f32, {samples, pixels}, {}, {}};
    data.bytes.resize(values.size() * sizeof(float));
    std::memcpy(data.bytes.data(), values.data(), data.bytes.size());
    return op.node.constant(data);
  }
};

Weights kernelWeights(int64_t samples, int64_t pixels, const Resampling &how) {
  require(std::isfinite(how.scale) && how.scale > 0 && std::isfinite(how.translation),
          "the scale is {} and the translation {}, expected a positive and a finite number", how.scale,
          how.translation);
  Weights weights(samples, pixels);
  double wide = how.antialias ? std::max(1 / how.scale, 1.0) : 1, reach = how.kernel.radius * wide;
  auto last = static_cast<double>(pixels - 1);
  for (int64_t i = 0; i < samples; ++i) {
    double position = (static_cast<double>(i) + 0.5 - how.translation) / how.scale;
    if (position < 0 || position > static_cast<double>(pixels))
      continue;
    auto begin = static_cast<int64_t>(std::clamp(std::ceil(position - reach - 0.5), 0.0, last));
    auto end = static_cast<int64_t>(std::clamp(std::floor(position + reach - 0.5), 0.0, last));
    double sum = 0;
    auto weightOf = [&](int64_t pixel) {
      return how.kernel.weight(std::abs(static_cast<double>(pixel) + 0.5 - position) / wide);
    };
    for (int64_t pixel = begin; pixel <= end; ++pixel)
      sum += weightOf(pixel);
    for (int64_t pixel = begin; pixel <= end && std::abs(sum) > 1000 * std::numeric_limits<float>::min(); ++pixel)
      weights.at(i, pixel) = static_cast<float>(weightOf(pixel) / sum);
  }
  return weights;
}

Weights areaWeights(int64_t samples, int64_t pixels, bool align) {
  Weights weights(samples, pixels);
  double scale = align && samples > 1 ? static_cast<double>(pixels - 1) / static_cast<double>(samples - 1)
                                      : static_cast<double>(pixels) / static_cast<double>(samples);
  for (int64_t i = 0; i < samples && scale > 0; ++i) {
    double begin = static_cast<double>(i) * scale, end = begin + scale;
    for (auto x = static_cast<int64_t>(std::floor(begin)); static_cast<double>(x) < end; ++x) {
      double covered = std::min(end, static_cast<double>(x + 1)) - std::max(begin, static_cast<double>(x));
      weights.at(i, std::clamp<int64_t>(x, 0, pixels - 1)) += static_cast<float>(covered / scale);
    }
  }
  return weights;
}

/// rows * x * columns^T for every channel.
mlir::Value productOf(Emitter &op, const Weights &rows, mlir::Value x, const Weights &columns) {
  mlir::Value right = transpose(op.node, columns.constant(op), {1, 0});
  return op.emit("matmul", {op.emit("matmul", {rows.constant(op), x}), right});
}

/// Height and width of a picture with the channels first.
std::pair<int64_t, int64_t> extentsOf(Emitter &op, mlir::Value x) {
  return {knownExtent(op, op.dims(x).at(2), "the image"), knownExtent(op, op.dims(x).at(3), "the image")};
}

} // namespace

const ResampleKernel &resampleKernel(const std::string &name) {
  static const std::pair<const char *, ResampleKernel> kernels[] = {{"lanczos1", {1, lanczos<1>}},
                                                                    {"lanczos3", {3, lanczos<3>}},
                                                                    {"lanczos5", {5, lanczos<5>}},
                                                                    {"gaussian", {1.5, gaussian}},
                                                                    {"box", {1, box}},
                                                                    {"triangle", {1, triangle}},
                                                                    {"keyscubic", {2, keysCubic}},
                                                                    {"mitchellcubic", {2, mitchellCubic}}};
  for (const auto &[known, kernel] : kernels)
    if (name == known)
      return kernel;
  fail("the kernel is '{}', expected lanczos1, lanczos3, lanczos5, gaussian, box, triangle, keyscubic or mitchellcubic",
       oneLine(name));
}

mlir::Value resampled(Emitter &op, mlir::Value x, int64_t height, int64_t width, const Resampling &rows,
                      const Resampling &columns) {
  auto [high, wide] = extentsOf(op, x);
  return productOf(op, kernelWeights(height, high, rows), x, kernelWeights(width, wide, columns));
}

mlir::Value areaMeans(Emitter &op, mlir::Value x, int64_t height, int64_t width, bool align) {
  auto [high, wide] = extentsOf(op, x);
  return productOf(op, areaWeights(height, high, align), x, areaWeights(width, wide, align));
}

} // namespace lathe::source
