// Reading attention kernels: codegen/families/Attention.cpp emits the code.
#pragma once

#include "codegen/Generate.h"
#include "codegen/space/AttentionPlan.h"

namespace lathe {

/// Throws Declined for what no schedule computes.
std::unique_ptr<KernelFacts> readAttention(const KernelProblem &problem);

} // namespace lathe
