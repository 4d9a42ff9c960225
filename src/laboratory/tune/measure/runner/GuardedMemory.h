// Memory between two inaccessible guard pages, so that an access outside of the memory ends the program by a signal.
#pragma once

#include <cstddef>
#include <string>

namespace lathe::tune {

class GuardedMemory {
public:
  enum class Sharing { own, withChildren }; // `withChildren`: shared with processes that are forked later

  GuardedMemory() = default;
  /// Allocates zeroed memory that begins at a multiple of 64 bytes. It ends at the guard page, or up to 63 bytes before
  /// it.
  explicit GuardedMemory(size_t bytes, Sharing sharing = Sharing::own);
  /// Maps the first `bytes` of an open file, read-only, at the start of a page.
  GuardedMemory(int file, size_t bytes, const std::string &name);
  GuardedMemory(GuardedMemory &&other) noexcept;
  GuardedMemory &operator=(GuardedMemory &&other) noexcept;
  ~GuardedMemory();

  char *data() const { return start; }
  size_t bytes() const { return length; }
  void makeReadOnly();
  /// Makes the pages that lie entirely inside the `bytes` bytes from `from` inaccessible, like the guard pages.
  void forbid(char *from, size_t bytes);

  /// Fills everything between the guard pages with a pattern that is NaN in every float type.
  void spoil();
  /// True if the bytes between the data and the guard pages still have the pattern.
  bool surroundingsIntact() const;

private:
  void reserve(size_t bytes);

  char *mapping = nullptr, *start = nullptr;
  size_t mapped = 0, length = 0;
};

} // namespace lathe::tune
