// Reads pictures and converts them to inputs of a model.
#pragma once

#include "runtime/Tensor.h"
#include "support/Quantization.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lathe::evaluate {

struct Picture {
  int64_t width = 0, height = 0;
  std::vector<uint8_t> rgb; // height x width x 3
};

/// True for a file name that ends in .png, .jpg, .jpeg or .bmp, in upper or lower case.
bool isPicture(const std::string &path);
/// Reads PNG, JPEG or BMP of at most 2^28 pixels. Throws Error with the file.
Picture readPicture(const std::string &path);
/// Writes a PNG file. Throws Error with the file.
void writePng(const std::string &path, const Picture &picture);

/// The part of `picture` from column `x` and row `y`.
Picture cropped(const Picture &picture, int64_t x, int64_t y, int64_t width, int64_t height);
/// Resizes a picture. Each pixel is the mean of the source pixels that its area touches, rounded half up; enlarging
/// repeats pixels.
Picture resized(const Picture &picture, int64_t width, int64_t height);

struct Preprocessing {
  int64_t width = 0, height = 0; // of the model's input
  int64_t planes = 3;            // 3, or 1 for the luminance
  bool channelsLast = false;     // 1 x height x width x channels
  bool crop = false;             // resize the shorter side and crop the middle; otherwise stretch
  int64_t shorterSide = 0;       // before the crop, in pixels; 0: the picture just covers the input
  bool reversed = false;         // order blue, green, red
  double least = 0, most = 1;    // values for pixels 0 and 255, before mean and deviation
  std::array<double, 3> mean{0, 0, 0}, deviation{1, 1, 1};
  ElementType type = ElementType::f32;
  /// For an integer input: round(value / scale) + zeroPoint, saturated. scale 0: the pixel itself, minus 128 for i8.
  double scale = 0;
  int64_t zeroPoint = 0;
  /// For an integer input whose model states its quantisation, instead of `scale`: quantises real numbers like the
  /// numbers of a file (runtime/QuantizedTensor.h).
  std::optional<Quantization> quantization = {};
};

/// The input, with a batch of 1.
Tensor preprocess(const Picture &picture, const Preprocessing &how);

} // namespace lathe::evaluate
