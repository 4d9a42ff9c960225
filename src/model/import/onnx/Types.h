// Element types by ONNX numbers (TensorProto.DataType).
#pragma once

#include "support/ElementType.h"

#include <cstdint>
#include <string>

namespace lathe::onnx {

/// The element type of an ONNX number; `invalid` for unknown types.
ElementType fromOnnxType(int64_t dataType);
/// The ONNX number of an element type; UNDEFINED (0) for `invalid`.
int32_t toOnnxType(ElementType type);
/// ONNX's name of a type, for messages: "float", "complex64", "type 99".
std::string onnxTypeName(int64_t dataType);

} // namespace lathe::onnx
