// Stores weights in 4 or 8 bits while activations stay float32, for networks that spend their time on reading
// weights.
#pragma once

#include "quantize/Graph.h"
#include "quantize/WeightFormat.h"

#include <span>

namespace lathe::quantize {

/// A block of weights as integer codes. Weight i is about (codes[i] - zero) * scale.
struct PackedBlock {
  float scale = 1;
  int zero = 0;
  std::vector<int> codes;
};

/// Chooses codes and scale of a block of weights for which the sum of squared errors is nearly the least. Alternates
/// between rounding to the nearest code and computing the least-squares scale for given codes, from several first
/// scales that clip more or less of the largest weights. Source: S. P. Lloyd, "Least squares quantization in PCM",
/// IEEE Transactions on Information Theory 28 (2), 1982; here, all levels are multiples of one scale.
PackedBlock packBlock(std::span<const float> weights, const WeightFormat &format);

/// A node whose weights packWeights has stored in 4 or 8 bits.
struct PackedLayer {
  std::string node, op;
  double cosine; // cosine similarity of the weights before and after quantisation
};

/// Stores the weights of matrix products in `format`. Stores embedding tables, which gathers read row by row, in i8
/// with one scale per row. Nodes of `excluded` stay in float. Returns the nodes whose weights were stored in this way.
std::vector<PackedLayer> packWeights(mlir::func::FuncOp main, const WeightFormat &format,
                                     const std::set<std::string> &excluded);

} // namespace lathe::quantize
