// For tests: random kernel functions of every family and random schedules for them. Tensors may be
// too large to allocate: the kernels are analysed, not run.
#pragma once

#include "codegen/space/KernelFacts.h"
#include "codegen/testing/RandomTesting.h"

#include <map>

namespace lathe {

/// Returns the text of a random kernel function of `family`, as passes/kernels/Partition.h leaves
/// it, with the layouts of `target`.
std::string randomKernel(Random &random, const std::string &family, const Target &target);

/// Draws a random schedule of one algorithm, legal or not. Each parameter is left out, drawn from the kernel's knobs
/// or, rarely, from all declared values.
Schedule anySchedule(Random &random, const KernelFacts &facts, const Algorithm &algorithm);

/// Draws a random schedule of any algorithm of the kernel's family. Draws at most three schedules and returns the
/// first legal one, else the last. Most schedules of algorithms that cannot compute the kernel are drawn again without
/// being counted.
Schedule randomSchedule(Random &random, const KernelFacts &facts);

/// Draws a random schedule of one algorithm, with the parameters in `words` set. Draws at most twelve schedules and
/// returns the first legal one, else the last.
Schedule randomSchedule(Random &random, const KernelFacts &facts, std::string_view algorithm,
                        const std::map<std::string, std::string> &words = {});

} // namespace lathe
