#include "cli/Cache.h"

#include "cli/print/Terminal.h"
#include "lab/TemporaryDirectory.h"
#include "package/Hash.h"
#include "package/Package.h"
#include "runtime/Cpu.h"
#include "support/CacheFolder.h"
#include "support/Interrupt.h"
#include "support/ModelBytes.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <optional>
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

/// The files that the model consists of: its own, external data, the weights of textual IR.
std::vector<std::string> modelFiles(const ModelFlags &flags) {
  std::vector<std::string> files{flags.model};
  std::filesystem::path folder = std::filesystem::path(flags.model).parent_path();
  Mapped model(flags.model);
  requireModelBytes(flags.model, model.view().size()); // a search through more would take minutes
  std::vector<std::string> beside = externalFiles(model.view());
  beside.push_back(std::filesystem::path(flags.model).filename().string() + ".safetensors"); // weights of textual IR
  for (const std::string &name : beside) {
    std::error_code ignored;
    if (std::filesystem::path file = folder / name; std::filesystem::is_regular_file(file, ignored))
      files.push_back(file.string());
  }
  return files;
}

void hashContent(const ModelFlags &flags, package::Hasher &hasher) {
  for (const std::string &file : modelFiles(flags)) {
    Mapped content(file);
    hasher.update(content.view().data(), content.view().size());
  }
}

/// What "native" stands for here: the processor's name and features, which a machine that shares the home folder may
/// not have.
std::string nativeProcessor() {
  std::string text = package::featureNames(runtime::cpuFeatures());
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line) && !line.empty();) // the first processor
    for (const char *key :
         {"vendor_id", "cpu family", "model", "flags", "Features", "CPU implementer", "CPU part", "isa"})
      if (line.starts_with(key))
        text += "\n" + line;
  return text;
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
  if (flags.target.find("native") != std::string::npos)
    text(nativeProcessor());
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
constexpr int64_t secondsOfDay = 24 * 60 * 60;

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

std::vector<std::string> filesOf(const ModelFlags &flags) {
  std::vector<std::string> files;
  std::error_code ignored;
  if (!flags.isZoo() && std::filesystem::is_regular_file(flags.model, ignored))
    files = isPackage(flags.model) ? std::vector<std::string>{flags.model} : modelFiles(flags);
  if (!flags.scheduleFile.empty())
    files.push_back(flags.scheduleFile);
  return files;
}

void runSelf(const Arguments &arguments) {
  std::string program = ownProgram(), typed = "LATHE_TYPED_VERB=" + shownVerb("");
  std::vector<char *> argv{program.data()}, environment;
  for (const std::string &argument : arguments)
    argv.push_back(const_cast<char *>(argument.c_str()));
  argv.push_back(nullptr);
  for (char **entry = environ; *entry; ++entry)
    if (!std::string_view(*entry).starts_with("LATHE_TYPED_VERB="))
      environment.push_back(*entry);
  environment.push_back(typed.data());
  environment.push_back(nullptr);
  pid_t child;
  posix_spawn_file_actions_t actions; // stdout belongs to the verb that asked, which may write JSON there
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  posix_spawnattr_t attributes; // a group of its own: a signal from the terminal reaches it through us alone
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  int error = ::posix_spawn(&child, program.c_str(), &actions, &attributes, argv.data(), environment.data());
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  require(error == 0, "cannot start {}: {}", program, std::strerror(error));
  std::optional<Cleanup> cleanup;
  cleanup.emplace([child] { // SIGHUP: it removes its files and says nothing
    ::kill(child, SIGHUP);
    for (int tries = 0; tries < 500 && ::kill(child, 0) == 0; ++tries) // until the waitpid below has fetched it
      ::usleep(10000);
    ::kill(child, SIGKILL);
  });
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  cleanup.reset(); // waits for the end of this process where a signal has ended the child
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
    return;
  if (WIFSIGNALED(status))
    say(fmt::format("lathe {}: {}: 'lathe {}' was ended by signal {} ({})", shownVerb(""), arguments.at(1),
                    arguments.at(0), WTERMSIG(status), ::strsignal(WTERMSIG(status))));
  throw ChildFailed{WIFEXITED(status) ? WEXITSTATUS(status) : internalError};
}

std::string cacheFolderOrSay(const std::string &part) {
  std::string why, folder = cacheFolder(part, &why);
  if (folder.empty() && !std::getenv("LATHE_NO_CACHE_SAID")) {
    say(fmt::format("lathe: works without a cache: {}", why));
    ::setenv("LATHE_NO_CACHE_SAID", "1", 1); // to the processes that this one starts, too
  }
  return folder;
}

std::filesystem::path temporaryFolder() {
  static lab::TemporaryDirectory folder("cli");
  return folder.path;
}

Package openPackage(const std::string &path, const ModelFlags &flags) {
  return {path, runtime::Model::load(path, flags.loadOptions())};
}

Package packageFor(const ModelFlags &flags) {
  if (!flags.isZoo() && isPackage(flags.model))
    return openPackage(flags.model, flags);
  runtime::LoadOptions loading = flags.loadOptions();
  loading.name = flags.model; // which is what messages are about, not where its package lies
  std::string folder = flags.noCache ? "" : cacheFolderOrSay("packages");
  bool cached = !folder.empty();
  if (!cached)
    folder = temporaryFolder().string();
  std::string path = fmt::format("{}/{:016x}.lathe", folder, keyOf(flags));
  std::error_code ignored;
  if (cached && std::filesystem::exists(path, ignored)) {
    try {
      auto model = runtime::Model::load(path, loading);
      markUsed(path, secondsOfDay); // its times say, too, whether its constants were checked
      return {path, std::move(model)};
    } catch (const Error &) { // damaged: made again
    }
  }
  if (cached)
    pruneOldest(folder, cacheLimit);
  Arguments arguments{"compile", flags.model, "-o", path, quietFlag()};
  Arguments rest = flags.compileArguments();
  arguments.insert(arguments.end(), rest.begin(), rest.end());
  if (!cached)
    arguments.push_back("--no-cache");
  runSelf(arguments);
  return {path, runtime::Model::load(path, loading)};
}

std::string verdictPath(const runtime::Model &package) {
  std::optional<uint64_t> content = package.contentHash();
  std::string folder = content ? cacheFolder("verdicts") : "";
  return folder.empty() ? "" : fmt::format("{}/{:016x}.json", folder, *content);
}

} // namespace lathe::cli
