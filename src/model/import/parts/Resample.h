// Resampling of pictures along an axis, as a product with a matrix of weights.
#pragma once

#include "import/parts/Emitter.h"

namespace lathe::source {

/// A kernel: the weight of a pixel by its distance from the position of a sample, and the distance from which on it is 0.
struct ResampleKernel {
  double radius;
  double (*weight)(double distance);
};
/// The kernel by TensorFlow's name for it ("lanczos3", "triangle", ...). Throws Error for a name that is none.
const ResampleKernel &resampleKernel(const std::string &name);

/// Where the samples are: sample i is at (i + 0.5 - translation) / scale in pixels. With antialias the kernel is as wide as
/// the pixels of the result where they are larger.
struct Resampling {
  const ResampleKernel &kernel;
  double scale = 1, translation = 0;
  bool antialias = false;
};

/// `x`, pictures with the channels first, with `height` rows and `width` columns. Its own height and width must be known;
/// throws Unsupported else. Weights are those of TensorFlow's ScaleAndTranslate: they sum to 1, and a sample outside of
/// the picture is 0.
mlir::Value resampled(Emitter &op, mlir::Value x, int64_t height, int64_t width, const Resampling &rows,
                      const Resampling &columns);
/// The same with the mean over the area of each pixel of the result. With `align` the corners of both are at one place.
mlir::Value areaMeans(Emitter &op, mlir::Value x, int64_t height, int64_t width, bool align);

} // namespace lathe::source
