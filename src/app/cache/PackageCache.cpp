#include "cache/PackageCache.h"

#include "cache/ModelFiles.h"
#include "machine/System.h"
#include "package/Hash.h"
#include "package/Package.h"
#include "runtime/Cpu.h"
#include "support/CacheFolder.h"
#include "support/File.h"

#include <filesystem>
#include <fstream>
#include <string_view>
#include <sys/stat.h>

namespace lathe::cache {
namespace {

constexpr uintmax_t cacheLimit = uintmax_t(8) << 30; // bytes
constexpr int64_t secondsOfDay = 24 * 60 * 60;

/// The meaning of "native" on this machine: the processor's name and features. Another machine that shares the home
/// folder may differ.
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

} // namespace

uint64_t packageKey(const PackageRequest &request) {
  package::Hasher hasher;
  auto text = [&](const std::string &word) { hasher.update(word.c_str(), word.size() + 1); };
  text(LATHE_VERSION);
  for (const std::string &file : request.compiler) { // another build may generate other code
    struct stat status;
    if (::stat(file.c_str(), &status) == 0)
      text(fmt::format("{}.{} {}", status.st_mtim.tv_sec, status.st_mtim.tv_nsec, status.st_size));
  }
  if (request.native)
    text(nativeProcessor() + "\n" + systemFacts().identity()); // includes caches, but never rates
  if (!request.records.empty())
    text("records " + request.records);
  for (const std::string &flag : request.flags)
    text(flag);
  std::vector<std::string> files = {request.scheduleFile, request.machineFile};
  files.insert(files.end(), request.otherFiles.begin(), request.otherFiles.end());
  for (const std::string &file : files)
    if (!file.empty()) {
      std::vector<char> content = readFile(file);
      text(std::string(content.data(), content.size()));
    }
  // Messages and listings name the source file, so the same bytes under another name give another package.
  text(request.isFile ? std::filesystem::path(request.model).filename().string() : request.model);
  if (request.isFile)
    text(fmt::format("{:016x}", modelHash(request.model)));
  return hasher.digest();
}

Package findOrMake(const PackageRequest &request, const std::string &folder, bool kept,
                   const runtime::LoadOptions &loading, const std::function<void(const std::string &path)> &make) {
  std::string path = fmt::format("{}/{:016x}.lathe", folder, packageKey(request));
  std::error_code ignored;
  if (kept && std::filesystem::exists(path, ignored)) {
    try {
      auto model = runtime::Model::load(path, loading);
      markUsed(path, secondsOfDay); // the file's times also tell whether its constants were checked
      return {path, std::move(model)};
    } catch (const Error &) { // damaged: make it again
    }
  }
  if (kept)
    pruneOldest(folder, cacheLimit);
  make(path);
  return {path, runtime::Model::load(path, loading)};
}

} // namespace lathe::cache
