// ONNX tensors as plain bytes: every way the format stores elements, including files beside the model.
#pragma once

#include "import/Records.h"
#include "import/onnx/Types.h"
#include "import/onnx/onnx.pb.h"

#include <filesystem>

namespace lathe::onnx {

using source::TensorData;

/// Throws Error, starting with `what` ("initializer 'w'"), unless type, extents and data agree. `folder` is where the
/// model lies (empty: unknown); external data must lie in it or below.
TensorData decodeTensor(const TensorProto &tensor, const std::string &what, const std::filesystem::path &folder);

} // namespace lathe::onnx
