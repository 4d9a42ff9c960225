// A problem as a kernel function, with activations in the layout that they have in a network.
#pragma once

#include "codegen/Generate.h"
#include "lab/ops/ProviderRequest.h"
#include "lab/problems/Problem.h"

#include <functional>

namespace lathe::lab {

/// Calls `attempt` with the kernel's function in one layout after the other until it succeeds: blocked, or row-major if
/// the operator reads images or cannot read blocks. `layout` other than `any` allows only this one. Returns the
/// layout's name, "nChw16c to nChw16c", or declines with the reasons for all layouts.
Outcome<std::string> firstLayout(const Problem &problem, const Target &target, ActivationLayout layout, int threads,
                                 const std::function<Outcome<bool>(const KernelProblem &)> &attempt);

} // namespace lathe::lab
