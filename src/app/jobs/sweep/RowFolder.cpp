#include "jobs/sweep/RowFolder.h"

#include "jobs/Self.h"
#include "store/ContentKey.h"
#include "support/CacheFolder.h"

#include <chrono>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <unistd.h>

namespace lathe::jobs {
namespace {

namespace fs = std::filesystem;

/// Removes folders of sweeps that were not continued for a month.
void removeOld(const std::string &all) {
  std::error_code ignored;
  for (const fs::directory_entry &entry : fs::directory_iterator(all, ignored)) {
    auto age = fs::file_time_type::clock::now() - fs::last_write_time(entry.path(), ignored);
    if (!ignored && age > std::chrono::hours(24 * 30))
      fs::remove_all(entry.path(), ignored);
  }
}

} // namespace

RowFolder::RowFolder(const nlohmann::json &identity) {
  std::string all = cacheFolderOrSay("sweeps");
  if (!all.empty())
    removeOld(all);
  if (all.empty() || !take((fs::path(all) / store::documentKey(identity)).string())) {
    temporary.emplace("sweep");
    folder = temporary->path.string();
  }
}

/// Creates and locks the folder. Returns false if another process has locked it.
bool RowFolder::take(const std::string &path) {
  std::error_code error;
  fs::create_directories(path, error);
  lock = ::open((path + "/.lock").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  if (lock < 0)
    return false;
  if (::flock(lock, LOCK_EX | LOCK_NB) != 0) {
    ::close(lock);
    lock = -1;
    return false;
  }
  fs::last_write_time(path, fs::file_time_type::clock::now(), error);
  folder = path;
  return true;
}

RowFolder::~RowFolder() {
  if (lock >= 0)
    ::close(lock);
}

std::string RowFolder::stem(size_t number) const { return fmt::format("{}/row{}", folder, number); }

void RowFolder::finish() {
  std::error_code ignored;
  if (!temporary)
    fs::remove_all(folder, ignored);
}

} // namespace lathe::jobs
