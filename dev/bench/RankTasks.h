// For rank-bench: random kernels with the sizes that kernels of networks have, over all families. RandomKernels.h draws
// small and odd ones instead, whose time is that of a call.
#pragma once

#include "codegen/target/Target.h"
#include "codegen/testing/RandomTesting.h"

#include <string>
#include <vector>

namespace lathe {

struct RankTask {
  std::string label, family; // "conv 64->64 @56 3x3", "contraction"
  std::string text;          // the kernel function
  double low = -1, high = 1; // range of random inputs
};

/// `count` tasks: each kind of kernel once in random order, then kinds at random; with a family's name only its kinds.
std::vector<RankTask> rankTasks(Random &random, const Target &target, int64_t count, const std::string &family);

} // namespace lathe
