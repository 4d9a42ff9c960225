// Decides whether a depthwise convolution and the pointwise convolution that follows it share one kernel.
#pragma once

#include "codegen/space/KernelFacts.h"

namespace lathe {

/// True if one kernel for both convolutions is predicted to be faster than two kernels. False for kernels of one
/// convolution.
bool separablePays(const KernelFacts &facts);

/// True if the schedule computes two convolutions in one kernel.
inline bool isSeparable(const Schedule &schedule) { return schedule.algorithm == "separable"; }

} // namespace lathe
