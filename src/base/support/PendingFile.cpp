#include "support/PendingFile.h"

#include "support/Interrupt.h"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <dirent.h>
#include <fcntl.h>
#include <filesystem>
#include <map>
#include <mutex>
#include <poll.h>
#include <set>
#include <sys/stat.h>
#include <unistd.h>

namespace lathe {
namespace {

constexpr size_t bufferBytes = size_t(1) << 18;
constexpr time_t leftOverSeconds = 3600; // a file that was not written to for so long belongs to no running writer
constexpr std::string_view temporaryStart = ".lathe-", temporaryEnd = ".partial";

/// Identifies a file under any name: device and inode.
using Identity = std::pair<dev_t, ino_t>;

std::mutex inputsLock;
/// By identity: the absolute path that was read.
std::map<Identity, std::string> &inputs() {
  static std::map<Identity, std::string> known;
  return known;
}

/// The input may have been deleted meanwhile, and its inode given to another file.
bool isInput(const struct stat &status) {
  auto known = inputs().find({status.st_dev, status.st_ino});
  if (known == inputs().end())
    return false;
  struct stat now;
  return ::stat(known->second.c_str(), &now) == 0 && Identity(now.st_dev, now.st_ino) == known->first;
}

[[noreturn]] void failWith(const std::string &path, int error) {
  fail("{}: cannot write: {}", path, std::strerror(error));
}

[[noreturn]] void failAsInput(const std::string &path) {
  fail("{}: is read by this command and would be overwritten: choose another output", path);
}

bool isStandardOutput(const std::string &path) { return path == "-" || path == "/dev/stdout"; }

std::string folderOf(const std::string &path) {
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

/// Removes temporary files that killed processes left in `folder`; once a folder in the life of a process.
void removeLeftOvers(const std::string &folder) {
  static std::mutex lock;
  static std::set<std::string> swept;
  {
    std::lock_guard<std::mutex> guard(lock);
    if (!swept.insert(folder).second)
      return;
  }
  DIR *directory = ::opendir(folder.c_str());
  if (!directory)
    return;
  while (const dirent *entry = ::readdir(directory)) {
    std::string_view name = entry->d_name;
    struct stat status;
    if (name.starts_with(temporaryStart) && name.ends_with(temporaryEnd) &&
        ::fstatat(::dirfd(directory), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(status.st_mode) &&
        status.st_uid == ::geteuid() && std::time(nullptr) - status.st_mtime > leftOverSeconds)
      ::unlinkat(::dirfd(directory), entry->d_name, 0);
  }
  ::closedir(directory);
}

/// Files to remove when a signal ends the process (support/Interrupt.h).
class LiveFiles {
public:
  void add(const std::string &path) {
    std::lock_guard<std::mutex> guard(lock);
    paths.insert(path);
  }
  void remove(const std::string &path) {
    std::lock_guard<std::mutex> guard(lock);
    paths.erase(path);
  }

private:
  std::mutex lock;
  std::set<std::string> paths;
  Cleanup cleanup{[this] {
    std::lock_guard<std::mutex> guard(lock);
    for (const std::string &path : paths)
      ::unlink(path.c_str());
  }};
};

LiveFiles &liveFiles() {
  static auto *files = new LiveFiles; // files may outlive objects that are destroyed at exit
  return *files;
}

} // namespace

PendingFile::PendingFile(std::string given) : path(std::move(given)), target(path) {
  check(path);
  if (isStandardOutput(path)) {
    std::fflush(stdout); // earlier output must come first
    descriptor = STDOUT_FILENO;
  } else if (isStream(path)) {
    descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor < 0)
      failWith(path, errno);
  } else {
    openTemporary();
  }
}

PendingFile::~PendingFile() { discard(); }

void PendingFile::openTemporary() {
  std::error_code dangling;
  if (auto real = std::filesystem::canonical(path, dangling); !dangling)
    target = real.string();
  std::string folder = folderOf(target);
  removeLeftOvers(folder);
  static std::atomic<unsigned> counter = 0;
  // Another container may have our process id, and share the folder: then the name is taken.
  LiveFiles &live = liveFiles();
  HoldCleanups hold;
  for (int attempt = 0; descriptor < 0 && attempt < 1000; ++attempt) {
    temporary = fmt::format("{}/{}{}-{}{}", folder, temporaryStart, ::getpid(), counter++, temporaryEnd);
    descriptor = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (descriptor < 0 && errno != EEXIST)
      break;
  }
  if (descriptor < 0) {
    temporary.clear();
    failWith(path, errno);
  }
  live.add(temporary);
  struct stat old;
  if (::stat(target.c_str(), &old) == 0)
    ::fchmod(descriptor, old.st_mode & 0777); // who may read it stays as it was
}

void PendingFile::put(const char *data, size_t size) {
  while (size) {
    ssize_t written = ::write(descriptor, data, size);
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0 && errno == EAGAIN) { // a pipe that another program made non-blocking
      pollfd ready{descriptor, POLLOUT, 0};
      ::poll(&ready, 1, -1);
      continue;
    }
    if (written < 0)
      failWith(isStandardOutput(path) ? "standard output" : path, errno);
    data += written;
    size -= static_cast<size_t>(written);
  }
}

void PendingFile::flush() {
  put(buffer.data(), buffer.size());
  buffer.clear();
}

void PendingFile::write(const char *data, size_t size) {
  if (buffer.size() + size > bufferBytes)
    flush();
  if (size > bufferBytes)
    put(data, size);
  else
    buffer.append(data, size);
}

void PendingFile::close() {
  if (descriptor < 0)
    return;
  flush();
  int closed = descriptor == STDOUT_FILENO ? 0 : ::close(descriptor);
  int error = errno;
  descriptor = -1;
  if (closed != 0)
    failWith(path, error);
}

void PendingFile::commit() {
  close();
  if (temporary.empty())
    return;
  if (::rename(temporary.c_str(), target.c_str()) != 0)
    failWith(path, errno);
  liveFiles().remove(temporary);
  temporary.clear();
}

void PendingFile::discard() {
  if (descriptor >= 0 && descriptor != STDOUT_FILENO)
    ::close(descriptor);
  descriptor = -1;
  if (!temporary.empty()) {
    ::unlink(temporary.c_str());
    liveFiles().remove(temporary);
  }
  temporary.clear();
}

bool PendingFile::isStream(const std::string &path) {
  struct stat status;
  return isStandardOutput(path) || (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode));
}

void PendingFile::check(const std::string &path) {
  struct stat status;
  if (isStandardOutput(path))
    return;
  require(!path.empty(), "an output file needs a name, got \"\"");
  bool exists = ::stat(path.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode))
    failWith(path, EISDIR);
  if (exists && S_ISREG(status.st_mode)) {
    std::lock_guard<std::mutex> guard(inputsLock);
    if (isInput(status))
      failAsInput(path);
  }
  std::error_code ignored;
  auto real = std::filesystem::canonical(path, ignored);
  std::string checked = exists && !S_ISREG(status.st_mode) ? path : folderOf(ignored ? path : real.string());
  if (::access(checked.c_str(), W_OK) != 0)
    failWith(path, errno);
}

void protectInput(const std::string &path) {
  struct stat status;
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode))
    return;
  std::error_code ignored;
  std::string absolute = std::filesystem::absolute(path, ignored).string();
  std::lock_guard<std::mutex> guard(inputsLock);
  inputs()[{status.st_dev, status.st_ino}] = ignored ? path : absolute;
}

void requireApart(const std::string &output, const std::string &input) {
  struct stat out, in;
  if (::stat(output.c_str(), &out) == 0 && ::stat(input.c_str(), &in) == 0 && S_ISREG(out.st_mode) &&
      out.st_dev == in.st_dev && out.st_ino == in.st_ino)
    failAsInput(output);
}

} // namespace lathe
