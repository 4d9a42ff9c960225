#include "import/keras/Hdf5.h"

#include "import/Records.h"
#include "import/keras/Hdf5Form.h"
#include "process/Child.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

namespace lathe::keras {
namespace {

namespace fs = std::filesystem;

/// The path of the reader program. It is beside this program, in `bin` beside this program's folder, or in `bin` beside
/// a folder that holds this library: lib, lib/x86_64-linux-gnu or lib/x86_64-linux-gnu/lathe.
std::string readerProgram() {
  std::error_code ignored;
  fs::path own = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  std::vector<fs::path> folders = {own, own.parent_path() / "bin"};
  Dl_info library;
  if (::dladdr(reinterpret_cast<const void *>(&readerProgram), &library) && library.dli_fname) {
    fs::path folder = fs::absolute(library.dli_fname, ignored).parent_path();
    for (int levels = 0; levels < 3; ++levels) {
      folder = folder.parent_path();
      folders.push_back(folder / "bin");
    }
  }
  for (const fs::path &folder : folders)
    if (fs::path program = folder / hdf5::program; ::access(program.c_str(), X_OK) == 0)
      return program.string();
  fail("the program {} is not in {}; it is part of Lathe and reads HDF5 files", hdf5::program, own.string());
}

/// Limits compression: weights hardly compress, so a larger factor is an attack.
constexpr uint64_t mostGain = 64, alwaysAllowed = uint64_t(64) << 20;

/// Runs the program on `bytes` and returns its output.
std::string outputFor(std::string_view bytes, const std::string &fileName, const std::set<std::string> &skipped) {
  uint64_t most = bytes.size() * mostGain + alwaysAllowed;
  process::Command command;
  command.argv = {readerProgram(), "--most", std::to_string(most)};
  for (const std::string &name : skipped)
    command.argv.insert(command.argv.end(), {"--skip", name});
  process::Limits limits;
  limits.wallSeconds = 60 + static_cast<double>(bytes.size()) / 1e6; // at least a megabyte a second
  // Damaged tables can make the library loop forever. Weights with the greatest compression take about 0.2 s a megabyte
  // on a Zen 4; slower processors need more.
  limits.cpuSeconds = 2 + static_cast<double>(bytes.size()) / 1e6;
  // The file, whose buffer grows by doubling, the largest dataset, and the library's own memory.
  limits.residentBytes = static_cast<int64_t>(4 * bytes.size() + (uint64_t(1) << 30));
  auto started = process::Child::start(command, limits);
  require(started.ok(), "{}: {}", fileName, started ? "" : started.failure().message());
  process::Child &child = **started;
  child.outputMayEnd = true;
  process::Failure ending = *child.pump(-1, [&] {
    if (child.input.empty() && bytes.empty()) {
      child.closeInput();
    } else if (child.input.empty()) { // in pieces, because sent data is cut off
      child.input = bytes.substr(0, size_t(1) << 20);
      bytes.remove_prefix(child.input.size());
    }
    return false;
  });
  if (ending.kind == process::FailureKind::exited && ending.exitCode == 0)
    return std::move(child.output);
  std::string said = child.stderrTail.substr(0, child.stderrTail.find('\n'));
  if (ending.kind == process::FailureKind::exited && ending.exitCode == 2 && !said.empty())
    fail("{}: {}", fileName, said);
  fail("{}: is damaged, or not a file that the HDF5 library can read: {}", fileName, ending.message());
}

/// Reads the output step by step. Throws Error for data that does not match.
class Cursor {
public:
  Cursor(std::string_view bytes, const std::string &fileName) : rest(bytes), fileName(fileName) {}

  std::string_view take(uint64_t count) {
    require(count <= rest.size(), "{}: what {} wrote ends early", fileName, hdf5::program);
    std::string_view taken = rest.substr(0, count);
    rest.remove_prefix(count);
    return taken;
  }
  template <class T> T number() {
    T value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  std::string_view text() { return take(number<uint32_t>()); }

  Hdf5Array array(const std::string &what) {
    Hdf5Array result;
    std::string type(text());
    auto rank = number<uint32_t>();
    require(rank <= 32, "{}: {} has rank {}, expected at most 32", fileName, what, rank);
    for (uint32_t i = 0; i < rank; ++i)
      result.dims.push_back(number<int64_t>());
    int64_t count = source::checkedElements(result.dims, fileName + ": " + what);
    if (type.empty())
      return result;
    auto known = elementTypeFromName(type);
    require(known.has_value(), "{}: {} has elements of type '{}'", fileName, what, type);
    result.type = *known;
    if (result.type == ElementType::string)
      for (int64_t i = 0; i < count; ++i)
        result.strings.push_back(text());
    else
      result.bytes = take(static_cast<uint64_t>(byteSize(result.type, count)));
    return result;
  }
  bool ended() const { return rest.empty(); }

private:
  std::string_view rest;
  const std::string &fileName;
};

} // namespace

Hdf5File::Hdf5File(std::string_view bytes, const std::string &fileName, const std::set<std::string> &skipped)
    : fileName(fileName), content(outputFor(bytes, fileName, skipped)) {
  parse();
}

void Hdf5File::parse() {
  Cursor at(content, fileName);
  require(at.take(hdf5::mark.size()) == hdf5::mark, "{}: what {} wrote has no mark", fileName, hdf5::program);
  for (uint64_t records = 0;; ++records) {
    char tag = at.take(1)[0];
    if (tag == 'e') {
      auto count = at.number<uint64_t>();
      require(count == records && at.ended(), "{}: what {} wrote has {} records, expected {}", fileName, hdf5::program,
              records, count);
      return;
    }
    std::string path(at.text());
    if (tag == 'g') {
      groups.insert(path);
    } else if (tag == 'a') {
      std::string name(at.text());
      attributes[{path, name}] = at.array(fmt::format("attribute '{}' of '{}'", name, path));
    } else {
      require(tag == 'd', "{}: what {} wrote has tag {}", fileName, hdf5::program, static_cast<int>(tag));
      datasets[path] = at.array(fmt::format("dataset '{}'", path));
    }
  }
}

const Hdf5Array *Hdf5File::dataset(const std::string &path) const {
  auto found = datasets.find(path);
  return found == datasets.end() ? nullptr : &found->second;
}

const Hdf5Array *Hdf5File::attribute(const std::string &path, const std::string &name) const {
  auto found = attributes.find({path, name});
  return found == attributes.end() ? nullptr : &found->second;
}

std::optional<std::string> Hdf5File::text(const std::string &path, const std::string &name) const {
  const Hdf5Array *found = attribute(path, name);
  if (!found || found->strings.size() != 1)
    return std::nullopt;
  return std::string(found->strings[0]);
}

std::vector<std::string> Hdf5File::texts(const std::string &path, const std::string &name) const {
  std::vector<std::string> result;
  auto add = [&](const Hdf5Array *array) {
    if (array)
      result.insert(result.end(), array->strings.begin(), array->strings.end());
    return array != nullptr;
  };
  if (!add(attribute(path, name)))
    for (int part = 0; add(attribute(path, name + std::to_string(part)));)
      ++part;
  return result;
}

std::vector<std::string> Hdf5File::datasetsBelow(const std::string &path) const {
  std::vector<std::string> result;
  std::string prefix = path.ends_with('/') ? path : path + "/";
  for (auto at = datasets.lower_bound(prefix); at != datasets.end() && at->first.starts_with(prefix); ++at)
    result.push_back(at->first);
  return result;
}

} // namespace lathe::keras
