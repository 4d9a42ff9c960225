// Checkpoints: places where a network can be cut, for measuring its segments.
#pragma once

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace lathe {

struct Checkpoint {
  std::string node; // last node before the cut, as cutGraph takes it
  double flops = 0; // operations of all nodes up to this one, itself included; symbols count as 1
  // true if later operators read no earlier result except this node's and the inputs of the graph
  bool separates = false;
};

/// Returns the source nodes after which the network may be cut, in order of execution. Such a node has operators in
/// @main that depend on an input, and other nodes read exactly one of their results.
std::vector<Checkpoint> checkpoints(mlir::ModuleOp module);

/// Returns the last checkpoint in a scope: "cnn/pool2" for "cnn". The name of a scope ends before a '/' or '.' of a
/// node's name. Returns "" if the scope has no checkpoint.
std::string lastOfScope(mlir::ModuleOp module, const std::string &scope);

/// Returns at most `count` of those checkpoints that separate the network into two parts (`separates`), spread so that
/// about equal numbers of operations lie between them. Outputs of the graph are left out.
std::vector<Checkpoint> spreadCheckpoints(mlir::ModuleOp module, size_t count);

} // namespace lathe
