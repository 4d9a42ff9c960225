// Turns a model into source, as functions and statements.
#pragma once

#include "stage/Program.h"
#include "stage/WeightNames.h"

#include "mlir/IR/BuiltinOps.h"

namespace lathe::staging {

struct StagedModel {
  Program program;
  std::vector<std::pair<std::string, mlir::ElementsAttr>> weights; // weights, with their names in the program
};

/// Turns a graph into source: a function for every repeated block (stage/Blocks.h), every body and every scope of
/// several consecutive operators. `blocks` false: repeated blocks get no functions. Throws Error for a module at
/// kernels level.
StagedModel stageModel(mlir::ModuleOp module, bool blocks = true);

} // namespace lathe::staging
