// The origin of each tensor of a model file. Graphs keep the names of nodes, not of tensors.
#pragma once

#include <cstddef>
#include <map>
#include <string>

namespace lathe {

struct TensorOrigin {
  std::string node;  // node that writes it, or graph input
  size_t output = 0; // position among the outputs of the node
  size_t used = 0;   // position among the used outputs of the node
};

/// Origins of the tensors of a file, by tensor name.
using TensorOrigins = std::map<std::string, TensorOrigin>;

} // namespace lathe
