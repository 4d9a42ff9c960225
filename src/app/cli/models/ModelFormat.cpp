#include "cli/models/ModelFormat.h"

#include "import/SavedModel.h"
#include "import/tensorflow/Content.h"
#include "package/Package.h"
#include "support/Error.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sys/stat.h>

namespace lathe::cli {

bool isPackage(const std::string &path) {
  struct stat status;
  require(::stat(path.c_str(), &status) == 0, "{}: cannot read: {}", path, std::strerror(errno));
  if (S_ISDIR(status.st_mode) && !savedModelFile(path).empty())
    return false;
  require(!S_ISDIR(status.st_mode), "{}: is a folder without saved_model.pb, expected a model", path);
  require(!S_ISCHR(status.st_mode) && !S_ISBLK(status.st_mode), "{}: expected a file, got a device", path);
  std::ifstream file(path, std::ios::binary);
  require(file.is_open(), "{}: cannot read: {}", path, std::strerror(errno));
  char magic[sizeof package::magic] = {};
  file.read(magic, sizeof magic);
  return std::memcmp(magic, package::magic, sizeof magic) == 0;
}

/// What tells the format; a text is recognised by its first kilobytes.
static std::string beginning(const std::string &path) {
  std::string file = savedModelFile(path), bytes(4096, 0);
  std::ifstream stream(file.empty() ? path : file, std::ios::binary);
  stream.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<size_t>(stream.gcount()));
  return bytes;
}

std::string modelFormat(const std::string &path) {
  if (isPackage(path))
    return "lathe";
  std::string bytes = beginning(path);
  std::string_view begin = bytes;
  if (begin.size() >= 8 && begin.substr(4, 4) == "TFL3") // the identifier behind a flatbuffer's first offset
    return "tflite";
  if (begin.starts_with("\x89HDF") || begin.starts_with("PK\x03\x04"))
    return "keras";
  auto isText = [](unsigned char c) { return c >= 32 || c == '\n' || c == '\t' || c == '\r'; };
  if (path.ends_with(".mlir") || (!bytes.empty() && std::all_of(bytes.begin(), bytes.end(), isText)))
    return "text";
  if (!tensorflow::isGraph(begin))
    return "onnx";
  return tensorflow::isSavedModel(begin) ? "savedmodel" : "tensorflow";
}

void requireOnnxName(const std::string &path) {
  const std::string extension = std::filesystem::path(path).extension().string();
  for (const char *other : {".tflite", ".pb", ".pbtxt", ".h5", ".hdf5", ".keras", ".mlir", ".lathe", ".py", ".cpp",
                            ".npy", ".npz", ".safetensors", ".json"})
    require(extension != other, "{}: ends in {}, expected .onnx: ONNX is what is written", path, other);
}

} // namespace lathe::cli
