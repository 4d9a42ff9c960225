// For tests: random kernel functions of every family and random schedules for them. Extents may be far too large to
// run: the kernels are for questions about schedules.
#pragma once

#include "codegen/space/KernelFacts.h"
#include "codegen/testing/RandomTesting.h"

#include <map>

namespace lathe {

/// A function of `family`, as passes/Partition leaves it, laid out for `target`.
std::string randomKernel(Random &random, const std::string &family, const Target &target);

/// Of one algorithm, legal or not. Parameters are left out, drawn from the kernel's knobs or, rarely, from all values
/// that are declared.
Schedule anySchedule(Random &random, const KernelFacts &facts, const Algorithm &algorithm);

/// Of any algorithm of the kernel's family. Up to three are drawn until one is legal; schedules of algorithms for other
/// kernels are mostly drawn again.
Schedule randomSchedule(Random &random, const KernelFacts &facts);

/// Of one algorithm, `words` set: most are legal where any is.
Schedule randomSchedule(Random &random, const KernelFacts &facts, std::string_view algorithm,
                        const std::map<std::string, std::string> &words = {});

} // namespace lathe
