// Resampling of pictures along an axis, as a product with a matrix of weights.
#pragma once

#include "import/parts/Emitter.h"

namespace lathe::source {

/// A kernel of resampling: the weight of a pixel by its distance from a sample's position, and the distance at which
/// it becomes 0.
struct ResampleKernel {
  double radius;
  double (*weight)(double distance);
};
/// The resampling kernel with TensorFlow's name `name` ("lanczos3", "triangle", ...). Throws Error for an unknown
/// name.
const ResampleKernel &resampleKernel(const std::string &name);

/// Where the samples of a picture are along an axis: sample i is at pixel position (i + 0.5 - translation) / scale.
/// With antialias, the kernel is widened to the size of a result pixel if that is larger than a pixel of the operand.
struct Resampling {
  const ResampleKernel &kernel;
  double scale = 1, translation = 0;
  bool antialias = false;
};

/// Emits `x`, pictures with the channels first, resampled to `height` rows and `width` columns. Throws Unsupported
/// unless the height and width of `x` are known. Weights are those of TensorFlow's ScaleAndTranslate: they sum to 1,
/// and a sample outside the picture is 0.
mlir::Value resampled(Emitter &op, mlir::Value x, int64_t height, int64_t width, const Resampling &rows,
                      const Resampling &columns);
/// Emits `x` resized to `height` x `width`; each result is the mean over the area of its pixel. With `align`, the
/// first and the last pixel of an axis begin at the same places in operand and result.
mlir::Value areaMeans(Emitter &op, mlir::Value x, int64_t height, int64_t width, bool align);

} // namespace lathe::source
