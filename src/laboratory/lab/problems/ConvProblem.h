// A two-dimensional convolution in the form that libraries need: a view of a Problem.
#pragma once

#include "lab/problems/Problem.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lathe::lab {

/// A two-dimensional convolution. Its tensors have the axes N, C, H, W in this order; the provider chooses their
/// layout in memory.
struct ConvProblem {
  int64_t batch = 1, groups = 1;
  int64_t inChannels = 1, inHeight = 1, inWidth = 1;
  int64_t outChannels = 1, outHeight = 1, outWidth = 1;
  int64_t kernelHeight = 1, kernelWidth = 1, strideHeight = 1, strideWidth = 1;
  int64_t padTop = 0, padLeft = 0, padBottom = 0, padRight = 0;
  int64_t dilationHeight = 1, dilationWidth = 1; // distance of adjacent taps; 1: dense
  bool bias = false, relu = false;               // relu: the epilogue is one relu

  std::vector<int64_t> inputDims() const { return {batch, inChannels, inHeight, inWidth}; }
  std::vector<int64_t> weightDims() const { return {outChannels, inChannels / groups, kernelHeight, kernelWidth}; }
  std::vector<int64_t> outputDims() const { return {batch, outChannels, outHeight, outWidth}; }
  /// The class of a convolution for summaries: "3x3", "1x1", "depthwise", "strided" or "other". "3x3" and "1x1" mean
  /// stride 1, one group and no dilation; "strided" is any other stride.
  std::string kind() const;
};

/// Returns the problem as a two-dimensional convolution; nothing if it is something else or has an epilogue other than
/// one relu. Padding below and to the right follows from the extents of the output.
std::optional<ConvProblem> convOf(const Problem &problem);

} // namespace lathe::lab
