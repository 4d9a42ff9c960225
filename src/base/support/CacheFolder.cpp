#include "support/CacheFolder.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace lathe {
namespace {

/// Makes the folder `path` for this user alone if it is missing. Returns why it cannot be used, or "".
std::string obstacle(const std::string &path, bool shared) {
  std::error_code above; // a home folder that this user may not write
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), above);
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
    return fmt::format("cannot create: {}", above ? above.message() : std::strerror(errno));
  struct stat status;
  // Where everybody may make files a link could lead anywhere; below a home folder it is the user's own.
  if ((shared ? ::lstat(path.c_str(), &status) : ::stat(path.c_str(), &status)) != 0)
    return fmt::format("cannot be read: {}", std::strerror(errno));
  if (!S_ISDIR(status.st_mode))
    return "is not a folder";
  if (status.st_uid != ::geteuid())
    return fmt::format("belongs to user {}, expected user {}", status.st_uid, ::geteuid());
  if (mode_t open = status.st_mode & (shared ? 0077 : 0002))
    return fmt::format("other users may use it (mode {:o}), expected mode {:o}", status.st_mode & 07777,
                       (status.st_mode & 07777) & ~open);
  return ::access(path.c_str(), W_OK | X_OK) == 0 ? "" : fmt::format("cannot write: {}", std::strerror(errno));
}

} // namespace

std::string cacheFolder(const std::string &part, std::string *why) {
  const char *xdg = std::getenv("XDG_CACHE_HOME"), *home = std::getenv("HOME");
  bool shared = !(xdg && *xdg) && !(home && *home);
  std::string path = xdg && *xdg ? std::string(xdg) + "/lathe"
                     : shared    ? fmt::format("/tmp/lathe-{}", ::geteuid())
                                 : std::string(home) + "/.cache/lathe";
  std::string reason = obstacle(path, shared);
  if (reason.empty() && !part.empty()) {
    path += "/" + part;
    reason = obstacle(path, shared);
  }
  if (reason.empty())
    return path;
  if (why)
    *why = path + ": " + reason;
  return "";
}

void pruneOldest(const std::string &folder, uintmax_t limit) {
  namespace fs = std::filesystem;
  struct File {
    fs::file_time_type used;
    uintmax_t bytes;
    fs::path path;
  };
  std::vector<File> files;
  uintmax_t total = 0;
  std::error_code ignored;
  for (const fs::directory_entry &entry : fs::directory_iterator(folder, ignored)) {
    std::error_code gone; // another program may prune at the same time
    File file{entry.last_write_time(gone), entry.file_size(gone), entry.path()};
    if (gone)
      continue;
    total += file.bytes;
    files.push_back(std::move(file));
  }
  std::sort(files.begin(), files.end(), [](const File &a, const File &b) { return a.used < b.used; });
  for (size_t i = 0; i < files.size() && total > limit; ++i) {
    total -= files[i].bytes;
    fs::remove(files[i].path, ignored); // a program that has it mapped keeps its pages
  }
}

void markUsed(const std::string &file, int64_t apart) {
  std::error_code error;
  auto now = std::filesystem::file_time_type::clock::now(), marked = std::filesystem::last_write_time(file, error);
  if (!error && now - marked >= std::chrono::seconds(apart))
    std::filesystem::last_write_time(file, now, error);
}

} // namespace lathe
