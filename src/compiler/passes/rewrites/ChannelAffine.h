// Folds a per-channel scale and shift, y = scale[c] * x + shift[c], into the weights of a neighbouring convolution or
// matrix product.
#pragma once

#include "mlir/IR/Operation.h"

#include <vector>

namespace lathe {

struct ChannelAffine {
  std::vector<double> scale, shift; // one number per channel
};

/// Folds `affine`, which `consumer` applies to `x`, into the operator that computes `x` (a conv,
/// conv_transpose or gemm with constant weights and no other user) and replaces `consumer` by its
/// result. Returns false and changes nothing if that is not possible.
bool foldIntoProducer(mlir::Value x, const ChannelAffine &affine, mlir::Operation *consumer);

/// Folds `affine`, which `producer` applies to `x`, into the conv that is its only user, if the
/// padding allows it, and replaces the uses of `producer` by `x`. Returns false and changes nothing
/// otherwise.
bool foldIntoConsumer(mlir::Value x, const ChannelAffine &affine, mlir::Operation *producer);

} // namespace lathe
