// Shared by importers of convolutions and pools.
#pragma once

#include "import/keras/Keras.h"

namespace lathe::keras {

/// Number of spatial axes of an operand with batch and channel axes: 1 to 3. Throws Error for others.
size_t spatialRank(Layer &layer, mlir::Value x);
/// toChannelsFirst moves the channels of the layer's operand to the front if the layer has them last. fromChannelsFirst
/// moves them back.
mlir::Value toChannelsFirst(Layer &layer, mlir::Value x);
mlir::Value fromChannelsFirst(Layer &layer, mlir::Value y);
/// Fills in the pads for `x` (channels first) by the layer's padding: valid, same or causal.
void padWindow(Layer &layer, mlir::Value x, Window &window);

} // namespace lathe::keras
