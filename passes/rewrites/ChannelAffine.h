// y = scale[c] * x + shift[c] a channel, moved into the weights of a neighbouring contraction.
#pragma once

#include "mlir/IR/Operation.h"

#include <vector>

namespace lathe {

struct ChannelAffine {
  std::vector<double> scale, shift; // one a channel
};

/// Folds `affine`, applied by `consumer` to the result of a conv, conv_transpose or gemm with constant weights and no
/// other user, into that operator and replaces `consumer` by its result. False, with nothing changed, where that is not
/// possible.
bool foldIntoProducer(mlir::Value x, const ChannelAffine &affine, mlir::Operation *consumer);

/// Folds `affine`, applied by `producer` to `x`, into the conv that is its only user, where padding allows it. Replaces
/// the uses of `producer` by `x`.
bool foldIntoConsumer(mlir::Value x, const ChannelAffine &affine, mlir::Operation *producer);

} // namespace lathe
