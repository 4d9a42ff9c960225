// Reads numbers of Keras configurations, and converts operands of layers to the compute type.
#pragma once

#include "import/keras/Keras.h"

namespace lathe::keras {

/// Appends all numbers of a JSON list, and of the lists inside, to a vector. Throws Error for anything else.
void collectNumbers(const json &value, std::vector<double> &result);
/// Emits a constant of the layer's compute type. Throws Error for too many elements, like `madeElements`.
mlir::Value constantNumbers(Layer &layer, const std::vector<int64_t> &dims, const std::vector<double> &values);
mlir::Value constantNumbers(Layer &layer, const std::vector<double> &values);
/// Operand 0 of a Keras layer, cast to the compute type.
mlir::Value asNumbers(Layer &layer);

} // namespace lathe::keras
