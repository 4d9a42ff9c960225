// Rounding to the steps of a quantisation, in floats.
#pragma once

#include "import/parts/Emitter.h"

namespace lathe::source {

/// The range that a quantisation covers: its ends have moved so that zero is a step.
struct NudgedRange {
  float low, high, scale;
};
/// TensorFlow's rule. Throws Error unless 2 <= bits <= 16 and least <= most; a range that lies on one side of zero is moved
/// to it, and of one without width all values become 0.
NudgedRange nudgedRange(float least, float most, int64_t bits, bool narrow);

/// fakeQuant (Emitter.h) with a range for every index of the last axis.
mlir::Value fakeQuantChannels(Emitter &op, mlir::Value x, const std::vector<NudgedRange> &ranges);

} // namespace lathe::source
