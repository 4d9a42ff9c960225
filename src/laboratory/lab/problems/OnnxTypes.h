// Conversions between element types and the numbers of ONNX TensorProto.DataType, which ONNX Runtime's C API uses,
// too.
#pragma once

#include "support/ElementType.h"

#include <string>

namespace lathe::lab {

/// The element type for ONNX's number; ElementType::invalid for types that Tensor does not have.
ElementType elementTypeFromOnnx(int number);
/// ONNX's number of `type`; 0 (UNDEFINED) for ElementType::invalid.
int onnxNumber(ElementType type);
/// The name of the element type with ONNX's number `number`; "type 14" for unknown types.
std::string onnxTypeName(int number);

} // namespace lathe::lab
