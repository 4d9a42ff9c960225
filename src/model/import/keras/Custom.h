// Definitions of the user in place of what a model names.
#pragma once

#include "import/keras/Keras.h"

namespace lathe::keras {

/// The result of the operators of @main of `file` on the operands.
mlir::Value definedBy(Node &node, const std::string &file, const Values &operands);

} // namespace lathe::keras
