#include "support/File.h"

#include "support/Error.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <sys/stat.h>
#include <unistd.h>

namespace lathe {
namespace {
struct Descriptor {
  int number;
  ~Descriptor() {
    if (number >= 0)
      ::close(number);
  }
};
} // namespace

std::vector<char> readFile(const std::string &path) {
  Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  require(file.number >= 0, "{}: cannot open: {}", path, std::strerror(errno));
  struct stat status;
  require(::fstat(file.number, &status) == 0 && !S_ISDIR(status.st_mode), "{}: expected a file, got a directory", path);
  // The stated size is only a first guess: pipes have none.
  std::vector<char> bytes(S_ISREG(status.st_mode) ? static_cast<size_t>(status.st_size) + 1 : 65536);
  size_t used = 0;
  while (true) {
    if (used == bytes.size())
      bytes.resize(bytes.size() * 2);
    ssize_t got = ::read(file.number, bytes.data() + used, bytes.size() - used);
    if (got < 0 && errno == EINTR)
      continue;
    require(got >= 0, "{}: cannot read: {}", path, std::strerror(errno));
    if (got == 0)
      break;
    used += static_cast<size_t>(got);
  }
  bytes.resize(used);
  return bytes;
}

void writeFile(const std::string &path, std::span<const char> bytes) {
  Descriptor file{::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)};
  require(file.number >= 0, "{}: cannot write: {}", path, std::strerror(errno));
  const char *at = bytes.data();
  size_t left = bytes.size();
  while (left) {
    ssize_t written = ::write(file.number, at, left);
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0) {
      int error = errno;
      struct stat status;
      if (::fstat(file.number, &status) == 0 && S_ISREG(status.st_mode))
        ::unlink(path.c_str());
      fail("{}: cannot write: {}", path, std::strerror(error));
    }
    at += written;
    left -= static_cast<size_t>(written);
  }
}

} // namespace lathe
