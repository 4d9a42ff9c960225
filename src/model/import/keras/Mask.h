// Masks of Keras: a mask says for every step of a sequence whether it counts. Keras passes masks along invisibly with
// the tensors; here they are ordinary tensors of the graph: bool, batch x steps.
#pragma once

#include "import/keras/Config.h"

namespace lathe::keras {

/// What a Keras layer does with the masks of its operands.
enum class MaskUse {
  drops,          // the layer's results have no mask
  passes,         // the layer's results have the mask of its first operand
  makes,          // the layer creates the mask of its result
  reads,          // the layer's results depend on a given mask, and have no mask
  readsAndPasses, // the layer's results depend on a given mask, and have it
  steps,          // the layer reads masks, and passes them if it returns the results of all steps; maskUse decides
  joins,          // the layer's result has the masks of all operands combined
};

MaskUse maskUse(const LayerConfig &layer);

} // namespace lathe::keras
