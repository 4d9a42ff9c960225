// Makes small random networks like convolutional models, for tests of properties that all networks have.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <cstdint>

namespace lathe {

/// Returns a graph-level module of about `operators` operators with one input and one or two outputs. The batch is
/// symbolic, 1 or 2. Equal seeds give equal modules.
mlir::OwningOpRef<mlir::ModuleOp> randomGraph(mlir::MLIRContext &context, uint64_t seed, int operators);

} // namespace lathe
