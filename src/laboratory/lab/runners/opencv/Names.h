// Reads the names of the inputs and outputs in a model file, because OpenCV's networks do not state them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace lathe::lab {

struct ModelInput {
  std::string name;
  std::vector<int64_t> dims; // extents of the input; -1: any extent
};

struct ModelNames {
  bool onnx = false;
  /// True if tensors of four axes have the channels last, as in a GraphDef without NCHW operators. OpenCV itself puts
  /// them first.
  bool channelsLast = false;
  std::vector<ModelInput> inputs;
  std::vector<std::string> outputs; // names in the order of the file; for a GraphDef the nodes that no node reads
  std::map<std::string, std::string> makers; // for an ONNX model: name of the node that computes each tensor
};

/// Reads the names in a TensorFlow GraphDef or an ONNX model. Throws Error if the bytes are neither, or if an input is
/// not float32.
ModelNames modelNames(const std::string &bytes);

} // namespace lathe::lab
