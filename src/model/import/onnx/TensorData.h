// Decodes ONNX tensor messages to plain bytes, from all storage forms, also from files beside the model.
#pragma once

#include "import/Records.h"
#include "import/onnx/Types.h"
#include "import/onnx/onnx.pb.h"

#include <filesystem>

namespace lathe::onnx {

using source::TensorData;

/// Decodes an ONNX tensor message. Throws Error, beginning with `what` ("initializer 'w'"), unless type, extents and
/// data agree. `folder` is the folder of the model (empty: unknown); external data must be in it or below.
TensorData decodeTensor(const TensorProto &tensor, const std::string &what, const std::filesystem::path &folder);

/// Decodes an ONNX message of a sparse tensor to a dense tensor; throws Error like decodeTensor.
TensorData decodeSparse(const SparseTensorProto &tensor, const std::string &what, const std::filesystem::path &folder);

} // namespace lathe::onnx
