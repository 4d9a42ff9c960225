#include "lab/providers/HugePages.h"

#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 // Linux 6.1
#endif

namespace lathe::lab {

static constexpr uintptr_t hugePage = uintptr_t(2) << 20; // of x86-64, and of AArch64 with pages of 4 KiB

static uintptr_t roundUp(uintptr_t address) { return (address + hugePage - 1) / hugePage * hugePage; }

void allocateInHugePages() {
  constexpr int regionBytes = 1 << 30; // address space: memory is allocated when touched
  ::mallopt(M_MMAP_MAX, 0);            // also takes large blocks from the heap
  ::mallopt(M_TRIM_THRESHOLD, INT_MAX);
  ::mallopt(M_TOP_PAD, regionBytes);
  auto grown = reinterpret_cast<uintptr_t>(std::malloc(4 * hugePage)); // makes the heap grow
  auto end = reinterpret_cast<uintptr_t>(::sbrk(0));
  ::mallopt(M_TOP_PAD, 64 << 20); // amount by which a larger heap grows
  if (!grown || grown >= end || end - grown > 2 * uintptr_t(regionBytes)) {
    ::mallopt(M_MMAP_MAX, 65536); // restores malloc's normal behaviour
    return std::free(reinterpret_cast<void *>(grown));
  }
  std::free(reinterpret_cast<void *>(grown));
  ::madvise(reinterpret_cast<void *>(roundUp(grown)), (end - roundUp(grown)) / hugePage * hugePage, MADV_HUGEPAGE);
  // The memory before the first huge page is never used.
  static void *volatile before = std::malloc(roundUp(grown + 64) - grown - 32);
  static_cast<void>(before);
}

void collapseMappings() {
  std::FILE *maps = std::fopen("/proc/self/maps", "r");
  if (!maps)
    return;
  char line[4096];
  while (std::fgets(line, sizeof line, maps)) {
    unsigned long begin = 0, end = 0, inode = 1;
    char access[5] = "";
    if (std::sscanf(line, "%lx-%lx %4s %*s %*s %lu", &begin, &end, access, &inode) != 4 ||
        std::strcmp(access, "rw-p") != 0 || inode != 0 || std::strchr(line, '['))
      continue;
    uintptr_t first = roundUp(begin), last = end / hugePage * hugePage;
    if (first >= last)
      continue;
    ::madvise(reinterpret_cast<void *>(first), last - first, MADV_HUGEPAGE);
    for (; first < last; first += hugePage) {
      unsigned char resident[hugePage >> 12] = {};
      if (::mincore(reinterpret_cast<void *>(first), hugePage, resident) == 0 &&
          std::memchr(resident, 1, sizeof resident))
        ::madvise(reinterpret_cast<void *>(first), hugePage, MADV_COLLAPSE);
    }
  }
  std::fclose(maps);
}

} // namespace lathe::lab
