// Nodes that are refused whatever their inputs are.
#pragma once

#include "import/tensorflow/TensorFlow.h"

namespace lathe::tensorflow {

/// Why a batch normalisation is not imported: it uses the statistics of each batch. Null for one for inference, and for other
/// operators (Normalize.cpp).
const char *refusalOfBatchNorm(const NodeRecord &node);

} // namespace lathe::tensorflow
