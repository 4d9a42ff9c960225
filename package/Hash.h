// XXH3-64 over pieces of memory, the package's checksum (libxxhash's header, compiled into Hash.cpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace lathe::package {

/// The hash of all bytes given to `update`, in order; how they were cut into pieces makes no difference.
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
