// Draws random kernels with the sizes that kernels of networks have, over all families. (RandomKernels.h draws small
// and odd kernels, whose time is mostly the time of a call.)
#pragma once

#include "Times.h"
#include "codegen/testing/RandomTesting.h"

namespace lathe::study {

/// Returns `count` random kernels: each kind once in random order, then kinds at random; with a family's name only
/// kinds of the family.
std::vector<TimedKernel> rankTasks(Random &random, const Target &target, int64_t count, const std::string &family);

} // namespace lathe::study
