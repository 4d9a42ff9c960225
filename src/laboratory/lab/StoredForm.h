// The form of a tensor in memory: row-major, or with its channels in blocks, innermost.
#pragma once

#include "runtime/Tensor.h"

#include <cstdint>
#include <vector>

namespace lathe::lab {

struct StoredForm {
  ElementType type = ElementType::f32;
  std::vector<int64_t> dims;
  int64_t block = 0; // number of channels (axis 1) in a block; 0: row-major

  /// Number of bytes of the stored form; incomplete blocks count as whole ones.
  int64_t bytes() const;
  /// Writes `plain`, which is row-major, to `to`. Lanes beyond the last channel are not written.
  void store(const Tensor &plain, void *to) const;
  /// Returns the tensor stored at `from` in row-major form.
  Tensor load(const void *from) const;

private:
  /// Calls move(row-major byte offset, stored byte offset, bytes of an element) for every element.
  template <class Move> void forEach(Move move) const;
};

} // namespace lathe::lab
