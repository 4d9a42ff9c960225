// Decodes the elements of constant tensors of a TFLite file.
#pragma once

#include "import/Records.h"
#include "import/tflite/Source.h"

#include <string_view>

namespace lathe::tflite {

/// Decodes the elements of the constant `tensor` of a TFLite file. Throws Error, beginning with `what`, unless type,
/// extents and data agree.
source::TensorData decodeTensor(const file::Tensor &tensor, const file::Model &model, std::string_view bytes,
                                const std::string &what);

} // namespace lathe::tflite
