// What a model file states about the pictures that it takes. Without MLIR: programs that only run packages read it, too.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace lathe {

struct PictureNotes {
  std::string range; // of pixels before mean and deviation: "0..255", "0..1" or "-1..1"; "": not stated
  std::vector<double> mean, deviation; // one in all, or one a channel; empty: 0 and 1
  std::string channels;                // "rgb" or "bgr"; "": not stated
  std::vector<std::string> labels;     // of the classes; empty: not stated
};

/// Reads the notes of input `number`: of a TFLite file the metadata (TFLITE_METADATA, and the labels in the archive behind it), of
/// an ONNX file the properties Image.NominalPixelRange and Image.BitmapPixelFormat. Throws Error if the file cannot be read.
PictureNotes pictureNotes(const std::string &path, size_t number);

namespace tflite {
/// Of the bytes of a whole file.
PictureNotes pictureNotes(std::string_view bytes, const std::string &path, size_t number);
} // namespace tflite
namespace onnx {
PictureNotes pictureNotes(std::string_view bytes, const std::string &path);
} // namespace onnx

} // namespace lathe
