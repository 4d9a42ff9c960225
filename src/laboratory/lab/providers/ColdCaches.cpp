#include "lab/providers/ColdCaches.h"

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace lathe::lab {

#if defined(__x86_64__)
static constexpr size_t lineBytes = 64;
static void flushLine(const char *line) { __builtin_ia32_clflush(line); }
static void finish() { __builtin_ia32_mfence(); }
__attribute__((target("clflushopt"))) static void flushUnordered(const char *from, size_t bytes) {
  for (size_t at = 0; at < bytes; at += lineBytes)
    __builtin_ia32_clflushopt(from + at);
}
/// clflush waits for the previous line; clflushopt does not, and is several times faster.
static void flushLines(const char *from, size_t bytes) {
  static const bool unordered = __builtin_cpu_supports("clflushopt");
  if (unordered)
    return flushUnordered(from, bytes);
  for (size_t at = 0; at < bytes; at += lineBytes)
    flushLine(from + at);
}
#elif defined(__aarch64__)
static constexpr size_t lineBytes = 64; // the smallest line size in use: larger lines are flushed twice
static void flushLine(const char *line) { asm volatile("dc civac, %0" ::"r"(line) : "memory"); }
static void finish() { asm volatile("dsb ish" ::: "memory"); }
static void flushLines(const char *from, size_t bytes) {
  for (size_t at = 0; at < bytes; at += lineBytes)
    flushLine(from + at);
}
#endif

#if defined(__x86_64__) || defined(__aarch64__)

namespace {
struct Range {
  char *begin;
  size_t bytes;
};
} // namespace

/// Readable mappings in ordinary memory.
static std::vector<Range> mappings() {
  std::vector<Range> ranges;
  std::FILE *maps = std::fopen("/proc/self/maps", "r");
  if (!maps)
    return ranges;
  char line[4096];
  while (std::fgets(line, sizeof line, maps)) {
    unsigned long begin = 0, end = 0;
    char access[5] = "";
    if (std::sscanf(line, "%lx-%lx %4s", &begin, &end, access) != 3 || access[0] != 'r')
      continue;
    if (std::strstr(line, "[vvar") || std::strstr(line, "[vsyscall]") || std::strstr(line, "/dev/"))
      continue;
    ranges.push_back({reinterpret_cast<char *>(begin), end - begin});
  }
  std::fclose(maps);
  return ranges;
}

Outcome<bool> flushCaches() {
  size_t page = size_t(::sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> resident;
  for (auto &[begin, bytes] : mappings()) {
    resident.assign(bytes / page, 0);
    // Absent pages have no cache lines, and touching them would load them.
    if (::mincore(begin, bytes, resident.data()) != 0)
      continue;
    for (size_t i = 0; i < resident.size(); ++i)
      if (resident[i] & 1)
        flushLines(begin + i * page, page);
  }
  finish();
  return true;
}

Outcome<bool> flushCaches(std::span<const std::span<const char>> ranges) {
  for (auto &range : ranges) {
    flushLines(range.data(), range.size());
    if (!range.empty()) // its first line may begin before the range
      flushLine(&range.back());
  }
  finish();
  return true;
}

#else

static NotApplicable notHere() { return {"no program may flush this processor's caches"}; }
Outcome<bool> flushCaches() { return notHere(); }
Outcome<bool> flushCaches(std::span<const std::span<const char>>) { return notHere(); }

#endif

} // namespace lathe::lab
