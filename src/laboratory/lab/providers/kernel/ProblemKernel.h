// A problem as a kernel function, with activations in the layout that they would have in a network.
#pragma once

#include "codegen/Generate.h"
#include "lab/ops/ProviderRequest.h"
#include "lab/problems/Problem.h"

#include <functional>

namespace lathe::lab {

/// Calls `attempt` with the kernel's function in one layout after the other until it is done: blocked, or row-major where the
/// operator reads images or cannot read blocks. `layout` other than `any` allows only that one. Returns the layout's name,
/// "nChw16c to nChw16c", or declines with the reasons for every layout tried.
Outcome<std::string> firstLayout(const Problem &problem, const Target &target, ActivationLayout layout, int threads,
                                 const std::function<Outcome<bool>(const KernelProblem &)> &attempt);

} // namespace lathe::lab
