#include "cache/CheckedPackages.h"

#include "package/Hash.h"
#include "support/CacheFolder.h"
#include "support/File.h"

#include <fmt/format.h>

#include <filesystem>

namespace lathe::cache {
namespace {

constexpr const char *part = "checked";
constexpr uintmax_t limit = uintmax_t(1) << 18; // bytes: about two thousand packages

std::string textOf(const runtime::FileIdentity &file, uint64_t content) {
  return fmt::format("device {} inode {} bytes {} modified {} changed {} content {:016x}\n", file.device, file.inode,
                     file.bytes, file.modified, file.changed, content);
}

std::string pathOf(const std::string &folder, const std::string &text) {
  return fmt::format("{}/{:016x}", folder, package::hash(text.data(), text.size()));
}

} // namespace

bool CheckedPackages::has(const runtime::FileIdentity &file, uint64_t content) {
  std::string folder = cacheFolder(part), text = textOf(file, content);
  std::error_code ignored;
  if (folder.empty() || !std::filesystem::is_regular_file(pathOf(folder, text), ignored))
    return false;
  try {
    std::vector<char> kept = readFile(pathOf(folder, text));
    return std::string_view(kept.data(), kept.size()) == text;
  } catch (const Error &) {
    return false;
  }
}

void CheckedPackages::add(const runtime::FileIdentity &file, uint64_t content) {
  std::string folder = cacheFolder(part), text = textOf(file, content);
  if (folder.empty())
    return;
  try {
    writeFile(pathOf(folder, text), text);
    pruneOldest(folder, limit);
  } catch (const Error &) { // will be checked again next time
  }
}

} // namespace lathe::cache
