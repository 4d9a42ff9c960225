// One shard of the generated operator code, so that the shards compile in parallel.
#include "ir/Nn.h"

#include "mlir/IR/Builders.h"

#define GET_OP_DEFS_0
#include "ir/NnOps.cpp.inc"
