// Small random networks of the shapes convolutional models have, for property tests.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <cstdint>

namespace lathe {

/// A graph-level module of about `operators` operators with one input, batch symbolic, 1 or 2 by the seed, and one or
/// two outputs.
mlir::OwningOpRef<mlir::ModuleOp> randomGraph(mlir::MLIRContext &context, uint64_t seed, int operators);

} // namespace lathe
