// Reads the names that a TensorFlow Lite file gives to its inputs and outputs.
#pragma once

#include <string>
#include <vector>

namespace lathe::tflite_native {

struct PortNames {
  std::vector<std::string> inputs, outputs; // names in the order of the file's first subgraph
};

/// Reads the names that Lathe's importer uses (import/tflite/Reader.cpp): the names in the first signature of the first
/// subgraph, otherwise the tensors' names, made unique by numbers. Throws Error if the file is not a TFLite file or is
/// damaged.
PortNames portNames(const std::string &path);

} // namespace lathe::tflite_native
