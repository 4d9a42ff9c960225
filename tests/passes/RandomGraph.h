// Small random networks like convolutional models, for property tests.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <cstdint>

namespace lathe {

/// A graph-level module of about `operators` operators with one input and one or two outputs. The
/// batch is symbolic, 1 or 2. Everything follows from the seed.
mlir::OwningOpRef<mlir::ModuleOp> randomGraph(mlir::MLIRContext &context, uint64_t seed, int operators);

} // namespace lathe
