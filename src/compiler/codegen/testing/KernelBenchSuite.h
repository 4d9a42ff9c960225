// For kernel-bench: tables of convolutions, and the peak throughput of a core.
#pragma once

#include "codegen/target/Target.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace mlir {
class MLIRContext;
}

namespace lathe {

struct SuiteProblem {
  int64_t channels = 0, height = 0, outChannels = 0, kernel = 0; // kernel: height of the kernel
  std::map<std::string, int64_t> more; // other values by the names of kernel-bench: w, kw, stride, pad, ...
};

/// Reads the distinct problems of a CSV table whose first line names the columns (suite, batch,
/// in_channels, ... groups), for suites whose names contain `suite`, in order. Throws Error with
/// file, line and column for a value that is not a number.
std::vector<SuiteProblem> readSuite(const std::string &path, const std::string &suite);

/// Measures the peak of this core in GFLOP/s (fp32) with independent chains of fused multiply-adds
/// in registers.
double peakGflops(mlir::MLIRContext *context, const Target &target);

} // namespace lathe
