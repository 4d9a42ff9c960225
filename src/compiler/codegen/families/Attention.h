// Reads attention kernels; codegen/families/Attention.cpp emits the code.
#pragma once

#include "codegen/Generate.h"
#include "codegen/space/AttentionPlan.h"

namespace lathe {

/// Reads the facts of a kernel function. Throws Declined if no schedule can compute it.
std::unique_ptr<KernelFacts> readAttention(const KernelProblem &problem);

} // namespace lathe
