// The operator of a benchmark problem as a kernel function, with inputs and outputs in the layout that they have in a
// network.
#pragma once

#include "codegen/Generate.h"
#include "lab/ops/ProviderRequest.h"
#include "lab/problems/Problem.h"

#include <functional>

namespace lathe::lab {

/// Calls `attempt` with the kernel's function for one layout after the other until a call succeeds. The layouts are
/// blocked and, if the operator reads images or cannot read blocks, row-major. `layout` other than `any` allows only
/// that one. Returns the name of the layout ("nChw16c to nChw16c"), or declines with the reasons for all layouts.
Outcome<std::string> firstLayout(const Problem &problem, const Target &target, ActivationLayout layout, int threads,
                                 const std::function<Outcome<bool>(const KernelProblem &)> &attempt);

} // namespace lathe::lab
