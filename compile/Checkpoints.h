// Checkpoints: places where a network can be cut, for measuring its segments.
#pragma once

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace lathe {

struct Checkpoint {
  std::string node;       // the operator before the cut; a name for cutGraph
  double flops = 0;       // operations up to and including it, symbols at 1
  bool separates = false; // later operators read no earlier result but this one
};

/// Returns every operator of @main that depends on an input, has one result, which is used, and is
/// the only operator of its source node; in order of execution.
std::vector<Checkpoint> checkpoints(mlir::ModuleOp module);

/// Returns at most `count` checkpoints that separate, spread evenly over the operations, without
/// the outputs of the graph.
std::vector<Checkpoint> spreadCheckpoints(mlir::ModuleOp module, size_t count);

} // namespace lathe
