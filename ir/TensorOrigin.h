// Where a tensor of a model's file comes from: graphs keep the names of nodes, not those of tensors.
#pragma once

#include <cstddef>
#include <map>
#include <string>

namespace lathe {

struct TensorOrigin {
  std::string node;  // that writes it, or the input of the graph that it is
  size_t output = 0; // position among the node's outputs
  size_t used = 0;   // position among those of its outputs that something reads
};

/// By the tensor's name in the file.
using TensorOrigins = std::map<std::string, TensorOrigin>;

} // namespace lathe
