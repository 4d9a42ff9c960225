#include "lab/StoredForm.h"

#include <cstring>

namespace lathe::lab {

int64_t StoredForm::bytes() const {
  int64_t count = 1;
  for (size_t axis = 0; axis < dims.size(); ++axis)
    count *= block && axis == 1 ? (dims[1] + block - 1) / block * block : dims[axis];
  return byteSize(type, count);
}

template <class Move> void StoredForm::forEach(Move move) const {
  int64_t size = byteSize(type, 1), row = 0, pixels = 1, blocks = (dims[1] + block - 1) / block;
  for (size_t axis = 2; axis < dims.size(); ++axis)
    pixels *= dims[axis];
  for (int64_t n = 0; n < dims[0]; ++n)
    for (int64_t c = 0; c < dims[1]; ++c)
      for (int64_t pixel = 0; pixel < pixels; ++pixel, ++row)
        move(row * size, (((n * blocks + c / block) * pixels + pixel) * block + c % block) * size, size_t(size));
}

void StoredForm::store(const Tensor &plain, void *to) const {
  auto *stored = static_cast<char *>(to);
  auto *row = static_cast<const char *>(plain.data());
  if (block)
    forEach([&](int64_t from, int64_t at, size_t size) { std::memcpy(stored + at, row + from, size); });
  else
    std::memcpy(stored, row, size_t(plain.bytes()));
}

Tensor StoredForm::load(const void *from) const {
  Tensor plain(type, dims);
  auto *stored = static_cast<const char *>(from);
  auto *row = static_cast<char *>(plain.data());
  if (block)
    forEach([&](int64_t to, int64_t at, size_t size) { std::memcpy(row + to, stored + at, size); });
  else
    std::memcpy(row, stored, size_t(plain.bytes()));
  return plain;
}

} // namespace lathe::lab
