// Tensors from and to NumPy arrays (support/Npy.h, library lathe_npy).
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

/// Borrows: `tensor` must outlive the view.
inline NpyView npyView(const Tensor &tensor) { return {tensor.type(), tensor.dims(), tensor.data()}; }

} // namespace lathe
