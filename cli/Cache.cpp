#include "cli/Cache.h"

#include "package/Hash.h"
#include "package/Package.h"
#include "support/CacheFolder.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace lathe::cli {
namespace {

/// A file mapped to be read once.
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
  for (size_t at = model.find(key); at != std::string_view::npos; at = model.find(key, at + 1)) {
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

void hashContent(const ModelFlags &flags, package::Hasher &hasher) {
  Mapped model(flags.model);
  hasher.update(model.view().data(), model.view().size());
  std::filesystem::path folder = std::filesystem::path(flags.model).parent_path();
  std::vector<std::string> beside = externalFiles(model.view());
  beside.push_back(std::filesystem::path(flags.model).filename().string() + ".safetensors"); // weights of textual IR
  for (const std::string &name : beside) {
    std::error_code ignored;
    if (std::filesystem::path file = folder / name; std::filesystem::is_regular_file(file, ignored)) {
      Mapped external(file.string());
      hasher.update(external.view().data(), external.view().size());
    }
  }
}

/// Everything the package depends on.
uint64_t keyOf(const ModelFlags &flags) {
  package::Hasher hasher;
  auto text = [&](const std::string &word) { hasher.update(word.c_str(), word.size() + 1); };
  text(LATHE_VERSION);
  std::string compiler = ownProgram(); // another build makes other code
  for (const std::string &file : {compiler, compilerLibrary()}) {
    struct stat status;
    if (::stat(file.c_str(), &status) == 0)
      text(fmt::format("{}.{} {}", status.st_mtim.tv_sec, status.st_mtim.tv_nsec, status.st_size));
  }
  for (const std::string &word : flags.compileArguments())
    text(word);
  if (!flags.scheduleFile.empty())
    text(readFile(flags.scheduleFile));
  if (flags.isZoo()) {
    text(flags.model);
    return hasher.digest();
  }
  hashContent(flags, hasher);
  // Messages and listings name the source file, so equal bytes under another name are another package.
  text(std::filesystem::path(flags.model).filename().string());
  return hasher.digest();
}

constexpr uintmax_t cacheLimit = uintmax_t(8) << 30;

} // namespace

uint64_t contentHash(const ModelFlags &flags) {
  package::Hasher hasher;
  hashContent(flags, hasher);
  return hasher.digest();
}

std::string ownProgram() {
  std::error_code error;
  std::string path = std::filesystem::read_symlink("/proc/self/exe", error).string();
  require(!error, "cannot find the program's own file: {}", error.message());
  return path;
}

std::string compilerLibrary() {
  std::filesystem::path folder = std::filesystem::path(ownProgram()).parent_path();
  for (const char *place : {"../lib", "../lib/lathe", "../lib/x86_64-linux-gnu", "../lib/aarch64-linux-gnu", "."}) {
    std::filesystem::path candidate = folder / place / "liblathe_cli_compiler.so";
    std::error_code ignored;
    if (std::filesystem::exists(candidate, ignored))
      return candidate.lexically_normal().string();
  }
  return "liblathe_cli_compiler.so";
}

void runSelf(const Arguments &arguments) {
  std::string program = ownProgram();
  std::vector<char *> argv{program.data()};
  for (const std::string &argument : arguments)
    argv.push_back(const_cast<char *>(argument.c_str()));
  argv.push_back(nullptr);
  pid_t child;
  posix_spawn_file_actions_t actions; // stdout belongs to the verb that asked, which may write JSON there
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  int error = ::posix_spawn(&child, program.c_str(), &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  require(error == 0, "cannot start {}: {}", program, std::strerror(error));
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
    return;
  if (WIFSIGNALED(status))
    fmt::print(stderr, "lathe {} was ended by signal {} ({})\n", arguments.at(0), WTERMSIG(status),
               ::strsignal(WTERMSIG(status)));
  throw ChildFailed{WIFEXITED(status) ? WEXITSTATUS(status) : internalError};
}

std::string cacheFolder() {
  const char *xdg = std::getenv("XDG_CACHE_HOME");
  const char *home = std::getenv("HOME");
  if (xdg && *xdg)
    return std::string(xdg) + "/lathe";
  return std::string(home && *home ? home : "/tmp") + "/.cache/lathe";
}

std::string kernelCacheFolder() { return cacheFolder() + "/kernels"; }

std::string packageFor(const ModelFlags &flags) {
  if (!flags.isZoo() && isPackage(flags.model))
    return flags.model;
  std::string folder = cacheFolder() + "/packages";
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  require(!error, "{}: cannot create: {}", folder, error.message());
  std::string path = fmt::format("{}/{:016x}.lathe", folder, keyOf(flags));
  if (!flags.noCache && std::filesystem::exists(path, error) && isPackage(path))
    return path;
  pruneOldest(folder, cacheLimit);
  Arguments arguments{"compile", flags.model, "-o", path, "--quiet"};
  Arguments rest = flags.compileArguments();
  arguments.insert(arguments.end(), rest.begin(), rest.end());
  if (flags.noCache)
    arguments.push_back("--no-cache");
  runSelf(arguments);
  return path;
}

std::string verdictPath(const std::string &package) {
  // The header and the section table hold the hashes of everything else.
  std::ifstream file(package, std::ios::binary);
  package::Header header{};
  file.read(reinterpret_cast<char *>(&header), sizeof header);
  std::vector<char> table(std::min<uint32_t>(header.sectionCount, 64) * sizeof(package::Section));
  file.read(table.data(), static_cast<std::streamsize>(table.size()));
  require(static_cast<bool>(file), "{}: is not a package", package);
  package::Hasher hasher;
  hasher.update(&header, sizeof header);
  hasher.update(table.data(), table.size());
  return fmt::format("{}/verdicts/{:016x}.json", cacheFolder(), hasher.digest());
}

} // namespace lathe::cli
