#include "compile/KernelCache.h"

#include "package/Hash.h"
#include "support/CacheFolder.h"
#include "support/PendingFile.h"

#include "llvm/Config/llvm-config.h"
#include "llvm/Support/TargetSelect.h"

#include <cstring>
#include <dlfcn.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <sys/stat.h>

namespace lathe {
namespace {

struct EntryHeader {
  char magic[8] = {'l', 'a', 't', 'h', 'e', 'k', '1', '\n'};
  uint64_t bytes = 0; // of the object that follows
  uint64_t hash = 0;
};

/// Identifies the file that holds the code at `address` by its size and modification time.
std::string fileHolding(const void *address) {
  Dl_info info;
  struct stat status;
  if (!::dladdr(address, &info) || !info.dli_fname || ::stat(info.dli_fname, &status) != 0)
    return "unknown";
  return fmt::format("{} {}.{}", status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
}

uint64_t hashOf(char round, const std::string &common, const std::string &loops) {
  package::Hasher hasher;
  hasher.update(&round, 1);
  hasher.update(common.c_str(), common.size() + 1);
  hasher.update(loops.data(), loops.size());
  return hasher.digest();
}

} // namespace

KernelCache::KernelCache(const std::string &folder, const Target &target) : folder(folder) {
  common = fmt::format("{} | {} | LLVM {} {} | {} {} {} {} {}", LATHE_VERSION,
                       fileHolding(reinterpret_cast<const void *>(&fileHolding)), LLVM_VERSION_STRING,
                       fileHolding(reinterpret_cast<const void *>(&LLVMInitializeX86Target)), target.triple, target.cpu,
                       target.vectorBits, target.vectorRegisters, fmt::join(target.features, ","));
}

KernelCache::~KernelCache() {
  if (stored)
    pruneOldest(folder, limit);
}

std::string KernelCache::pathOf(const std::string &loops) const {
  return fmt::format("{}/{:016x}{:016x}", folder, hashOf('1', common, loops), hashOf('2', common, loops));
}

std::optional<std::vector<char>> KernelCache::find(const std::string &loops) {
  if (!enabled())
    return std::nullopt;
  std::string path = pathOf(loops);
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file)
    return std::nullopt;
  auto size = static_cast<uint64_t>(file.tellg());
  file.seekg(0);
  EntryHeader header, expected;
  std::vector<char> object;
  bool good = size > sizeof header && file.read(reinterpret_cast<char *>(&header), sizeof header) &&
              std::memcmp(header.magic, expected.magic, sizeof header.magic) == 0 &&
              header.bytes == size - sizeof header;
  if (good) {
    object.resize(header.bytes);
    good = file.read(object.data(), static_cast<std::streamsize>(object.size())) &&
           package::hash(object.data(), object.size()) == header.hash;
  }
  if (!good) {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
    return std::nullopt;
  }
  markUsed(path);
  ++hits;
  return object;
}

void KernelCache::store(const std::string &loops, std::span<const char> object) {
  if (!enabled())
    return;
  std::error_code ignored;
  std::filesystem::create_directories(folder, ignored);
  EntryHeader header;
  header.bytes = object.size();
  header.hash = package::hash(object.data(), object.size());
  try {
    PendingFile file(pathOf(loops)); // other processes see the whole entry or none
    file.write(reinterpret_cast<const char *>(&header), sizeof header);
    file.write(object.data(), object.size());
    file.commit();
    stored = true;
  } catch (const Error &) { // the cache only saves time
  }
}

} // namespace lathe
