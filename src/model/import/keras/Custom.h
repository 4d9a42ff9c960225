// Replaces layers and activations by definitions of the user.
#pragma once

#include "import/keras/Keras.h"

namespace lathe::keras {

/// Applies the operators of @main of `file` to the operands, and returns the result.
mlir::Value definedBy(Node &node, const std::string &file, const Values &operands);

} // namespace lathe::keras
