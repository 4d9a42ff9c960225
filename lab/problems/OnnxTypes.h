// Element types by the numbers of ONNX's TensorProto.DataType, which are also those of ONNX Runtime's C API.
#pragma once

#include "support/ElementType.h"

#include <string>

namespace lathe::lab {

/// ElementType::invalid for types that Tensor has no counterpart of.
ElementType elementTypeFromOnnx(int number);
/// 0 (UNDEFINED) for ElementType::invalid.
int onnxNumber(ElementType type);
/// The name of the element type, or "type 14" where there is none.
std::string onnxTypeName(int number);

} // namespace lathe::lab
