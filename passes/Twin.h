// Twin runs: the same inputs through two forms of a model, and how far the outputs are apart.
#pragma once

#include "runtime/Tensor.h"

#include "mlir/IR/BuiltinOps.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace lathe {

/// Inputs for @main from a seed: floats normally distributed, integers in [0, 3], booleans either. Symbolic extents
/// from `symbols`, 2 where one is not named.
std::vector<Value> randomInputs(mlir::ModuleOp module, uint64_t seed,
                                const std::map<std::string, int64_t> &symbols = {});

struct TwinResult {
  double maxRelative = 0; // largest |a - b| over the largest |a| of its output
  std::string mismatch;   // "" or what makes the outputs incomparable
};
TwinResult compareTwins(std::span<const Value> a, std::span<const Value> b);

} // namespace lathe
