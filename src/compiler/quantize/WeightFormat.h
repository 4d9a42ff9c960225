// The format of weights that are quantised alone, while activations stay in float.
#pragma once

#include "support/ElementType.h"

namespace lathe::quantize {

struct WeightFormat {
  /// Type of the stored weights, i4 or i8; invalid: weights are not quantised separately.
  ElementType type = ElementType::invalid;
  /// Number of reduction steps of a column of weights that share a scale; 0: all steps. If it does not divide the
  /// number of steps, the next smaller divisor is used.
  int64_t block = 0;
  bool zeroPoints = false; // true: stored integers are unsigned, and each block has a zero point besides its scale
};

} // namespace lathe::quantize
