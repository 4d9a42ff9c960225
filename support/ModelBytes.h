// The largest file that can be a model.
#pragma once

#include "support/Error.h"

#include <climits>
#include <cstdint>
#include <string>

namespace lathe {

/// Throws Error for an ONNX file above protobuf's limit of 2^31 - 1 bytes (protobuf.dev, "Proto Limits"). Asked before
/// a file is read or hashed.
inline void requireModelBytes(const std::string &name, uint64_t bytes) {
  require(bytes <= INT_MAX,
          "{}: has {} bytes, expected at most 2 GB (larger models keep their weights in a file of their own)", name,
          bytes);
}

} // namespace lathe
