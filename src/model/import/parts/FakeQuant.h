// Fake quantisation: floats are rounded to the steps of a quantisation and stay floats.
#pragma once

#include "import/parts/Emitter.h"

namespace lathe::source {

/// The range and step (`scale`) of a fake quantisation, moved so that zero is a step.
struct NudgedRange {
  float low, high, scale;
};
/// Computes the range of a fake quantisation by TensorFlow's rule. Throws Error unless 2 <= bits <= 16 and least <=
/// most. A range on one side of zero is moved to zero; a range of width 0 turns all values into 0.
NudgedRange nudgedRange(float least, float most, int64_t bits, bool narrow);

/// Emits a fake quantisation like fakeQuant (parts/Emitter.h), with a range for every index of the last axis.
mlir::Value fakeQuantChannels(Emitter &op, mlir::Value x, const std::vector<NudgedRange> &ranges);

} // namespace lathe::source
