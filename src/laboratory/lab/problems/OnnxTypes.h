// Conversions to the numbers of ONNX TensorProto.DataType, which ONNX Runtime's C API uses, too.
#pragma once

#include "support/ElementType.h"

#include <string>

namespace lathe::lab {

/// Returns ElementType::invalid for types that Tensor does not have.
ElementType elementTypeFromOnnx(int number);
/// Returns the number of `type`; 0 (UNDEFINED) for ElementType::invalid.
int onnxNumber(ElementType type);
/// Name of the element type, or "type 14" for unknown types.
std::string onnxTypeName(int number);

} // namespace lathe::lab
