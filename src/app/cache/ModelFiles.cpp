#include "cache/ModelFiles.h"

#include "package/Hash.h"
#include "support/Error.h"
#include "support/ModelBytes.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <string_view>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace lathe::cache {
namespace {

/// Maps a file that is read once.
class Mapped {
public:
  explicit Mapped(const std::string &path) {
    int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    require(descriptor >= 0, "{}: cannot read: {}", path, std::strerror(errno));
    struct stat status;
    ::fstat(descriptor, &status);
    bytes = static_cast<size_t>(status.st_size);
    if (bytes)
      data = static_cast<const char *>(::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, descriptor, 0));
    int error = errno;
    ::close(descriptor);
    require(data != MAP_FAILED, "{}: cannot read: {}", path, std::strerror(error));
  }
  ~Mapped() {
    if (bytes)
      ::munmap(const_cast<char *>(data), bytes);
  }
  Mapped(const Mapped &) = delete;
  Mapped &operator=(const Mapped &) = delete;
  std::string_view view() const { return {data, bytes}; }

private:
  const char *data = nullptr;
  size_t bytes = 0;
};

/// Names of the external data files an ONNX file refers to, found without decoding it: a StringStringEntryProto with
/// key "location" is 0x0a 0x08 "location" 0x12 LENGTH VALUE.
std::vector<std::string> externalFiles(std::string_view model) {
  static constexpr std::string_view key = "\x0a\x08location\x12";
  std::vector<std::string> names;
  auto next = [&](size_t from) {
    const void *found = ::memmem(model.data() + from, model.size() - from, key.data(), key.size());
    return found ? static_cast<size_t>(static_cast<const char *>(found) - model.data()) : std::string_view::npos;
  };
  for (size_t at = next(0); at != std::string_view::npos; at = next(at + 1)) {
    size_t begin = at + key.size();
    size_t length = 0;
    for (int shift = 0; begin < model.size() && shift < 28; shift += 7) {
      auto byte = static_cast<unsigned char>(model[begin++]);
      length |= static_cast<size_t>(byte & 127) << shift;
      if (!(byte & 128))
        break;
    }
    if (length == 0 || length > 4096 || begin + length > model.size())
      continue;
    std::string name(model.substr(begin, length));
    if (std::find(names.begin(), names.end(), name) == names.end())
      names.push_back(name);
  }
  return names;
}

} // namespace

/// All files of a folder and below it, sorted, for a SavedModel.
static std::vector<std::string> filesBelow(const std::filesystem::path &folder) {
  std::vector<std::string> files;
  std::error_code error;
  std::filesystem::recursive_directory_iterator at(folder, error), end;
  for (; !error && at != end; at.increment(error))
    if (std::error_code ignored; at->is_regular_file(ignored))
      files.push_back(at->path().string());
  require(!error, "{}: cannot read: {}", folder.string(), error.message());
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<std::string> modelFiles(const std::string &model) {
  std::error_code error;
  std::filesystem::path path(model), folder = path.parent_path();
  if (std::filesystem::is_directory(path, error))
    return filesBelow(path);
  std::vector<std::string> files{model};
  if (path.stem() == "saved_model" && std::filesystem::is_directory(folder / "variables", error))
    for (std::string &file : filesBelow(folder / "variables"))
      files.push_back(std::move(file));
  Mapped content(model);
  requireModelBytes(model, content.view().size()); // searching more bytes would take minutes
  std::vector<std::string> beside = externalFiles(content.view());
  beside.push_back(path.filename().string() + ".safetensors"); // weights of textual IR
  for (const std::string &name : beside) {
    std::error_code ignored;
    if (std::filesystem::path file = folder / name; std::filesystem::is_regular_file(file, ignored))
      files.push_back(file.string());
  }
  return files;
}

uint64_t modelHash(const std::string &model) {
  package::Hasher hasher;
  for (const std::string &file : modelFiles(model)) {
    Mapped content(file);
    hasher.update(content.view().data(), content.view().size());
  }
  return hasher.digest();
}

} // namespace lathe::cache
