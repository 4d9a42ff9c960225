// The canonical text of a graph: equal for two graphs exactly if they compute the same by the same operators.
//
// The inputs and outputs have their names, nothing else has one: values are numbered, weights are told by type, extents
// and a hash of their bytes, and operators follow one another depth first from the outputs, operands before the
// operator that reads them.
// So neither names of nodes, nor the order of operations in the module, nor the sharing of equal constants, nor operators
// that no output depends on change it. Attributes are complete, defaults included. Bodies of control flow stand inside of
// their operator.
#pragma once

#include "mlir/IR/BuiltinAttributeInterfaces.h"
#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace lathe {

/// Throws Error for a module at kernels level.
std::string canonicalText(mlir::ModuleOp module);

/// "f32[64, 3, 7, 7] 0123456789abcdef0123456789abcdef": type, extents and 128 bits of the BLAKE3 hash of the elements.
std::string constantKey(mlir::ElementsAttr elements);

} // namespace lathe
