// Tensors in .npy files: how runners exchange arrays.
#pragma once

#include "runtime/Tensor.h"

#include <string>

namespace lathe::lab {

/// Throws Error naming the file.
Tensor readTensor(const std::string &path);
void writeTensor(const std::string &path, const Tensor &tensor);

} // namespace lathe::lab
