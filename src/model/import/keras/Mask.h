// Masks say for every step of a sequence whether it counts. Keras passes them along invisibly with the tensors; here
// they are ordinary tensors of the graph: bool, batch x steps.
#pragma once

#include "import/keras/Config.h"

namespace lathe::keras {

/// What a layer does with the masks of its operands.
enum class MaskUse {
  drops,          // its results have no mask
  passes,         // its results have the mask of its first operand
  makes,          // it creates the mask of its result
  reads,          // it computes something else if a mask is given
  readsAndPasses, // reads and passes
  steps,          // reads, and passes if it returns the results of all steps; maskUse decides
  joins,          // its result has the masks of all operands combined
};

MaskUse maskUse(const LayerConfig &layer);

} // namespace lathe::keras
