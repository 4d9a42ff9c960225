// Conversions between tensors and NumPy arrays (support/Npy.h, library lathe_npy).
#pragma once

#include "runtime/Tensor.h"
#include "support/Npy.h"

#include <cstring>

namespace lathe {

inline Tensor toTensor(const NpyArray &array) {
  Tensor tensor(array.type, array.dims);
  if (array.type == ElementType::string)
    tensor.strings() = array.strings;
  else if (!array.data.empty())
    std::memcpy(tensor.data(), array.data.data(), array.data.size());
  return tensor;
}

/// Returns a view of `tensor` for writing. The view borrows the data: `tensor` must outlive it.
inline NpyView npyView(const Tensor &tensor) {
  if (tensor.type() == ElementType::string)
    return {tensor.type(), tensor.dims(), tensor.strings().data()};
  return {tensor.type(), tensor.dims(), tensor.data()};
}

} // namespace lathe
