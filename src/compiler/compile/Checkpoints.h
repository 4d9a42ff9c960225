// Checkpoints: places where a network can be cut, for measuring its segments.
#pragma once

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace lathe {

struct Checkpoint {
  std::string node;       // the node before the cut; a name for cutGraph
  double flops = 0;       // operations up to and including it, symbols at 1
  bool separates = false; // later operators read no other earlier result, apart from the graph's inputs
};

/// Returns the source nodes after which the network may be cut, in order of execution: the node's operators in @main
/// depend on an input, and other nodes read exactly one result of them.
std::vector<Checkpoint> checkpoints(mlir::ModuleOp module);

/// Returns the last checkpoint of a scope, "cnn/pool2" of "cnn"; "" where there is none. Names of scopes end before '/' or '.'.
std::string lastOfScope(mlir::ModuleOp module, const std::string &scope);

/// Returns at most `count` checkpoints that separate, spread evenly over the operations, without
/// the outputs of the graph.
std::vector<Checkpoint> spreadCheckpoints(mlir::ModuleOp module, size_t count);

} // namespace lathe
