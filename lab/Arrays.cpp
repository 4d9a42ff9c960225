#include "lab/Arrays.h"

#include "support/Npy.h"

#include <algorithm>

namespace lathe::lab {

Tensor readTensor(const std::string &path) {
  NpyArray array = readNpy(path);
  Tensor tensor(array.type, array.dims);
  if (array.type == ElementType::string)
    tensor.strings() = std::move(array.strings);
  else
    std::copy(array.data.begin(), array.data.end(), tensor.as<char>());
  return tensor;
}

void writeTensor(const std::string &path, const Tensor &tensor) { writeNpy(path, {tensor.type(), tensor.dims(), tensor.data()}); }

} // namespace lathe::lab
