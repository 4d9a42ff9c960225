// The ports of a model, as its package has them.
#pragma once

#include "runtime/Model.h"

#include "mlir/IR/BuiltinOps.h"

#include <vector>

namespace lathe {

/// The inputs of @main.
std::vector<runtime::Port> inputPorts(mlir::ModuleOp module);

} // namespace lathe
