#include "jobs/ModelFormat.h"

#include "import/FileFormats.h"
#include "import/SavedModel.h"
#include "package/Package.h"
#include "support/Error.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sys/stat.h>

namespace lathe::jobs {

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

std::string modelFormat(const std::string &path) {
  return isPackage(path) ? "lathe" : fileFormat(path, beginningOf(path)).key;
}

void requireOnnxName(const std::string &path) {
  const std::string extension = std::filesystem::path(path).extension().string();
  for (const char *other : {".tflite", ".pb", ".pbtxt", ".h5", ".hdf5", ".keras", ".mlir", ".lathe", ".py", ".cpp",
                            ".npy", ".npz", ".safetensors", ".json"})
    require(extension != other, "{}: ends in {}, expected .onnx: ONNX is what is written", path, other);
}

} // namespace lathe::jobs
