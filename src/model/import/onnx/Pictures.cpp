// Reads what the properties of an ONNX file state about pictures: the convention of ONNX's MetadataProps document.
#include "import/PictureNotes.h"

#include "import/onnx/onnx.pb.h"
#include "support/Error.h"

#include <climits>

namespace lathe::onnx {

PictureNotes pictureNotes(std::string_view bytes, const std::string &path) {
  ModelProto model;
  require(bytes.size() <= INT_MAX && model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())),
          "{}: is neither an ONNX nor a TFLite file", path);
  PictureNotes notes;
  for (const auto &property : model.metadata_props()) {
    const std::string &key = property.key(), &value = property.value();
    auto unknown = [&](const char *expected) { fail("{}: {} is '{}', expected {}", path, key, value, expected); };
    if (key == "Image.NominalPixelRange") {
      notes.range = value == "NominalRange_0_255" ? "0..255" : value == "Normalized_0_1" ? "0..1" : "-1..1";
      if (notes.range == "-1..1" && value != "Normalized_1_1")
        unknown("NominalRange_0_255, Normalized_0_1 or Normalized_1_1");
    }
    if (key == "Image.BitmapPixelFormat") {
      notes.channels = value.starts_with("Bgr") ? "bgr" : "rgb";
      if (!value.starts_with("Bgr") && !value.starts_with("Rgb") && !value.starts_with("Gray"))
        unknown("Gray8, Rgb8, Bgr8, Rgba8 or Bgra8");
    }
  }
  return notes;
}

} // namespace lathe::onnx
