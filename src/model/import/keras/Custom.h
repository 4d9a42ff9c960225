// Replaces Keras layers and activations by the user's definitions, which are files of textual IR.
#pragma once

#include "import/keras/Keras.h"

namespace lathe::keras {

/// Emits the operators of function @main of `file`, applied to the operands. Returns its result.
mlir::Value definedBy(Node &node, const std::string &file, const Values &operands);

} // namespace lathe::keras
