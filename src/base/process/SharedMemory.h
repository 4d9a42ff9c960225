// Memory that processes of the same user share: one makes it, others open it by its path.
#pragma once

#include <cstddef>
#include <string>

namespace lathe::process {

class SharedMemory {
public:
  /// Makes memory of `bytes` bytes, all zero, which exists as long as this process or a process that has opened it.
  /// Throws Error.
  explicit SharedMemory(size_t bytes);
  /// Opens the memory of another process by its path. Throws Error with the path, also if it is smaller than `bytes`.
  SharedMemory(const std::string &path, size_t bytes);
  ~SharedMemory();
  SharedMemory(const SharedMemory &) = delete;
  SharedMemory &operator=(const SharedMemory &) = delete;

  /// Path with which processes of the same user open the memory; "" for opened memory.
  const std::string &path() const { return place; }
  void *data() const { return memory; }

private:
  void map(int from);

  size_t bytes;
  int descriptor = -1; // of new memory
  void *memory = nullptr;
  std::string place;
};

} // namespace lathe::process
