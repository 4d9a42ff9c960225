// Rewrites of a graph before and while it is quantised.
#pragma once

#include "quantize/Points.h"
#include "quantize/Scales.h"

#include "mlir/IR/BuiltinOps.h"

#include <functional>
#include <map>
#include <string>

namespace lathe::quantize {

/// Prepares a graph for quantisation: folds batch norms and constants, and replaces operators of recent ONNX opsets by
/// older ones. The module stays at graph level: no layout is chosen.
void prepare(mlir::ModuleOp module);

/// Throws Error with the node if a weight of a layer is not finite, or if any other constant has a NaN.
void requireFiniteConstants(mlir::func::FuncOp main);

/// Name of a value of the graph for messages: "input 'x'", or "node 'conv1'" if the node computes it.
std::string valueName(mlir::Value value);

/// The output by which a quantised model and its float model are compared.
struct ComparedOutput {
  size_t index = 0; // index of the output among the outputs that are tensors
  // True if the first axis of the output is the first axis of an input, such as a batch: each row is then a decision.
  bool byRow = false;
  /// Names of earlier outputs that are not compared because their extents depend on data.
  std::vector<std::string> open;
};
/// Chooses the output to compare: the first output whose extents follow from the inputs' extents; if there is none,
/// the first output.
ComparedOutput comparedOutput(mlir::func::FuncOp main);

/// Cross-layer equalisation: scales the output channels of a layer and divides the input channels of the next layer by
/// the same factors, so that both have weights with similar ranges; the computed function stays the same. Only between
/// layers with nothing or a relu between them, because a relu passes positive factors on. Source: M. Nagel, M. van
/// Baalen, T. Blankevoort, M. Welling, "Data-free quantization through weight equalization and bias correction", ICCV
/// 2019 (arXiv:1906.04721), section 4.1. Returns the number of pairs.
size_t equalize(mlir::func::FuncOp main);

struct InsertOptions {
  bool perChannel = true;
  int weightMost = 127; // magnitude of the integer to which the largest weight is quantised
  /// Returns the channel means that the input of a layer has in the float model; empty: no bias correction. The
  /// corrected bias compensates the mean error from rounding the weights. Source: the paper above, section 4.2.
  std::function<std::vector<double>(mlir::Value)> channelMeans;
  /// Numbers to add to the bias of a layer, one per output channel, by the layer's node.
  std::map<std::string, std::vector<double>> corrections;
};

/// Inserts quantise and dequantise operators into a graph at the points. `scales` has one entry for each group of
/// values. Weights become int8 constants, biases int32 constants.
void insertQuantization(mlir::func::FuncOp main, const Points &points, const std::vector<nn::QuantizedScale> &scales,
                        const InsertOptions &options);

/// Quantises the weights of matrix products to int8, and adds operators that quantise their inputs in each run, with
/// one scale per row. Needs no calibration. Layers of `excluded` nodes stay in float. Returns the nodes of the
/// quantised layers.
std::vector<std::string> quantizeDynamically(mlir::func::FuncOp main, const std::set<std::string> &excluded);

} // namespace lathe::quantize
