// The form in which a kernel stores a tensor in memory: row-major, or with its channels in blocks, innermost.
#pragma once

#include "runtime/Tensor.h"

#include <cstdint>
#include <vector>

namespace lathe::lab {

struct StoredForm {
  ElementType type = ElementType::f32;
  std::vector<int64_t> dims;
  int64_t block = 0; // number of channels (axis 1) in a block; 0: row-major

  /// Returns the number of bytes of the tensor in stored form; incomplete blocks count as whole ones.
  int64_t bytes() const;
  /// Writes the row-major tensor `plain` to `to` in stored form. Lanes beyond the last channel are not written.
  void store(const Tensor &plain, void *to) const;
  /// Returns the tensor that is stored at `from`, in row-major form.
  Tensor load(const void *from) const;

private:
  /// Calls move(row-major byte offset, stored byte offset, bytes of an element) for every element of the tensor.
  template <class Move> void forEach(Move move) const;
};

} // namespace lathe::lab
