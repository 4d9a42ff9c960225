// The formats of model files: how each is recognised, which import options it takes, and the runtime that usually runs
// it. Without MLIR.
#pragma once

#include <string>
#include <string_view>

namespace lathe {

/// Options of ImportOptions that only some file formats take; true: the format takes the option.
struct FormatOptions {
  bool requantizeRounding = false, signature = false, custom = false, overrides = false;
};

struct FileFormat {
  const char *key; // name of the format for runners (docs/runner-protocol.md)
  /// Name of the importer that reads the format. Several keys can have one importer ("tensorflow").
  const char *imports;
  bool (*matches)(std::string_view path, std::string_view bytes);
  FormatOptions takes = {};
  const char *runner = "onnxruntime"; // runner that `compare` uses by default for files of the format
};

/// The first file format that matches. Protobuf has no magic number, so a file that matches no other format counts as
/// ONNX. `bytes` is the whole file, or the result of beginningOf.
const FileFormat &fileFormat(std::string_view path, std::string_view bytes);

/// The bytes of a file that tell its format: its beginning, and for a zip archive also its end. For the folder of a
/// SavedModel, the bytes of the file inside. Empty if the file cannot be read.
std::string beginningOf(const std::string &path);

} // namespace lathe
