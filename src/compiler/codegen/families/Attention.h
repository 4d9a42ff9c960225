// Reads the facts of attention kernels; codegen/families/Attention.cpp emits their code.
#pragma once

#include "codegen/Generate.h"
#include "codegen/space/AttentionPlan.h"

namespace lathe {

/// Reads the facts of an attention kernel from its function. Throws Declined if no schedule can compute it.
std::unique_ptr<KernelFacts> readAttention(const KernelProblem &problem);

} // namespace lathe
