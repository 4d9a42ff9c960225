// XXH3-64, the checksum of packages (libxxhash's header, compiled into Hash.cpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace lathe::package {

/// Hashes all bytes given to `update`, in order. The division into calls does not matter.
class Hasher {
public:
  Hasher();
  ~Hasher();
  Hasher(const Hasher &) = delete;
  Hasher &operator=(const Hasher &) = delete;
  void update(const void *data, size_t bytes);
  uint64_t digest() const;

private:
  struct State;
  std::unique_ptr<State> state;
};

uint64_t hash(const void *data, size_t bytes);

} // namespace lathe::package
