#include "process/TemporaryDirectory.h"

#include "process/SystemChange.h"
#include "support/Error.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace lathe::process {

namespace fs = std::filesystem;

static constexpr const char *prefix = "lathe-";
static constexpr const char *lockName = ".lock";

/// Removes Lathe's folders whose process is gone. A folder without a lock file is being made.
void removeLeftOvers() {
  std::error_code error;
  fs::path parent = fs::temp_directory_path(error);
  for (auto entry = fs::directory_iterator(parent, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    fs::path folder = entry->path();
    struct stat status;
    if (!folder.filename().string().starts_with(prefix) || ::lstat(folder.c_str(), &status) != 0 ||
        !S_ISDIR(status.st_mode) || status.st_uid != ::geteuid())
      continue;
    int lock = ::open((folder / lockName).c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (lock < 0)
      continue;
    std::error_code ignored;
    if (::flock(lock, LOCK_EX | LOCK_NB) == 0) {
      undoListed(folder);
      fs::remove_all(folder, ignored);
    }
    ::close(lock);
  }
}

/// Locks the file before it gets its name, so no process finds it unlocked. -1 where the file system has no locks.
static int lockedFile(const fs::path &folder) {
  fs::path pending = folder / ".lock-pending";
  int lock = ::open(pending.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (lock < 0)
    return -1;
  if (::flock(lock, LOCK_EX | LOCK_NB) == 0 && ::rename(pending.c_str(), (folder / lockName).c_str()) == 0)
    return lock;
  ::unlink(pending.c_str());
  ::close(lock);
  return -1;
}

TemporaryDirectory::TemporaryDirectory(const char *purpose) {
  std::error_code error;
  fs::path parent = fs::temp_directory_path(error);
  require(!error, "no folder for temporary files: {}; set TMPDIR to one", error.message());
  removeLeftOvers();
  HoldCleanups hold;
  std::string pattern = (parent / (std::string(prefix) + purpose + "-XXXXXX")).string();
  require(::mkdtemp(pattern.data()) != nullptr, "{}: cannot create: {}", pattern, std::strerror(errno));
  path = pattern;
  lock = lockedFile(path);
  cleanup.emplace([folder = path] {
    // Another thread, or a child that has just been killed, may be adding a file.
    std::error_code failed;
    for (int tries = 0; tries < 20 && (fs::remove_all(folder, failed), failed); ++tries)
      ::usleep(10000);
  });
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  fs::remove_all(path, ignored);
  if (lock >= 0)
    ::close(lock);
}

Command TemporaryDirectory::keepingFilesHere(Command command) const {
  if (command.prefix.empty())
    command.environment["TMPDIR"] = path.string();
  return command;
}

} // namespace lathe::process
