// Twin runs: run two forms of a model on the same inputs and compare the outputs.
#pragma once

#include "runtime/Tensor.h"

#include "mlir/IR/BuiltinOps.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace lathe {

/// Random inputs for the function @main of a module: floats normally distributed, integers in [0, 3], booleans. Values
/// of open extents come from `symbols`; missing symbols are 2.
std::vector<Value> randomInputs(mlir::ModuleOp module, uint64_t seed,
                                const std::map<std::string, int64_t> &symbols = {});

struct TwinResult {
  double maxRelative = 0; // largest value of max |a - b| / max |a| over all outputs
  std::string mismatch;   // the reason why the outputs cannot be compared; "": they can
};
TwinResult compareTwins(std::span<const Value> a, std::span<const Value> b);

} // namespace lathe
