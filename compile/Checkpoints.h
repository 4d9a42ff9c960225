// Places where a network can be cut in two: for measuring it piece by piece.
#pragma once

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace lathe {

struct Checkpoint {
  std::string node;       // name of the operator behind which the cut lies; cutGraph takes it
  double flops = 0;       // of everything up to it, symbols at 1
  bool separates = false; // what follows reads nothing that was made before but this operator's result
};

/// Every named operator with one result on the way from the inputs to the outputs of @main, in order of execution.
std::vector<Checkpoint> checkpoints(mlir::ModuleOp module);

/// At most `count` of those that separate, spread evenly over the operations: the nearest to each share of the whole.
/// The outputs themselves are none of them.
std::vector<Checkpoint> spreadCheckpoints(mlir::ModuleOp module, size_t count);

} // namespace lathe
