// For tests only: runs kernels with AMX's tile registers on machines without AMX.
#pragma once

#include "mlir/IR/BuiltinOps.h"

namespace lathe {

/// Replaces the AMX instructions in a generated kernel (tile loads and stores, tdpbusd, tdpbf16ps) by loops over a
/// copy of the eight tile registers on the stack, as Intel's manual defines them for tiles of 16 rows of 64 bytes.
/// Throws Error for an AMX instruction that it does not know.
void emulateTiles(mlir::ModuleOp module);

} // namespace lathe
