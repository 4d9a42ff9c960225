#include "support/File.h"

#include "support/Error.h"
#include "support/PendingFile.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <sys/stat.h>
#include <unistd.h>

namespace lathe {
namespace {
constexpr size_t longestStream = size_t(4) << 30; // of pipes and devices

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
    // A device may never end.
    require(S_ISREG(status.st_mode) || used <= longestStream,
            "{}: more than {} GiB, expected a file or a stream that ends", path, longestStream >> 30);
  }
  bytes.resize(used);
  return bytes;
}

void writeFile(const std::string &path, std::span<const char> bytes) {
  PendingFile file(path);
  file.write(bytes.data(), bytes.size());
  file.commit();
}

} // namespace lathe
