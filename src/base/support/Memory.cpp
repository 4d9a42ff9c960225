#include "support/Memory.h"

#include "support/Error.h"

#include <algorithm>
#include <fstream>

#include <sys/sysinfo.h>

namespace lathe {
namespace {

/// The number in a file of the control group; all of memory where the file is missing or states no limit ("max").
uint64_t groupLimit(const char *path) {
  std::ifstream file(path);
  uint64_t bytes = 0;
  return file >> bytes && bytes > 0 ? bytes : UINT64_MAX;
}

uint64_t readLimit() {
  struct sysinfo machine{};
  uint64_t bytes = UINT64_MAX;
  if (sysinfo(&machine) == 0)
    bytes = (uint64_t(machine.totalram) + machine.totalswap) * machine.mem_unit;
  // Inside a container, the container's group is the root of the visible tree.
  return std::min(
      {bytes, groupLimit("/sys/fs/cgroup/memory.max"), groupLimit("/sys/fs/cgroup/memory/memory.limit_in_bytes")});
}

} // namespace

uint64_t memoryLimit() {
  static const uint64_t limit = readLimit();
  return limit;
}

std::string sizeText(uint64_t bytes) {
  if (bytes < 1024)
    return fmt::format("{} bytes", bytes);
  double size = static_cast<double>(bytes);
  const char *units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  size_t unit = 0;
  for (size /= 1024; size >= 1024 && unit + 1 < std::size(units); ++unit)
    size /= 1024;
  return fmt::format("{:.1f} {}", size, units[unit]);
}

void requireMemory(uint64_t bytes, const std::string &what) {
  require(bytes <= memoryLimit(), "{} needs {}, this machine has {} of memory", what, sizeText(bytes),
          sizeText(memoryLimit()));
}

} // namespace lathe
