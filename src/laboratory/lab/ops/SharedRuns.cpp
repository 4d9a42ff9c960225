#include "lab/ops/SharedRuns.h"

#include "support/Error.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace lathe::lab {

SharedRuns::SharedRuns() {
  descriptor = ::memfd_create("lathe-runs", MFD_CLOEXEC);
  require(descriptor >= 0 && ::ftruncate(descriptor, sizeof(Layout)) == 0, "cannot make shared memory: {}",
          std::strerror(errno));
  map(descriptor);
  require(shared, "cannot map shared memory: {}", std::strerror(errno));
  place = fmt::format("/proc/{}/fd/{}", ::getpid(), descriptor);
}

SharedRuns::SharedRuns(const std::string &path) {
  int opened = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  require(opened >= 0, "{}: cannot open: {}", path, std::strerror(errno));
  off_t size = ::lseek(opened, 0, SEEK_END);
  if (size >= off_t(sizeof(Layout)))
    map(opened);
  ::close(opened);
  require(shared, "{}: expected {} bytes of shared memory, got {}", path, sizeof(Layout), size);
}

SharedRuns::~SharedRuns() {
  if (shared)
    ::munmap(shared, sizeof(Layout));
  if (descriptor >= 0)
    ::close(descriptor);
}

void SharedRuns::map(int from) {
  void *memory = ::mmap(nullptr, sizeof(Layout), PROT_READ | PROT_WRITE, MAP_SHARED, from, 0);
  if (memory != MAP_FAILED)
    shared = static_cast<Layout *>(memory);
}

void SharedRuns::reset() {
  shared->runs.store(0);
  shared->stop.store(0);
}

} // namespace lathe::lab
