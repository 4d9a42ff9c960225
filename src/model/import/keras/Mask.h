// Masks, which say for every step of a sequence whether it counts. Keras passes them along unseen beside the tensors; here
// they are tensors of the graph like others: bool, batch x steps.
#pragma once

#include "import/keras/Config.h"

namespace lathe::keras {

/// What a layer does about the masks of its operands.
enum class MaskUse {
  drops,          // its results have none
  passes,         // its results have that of its first operand
  makes,          // its result has one of its own making
  reads,          // it computes something else where one is given
  readsAndPasses, // both
  steps,          // reads, and passes where it returns the results of all steps; maskUse says which
  joins,          // its result has those of all operands together
};

MaskUse maskUse(const LayerConfig &layer);

} // namespace lathe::keras
