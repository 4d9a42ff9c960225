// The canonical text of a graph: equal for two graphs exactly if they compute the same with the same operators.
//
// Only inputs and outputs have names: values are numbered, and a weight is represented by type, extents and a hash of
// its bytes. Operators follow depth first from the outputs, operands before the operator that reads them.
// So names of nodes, the order of operations in the module, the sharing of equal constants, and operators that no
// output depends on do not change the text. Attributes are complete, including defaults. Bodies of control flow are
// printed inside their operator.
#pragma once

#include "mlir/IR/BuiltinAttributeInterfaces.h"
#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace lathe {

/// Returns the canonical text of a graph. Throws Error for a module at kernels level.
std::string canonicalText(mlir::ModuleOp module);

/// The text that stands for a weight, "f32[64, 3, 7, 7] 0123456789abcdef0123456789abcdef": type, extents and 128 bits
/// of the BLAKE3 hash of its elements.
std::string constantKey(mlir::ElementsAttr elements);

} // namespace lathe
