// How weights are stored that alone are quantised.
#pragma once

#include "support/ElementType.h"

namespace lathe::quantize {

struct WeightFormat {
  ElementType type = ElementType::invalid; // i4 or i8; invalid: weights are not quantised alone
  /// Reduction steps that share a scale, 0: all steps of a column. The largest divisor of the number of steps that is not
  /// larger serves.
  int64_t block = 0;
  bool zeroPoints = false; // codes are unsigned, and each block has a zero point besides its scale
};

} // namespace lathe::quantize
