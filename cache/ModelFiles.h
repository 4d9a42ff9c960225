// The files that a model consists of.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lathe::cache {

/// `model` first, then the files beside it that are there: what an ONNX file names as external data, the weights of
/// textual IR. Throws Error when `model` cannot be read or has more than 2 GB.
std::vector<std::string> modelFiles(const std::string &model);

/// Hash of the bytes of all of them.
uint64_t modelHash(const std::string &model);

} // namespace lathe::cache
