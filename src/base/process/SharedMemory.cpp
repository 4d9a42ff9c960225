#include "process/SharedMemory.h"

#include "support/Error.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace lathe::process {

SharedMemory::SharedMemory(size_t bytes) : bytes(bytes) {
  descriptor = ::memfd_create("lathe", MFD_CLOEXEC);
  require(descriptor >= 0 && ::ftruncate(descriptor, off_t(bytes)) == 0, "cannot make shared memory: {}",
          std::strerror(errno));
  map(descriptor);
  require(memory, "cannot map shared memory: {}", std::strerror(errno));
  place = fmt::format("/proc/{}/fd/{}", ::getpid(), descriptor);
}

SharedMemory::SharedMemory(const std::string &path, size_t bytes) : bytes(bytes) {
  int opened = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  require(opened >= 0, "{}: cannot open: {}", path, std::strerror(errno));
  off_t size = ::lseek(opened, 0, SEEK_END);
  if (size >= off_t(bytes))
    map(opened);
  ::close(opened);
  require(memory, "{}: expected {} bytes of shared memory, got {}", path, bytes, size);
}

SharedMemory::~SharedMemory() {
  if (memory)
    ::munmap(memory, bytes);
  if (descriptor >= 0)
    ::close(descriptor);
}

void SharedMemory::map(int from) {
  void *mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, from, 0);
  if (mapped != MAP_FAILED)
    memory = mapped;
}

} // namespace lathe::process
