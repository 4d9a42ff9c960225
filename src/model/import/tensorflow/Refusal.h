// Reasons to refuse TensorFlow nodes regardless of their inputs.
#pragma once

#include "import/tensorflow/TensorFlow.h"

namespace lathe::tensorflow {

/// Returns the reason why a batch normalisation is refused: it uses the statistics of each batch. Null for batch
/// normalisation in inference and for other operators (Normalize.cpp).
const char *refusalOfBatchNorm(const NodeRecord &node);

} // namespace lathe::tensorflow
