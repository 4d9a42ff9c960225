// Finds and hashes the files of a model.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lathe::cache {

/// Returns `model` and the existing files beside it: external data of an ONNX file, or the weights
/// of textual IR. Throws Error if `model` cannot be read or has more than 2 GB.
std::vector<std::string> modelFiles(const std::string &model);

/// Returns a hash of the bytes of all files of `model`.
uint64_t modelHash(const std::string &model);

} // namespace lathe::cache
