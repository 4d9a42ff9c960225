// The formats of model files: how each is told, which options of an import it takes, and the runtime that usually runs it.
// Without MLIR.
#pragma once

#include <string>
#include <string_view>

namespace lathe {

/// Options of ImportOptions that not every format takes.
struct FormatOptions {
  bool requantizeRounding = false, signature = false, custom = false, overrides = false;
};

struct FileFormat {
  const char *key;     // as runners name it (docs/runner-protocol.md)
  const char *imports; // name of the importer: "tensorflow" for several keys
  bool (*matches)(std::string_view path, std::string_view bytes);
  FormatOptions takes = {};
  const char *runner = "onnxruntime"; // that a model of the format is compared with
};

/// The first format that matches. Protobuf has no mark of its own: what is nothing else is taken for ONNX. `bytes`: the whole
/// file, or beginningOf it.
const FileFormat &fileFormat(std::string_view path, std::string_view bytes);

/// As many bytes of a file as tell its format, or of the file inside of a SavedModel's folder. Of a zip archive the end is
/// part of them. Empty if the file cannot be read.
std::string beginningOf(const std::string &path);

} // namespace lathe
