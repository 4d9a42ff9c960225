// Element types as ONNX numbers them (TensorProto.DataType).
#pragma once

#include "support/ElementType.h"

#include <cstdint>
#include <string>

namespace lathe::onnx {

/// `invalid` for types Lathe does not know.
ElementType fromOnnxType(int64_t dataType);
/// UNDEFINED (0) for invalid.
int32_t toOnnxType(ElementType type);
/// "float", "complex64", "type 99": ONNX's own names, for messages.
std::string onnxTypeName(int64_t dataType);

} // namespace lathe::onnx
