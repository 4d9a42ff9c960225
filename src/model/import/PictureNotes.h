// Reads what a model file states about its input pictures. Without MLIR: programs that only run packages use it, too.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace lathe {

struct PictureNotes {
  std::string range; // range of pixels before mean and deviation: "0..255", "0..1" or "-1..1"; "": not stated
  std::vector<double> mean, deviation; // one number for all channels, or one per channel; empty: 0 and 1
  std::string channels;                // order of the colour channels, "rgb" or "bgr"; "": not stated
  std::vector<std::string> labels;     // names of the model's classes; empty: not stated
};

/// Reads what a model file states about input `number`: from a TFLite file the metadata (TFLITE_METADATA, and the
/// labels in the archive behind it), from an ONNX file the properties Image.NominalPixelRange and
/// Image.BitmapPixelFormat. Throws Error if the file cannot be read.
PictureNotes pictureNotes(const std::string &path, size_t number);

namespace tflite {
/// Reads what a model states about input `number` from the bytes of the whole file; `path` is its name for messages.
PictureNotes pictureNotes(std::string_view bytes, const std::string &path, size_t number);
} // namespace tflite
namespace onnx {
PictureNotes pictureNotes(std::string_view bytes, const std::string &path);
} // namespace onnx

} // namespace lathe
