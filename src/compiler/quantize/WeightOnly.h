// Weights in 4 or 8 bits with activations in float32: for networks whose time is spent on reading weights.
#pragma once

#include "quantize/Graph.h"
#include "quantize/WeightFormat.h"

#include <span>

namespace lathe::quantize {

/// A block of weights as codes. Weight i is about (codes[i] - zero) * scale.
struct PackedBlock {
  float scale = 1;
  int zero = 0;
  std::vector<int> codes;
};

/// The codes of a block with nearly the least sum of squared errors. Alternates rounding to the nearest code and the
/// least-squares scale for given codes, starting from several scales that clip more or less of the largest weights.
/// Source: S. P. Lloyd, "Least squares quantization in PCM", IEEE Transactions on Information Theory 28 (2), 1982,
/// where the levels are multiples of one scale.
PackedBlock packBlock(std::span<const float> weights, const WeightFormat &format);

/// The result for the weights of one node.
struct PackedLayer {
  std::string node, op;
  double cosine; // of the weights and the dequantised weights
};

/// Stores the weights of matrix products in `format`, and embedding tables, which gathers read row by row, in i8 with
/// one scale per row. Nodes of `excluded` stay in float. Returns the nodes that were packed.
std::vector<PackedLayer> packWeights(mlir::func::FuncOp main, const WeightFormat &format,
                                     const std::set<std::string> &excluded);

} // namespace lathe::quantize
