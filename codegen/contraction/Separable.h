// Kernels of two convolutions, a depthwise one and a pointwise one behind it: what can be said before one is made.
#pragma once

#include "codegen/space/KernelFacts.h"

namespace lathe {

/// Whether such a kernel is predicted to take less time than a kernel for each convolution; false for facts of others.
bool separablePays(const KernelFacts &facts);

/// Whether a schedule is one for such kernels.
inline bool isSeparable(const Schedule &schedule) { return schedule.algorithm == "separable"; }

} // namespace lathe
