// The origin of each tensor of a model file: the node that writes it. Graphs keep the names of nodes, not of tensors.
#pragma once

#include <cstddef>
#include <map>
#include <string>

namespace lathe {

struct TensorOrigin {
  std::string node;  // name of the node that writes the tensor, or of the graph's input
  size_t output = 0; // position among the outputs of the node
  size_t used = 0;   // position among the used outputs of the node
};

/// Origins of the tensors of a model file, by name of the tensor.
using TensorOrigins = std::map<std::string, TensorOrigin>;

} // namespace lathe
