// Decodes the elements of TensorFlow's tensor messages.
#pragma once

#include "import/Records.h"
#include "import/tensorflow/tensorflow.pb.h"

namespace lathe::tensorflow {

/// Decodes the tensor in a TensorFlow message. Throws Error, beginning with `what`, unless type, extents and data
/// agree.
source::TensorData decodeTensor(const file::TensorProto &tensor, const std::string &what);
/// Reads a shape in a TensorFlow message whose extents are all known. Throws Error, beginning with `what`, for other
/// shapes.
std::vector<int64_t> knownDims(const file::TensorShapeProto &shape, const std::string &what);

} // namespace lathe::tensorflow
