#include "tune/measure/runner/Files.h"

#include "support/Error.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace lathe::tune {

void Files::append(const std::string &name, std::span<const char> bytes) {
  int &file = received.try_emplace(name, -1).first->second;
  if (file < 0)
    file = ::memfd_create("lathe", MFD_CLOEXEC);
  require(file >= 0, "{}: cannot be received: {}", name, std::strerror(errno));
  while (!bytes.empty()) {
    ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR)
      continue;
    require(written > 0, "{}: cannot be received: {}", name, std::strerror(errno));
    bytes = bytes.subspan(size_t(written));
  }
}

void Files::forget() {
  for (auto &[name, file] : received)
    if (file >= 0)
      ::close(file);
  received.clear();
}

int Files::open(const std::string &name, int64_t bytes) const {
  auto found = received.find(name);
  require(found != received.end() || !onlyReceived, "{}: was not received", name);
  int file = found == received.end() ? ::open(name.c_str(), O_RDONLY | O_CLOEXEC) : ::dup(found->second);
  require(file >= 0, "{}: cannot open: {}", name, std::strerror(errno));
  struct stat status;
  if (::fstat(file, &status) == 0 && status.st_size >= bytes)
    return file;
  ::close(file);
  fail("{}: {} bytes, expected {}", name, int64_t(status.st_size), bytes);
}

} // namespace lathe::tune
