// The size limit of model files.
#pragma once

#include "support/Error.h"

#include <climits>
#include <cstdint>
#include <string>

namespace lathe {

/// Throws Error for an ONNX file above protobuf's limit of 2^31 - 1 bytes (protobuf.dev, "Proto
/// Limits"). Call it before reading or hashing the file.
inline void requireModelBytes(const std::string &name, uint64_t bytes) {
  require(bytes <= INT_MAX,
          "{}: has {} bytes, expected at most 2 GB (larger models keep their weights in a file of their own)", name,
          bytes);
}

} // namespace lathe
