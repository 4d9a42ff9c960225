// What convolutions and pools have in common.
#pragma once

#include "import/keras/Keras.h"

namespace lathe::keras {

/// Spatial axes of an operand with a batch and a channel axis: 1 to 3. Throws Error for others.
size_t spatialRank(Layer &layer, mlir::Value x);
/// The operand with channels first, wherever the layer has them, and back.
mlir::Value toChannelsFirst(Layer &layer, mlir::Value x);
mlir::Value fromChannelsFirst(Layer &layer, mlir::Value y);
/// Fills in the pads for `x` (channels first) by the layer's padding: valid, same or causal.
void padWindow(Layer &layer, mlir::Value x, Window &window);

} // namespace lathe::keras
