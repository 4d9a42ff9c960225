// Decisions about kernels of two convolutions: a depthwise convolution followed by a pointwise one.
#pragma once

#include "codegen/space/KernelFacts.h"

namespace lathe {

/// True if one kernel for both convolutions is predicted to be faster than a kernel for each. False
/// for kernels of one convolution.
bool separablePays(const KernelFacts &facts);

/// True if the schedule is for such kernels.
inline bool isSeparable(const Schedule &schedule) { return schedule.algorithm == "separable"; }

} // namespace lathe
