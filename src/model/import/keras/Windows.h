// What the importers of Keras convolutions and pools share.
#pragma once

#include "import/keras/Keras.h"

namespace lathe::keras {

/// Number of spatial axes of a layer's operand that has batch and channel axes: 1 to 3. Throws Error for other ranks.
size_t spatialRank(Layer &layer, mlir::Value x);
/// toChannelsFirst moves the channels of the layer's operand to the front if the layer has them last. fromChannelsFirst
/// moves them back.
mlir::Value toChannelsFirst(Layer &layer, mlir::Value x);
mlir::Value fromChannelsFirst(Layer &layer, mlir::Value y);
/// Sets the pads of `window` for `x` (channels first) as the layer's padding says: valid, same or causal.
void padWindow(Layer &layer, mlir::Value x, Window &window);

} // namespace lathe::keras
