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
  std::vector<uint8_t> rgb; // height x width pixels of 3 bytes: red, green, blue
};

/// True for a file name that ends in .png, .jpg, .jpeg or .bmp, in upper or lower case.
bool isPicture(const std::string &path);
/// Reads a picture from a PNG, JPEG or BMP file of at most 2^28 pixels. Throws Error that names the file.
Picture readPicture(const std::string &path);
/// Writes a picture as a PNG file. Throws Error that names the file.
void writePng(const std::string &path, const Picture &picture);

/// Returns the rectangle of `picture` that begins at column `x` and row `y`.
Picture cropped(const Picture &picture, int64_t x, int64_t y, int64_t width, int64_t height);
/// Resizes a picture. Each pixel is the mean of the source pixels that its area touches, rounded half up; enlarging
/// repeats pixels.
Picture resized(const Picture &picture, int64_t width, int64_t height);

struct Preprocessing {
  int64_t width = 0, height = 0; // extents of the model's input, in pixels
  int64_t planes = 3;            // number of colour planes: 3, or 1 for the luminance
  bool channelsLast = false;     // true: the input is 1 x height x width x planes; false: 1 x planes x height x width
  bool crop = false;             // true: resize the shorter side and crop the middle; false: stretch
  /// Length of the shorter side before the crop, in pixels; 0: the picture just covers the input.
  int64_t shorterSide = 0;
  bool reversed = false;      // true: planes are in the order blue, green, red
  double least = 0, most = 1; // values of pixels 0 and 255, before mean and deviation
  std::array<double, 3> mean{0, 0, 0}, deviation{1, 1, 1};
  ElementType type = ElementType::f32;
  /// For an integer input, pixels become round(value / scale) + zeroPoint, saturated. With scale 0 they are the pixel
  /// itself, minus 128 for i8.
  double scale = 0;
  int64_t zeroPoint = 0;
  /// Quantisation that the model states for its integer input. If given, it replaces `scale` and `zeroPoint`: the
  /// prepared real numbers are quantised by it (runtime/QuantizedTensor.h).
  std::optional<Quantization> quantization = {};
};

/// Turns a picture into an input of a model, with a batch of 1, as `how` says.
Tensor preprocess(const Picture &picture, const Preprocessing &how);

} // namespace lathe::evaluate
