// Conversion between element types and ONNX's numbers of types (TensorProto.DataType).
#pragma once

#include "support/ElementType.h"

#include <cstdint>
#include <string>

namespace lathe::onnx {

/// The element type for ONNX's number of a type; `invalid` for unknown types.
ElementType fromOnnxType(int64_t dataType);
/// ONNX's number for an element type; UNDEFINED (0) for `invalid`.
int32_t toOnnxType(ElementType type);
/// ONNX's name of a type with the number `dataType`, for messages: "float", "complex64", "type 99".
std::string onnxTypeName(int64_t dataType);

} // namespace lathe::onnx
