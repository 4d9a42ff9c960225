// XXH3-64, the checksum of packages (libxxhash's header, compiled into Hash.cpp).
#pragma once

#include "package/Package.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace lathe::package {

/// Computes the XXH3-64 hash of all bytes given to `update`, in order. The division of the bytes into calls does not
/// matter.
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

/// Starts the computation of Header::hash: adds the fields of the header (from format 9 on) and the section table to
/// `hasher`.
void hashTables(Hasher &hasher, Header header, std::span<const Section> sections);

} // namespace lathe::package
