#include "tune/measure/runner/GuardedMemory.h"

#include "support/Error.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

namespace lathe::tune {

static constexpr size_t line = 64;
static constexpr unsigned char pattern = 0xff;

static size_t pageBytes() {
  static const auto bytes = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

/// Reserves whole pages for `bytes`, and a guard page on both sides.
void GuardedMemory::reserve(size_t bytes) {
  length = bytes;
  mapped = (std::max<size_t>(bytes, 1) + pageBytes() - 1) / pageBytes() * pageBytes() + 2 * pageBytes();
  void *address = ::mmap(nullptr, mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  require(address != MAP_FAILED, "no memory for a buffer of {} bytes: {}", bytes, std::strerror(errno));
  mapping = static_cast<char *>(address);
}

GuardedMemory::GuardedMemory(size_t bytes, Sharing sharing) {
  reserve(bytes);
  char *inside = mapping + pageBytes();
  size_t insideBytes = mapped - 2 * pageBytes();
  int kind = sharing == Sharing::own ? MAP_PRIVATE : MAP_SHARED;
  void *address = ::mmap(inside, insideBytes, PROT_READ | PROT_WRITE, kind | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  require(address != MAP_FAILED, "no memory for a buffer of {} bytes: {}", bytes, std::strerror(errno));
  start = inside + insideBytes - (std::max<size_t>(bytes, 1) + line - 1) / line * line;
}

GuardedMemory::GuardedMemory(int file, size_t bytes, const std::string &name) {
  reserve(bytes);
  start = mapping + pageBytes();
  if (bytes == 0)
    return;
  void *address = ::mmap(start, bytes, PROT_READ, MAP_PRIVATE | MAP_FIXED, file, 0);
  require(address != MAP_FAILED, "{}: cannot map {} bytes: {}", name, bytes, std::strerror(errno));
}

GuardedMemory::GuardedMemory(GuardedMemory &&other) noexcept { *this = std::move(other); }

GuardedMemory &GuardedMemory::operator=(GuardedMemory &&other) noexcept {
  std::swap(mapping, other.mapping);
  std::swap(start, other.start);
  std::swap(mapped, other.mapped);
  std::swap(length, other.length);
  return *this;
}

GuardedMemory::~GuardedMemory() {
  if (mapping)
    ::munmap(mapping, mapped);
}

void GuardedMemory::makeReadOnly() { ::mprotect(mapping + pageBytes(), mapped - 2 * pageBytes(), PROT_READ); }

void GuardedMemory::forbid(char *from, size_t bytes) { ::mprotect(from, bytes, PROT_NONE); }

void GuardedMemory::spoil() { std::memset(mapping + pageBytes(), pattern, mapped - 2 * pageBytes()); }

bool GuardedMemory::surroundingsIntact() const {
  auto intact = [](const char *from, const char *to) {
    return std::all_of(from, to, [](char byte) { return static_cast<unsigned char>(byte) == pattern; });
  };
  return intact(mapping + pageBytes(), start) && intact(start + length, mapping + mapped - pageBytes());
}

} // namespace lathe::tune
