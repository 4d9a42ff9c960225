// ONNX tensors as plain bytes: every way the format stores elements, including files beside the model.
#pragma once

#include "import/onnx/onnx.pb.h"
#include "support/ElementType.h"

#include <filesystem>
#include <string>
#include <vector>

namespace lathe::onnx {

/// Element type for a TensorProto.DataType; `invalid` for types Lathe does not know.
ElementType fromOnnxType(int32_t dataType);
/// TensorProto.DataType for an element type (UNDEFINED for invalid).
int32_t toOnnxType(ElementType type);
/// "float", "complex64", "type 99": ONNX's own names, for messages.
std::string onnxTypeName(int32_t dataType);

struct TensorData {
  ElementType type = ElementType::invalid;
  std::vector<int64_t> dims;
  std::vector<char> bytes;          // row-major, native order; booleans 0 or 1; sub-byte types packed
  std::vector<std::string> strings; // of string tensors
};

/// The product of `dims`, refusing negative extents and more than 2^42 elements (Error starting with `what`).
int64_t checkedElements(const std::vector<int64_t> &dims, const std::string &what);

/// Throws Error, starting with `what` ("initializer 'w'"), unless type, extents and data agree. `folder` is where the
/// model lies (empty: unknown); external data must lie in it or below.
TensorData decodeTensor(const TensorProto &tensor, const std::string &what, const std::filesystem::path &folder);

} // namespace lathe::onnx
