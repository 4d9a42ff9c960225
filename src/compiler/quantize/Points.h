// The points where a graph is quantised: operators that become integer kernels, and values between them.
#pragma once

#include "passes/Rewrite.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/MapVector.h"

#include <set>
#include <string>
#include <vector>

namespace lathe::quantize {

/// A convolution or a matrix product with constant weights, which quantisation can turn into an integer kernel.
struct Layer {
  mlir::Operation *op = nullptr;
  std::string node;       // name of the node in the source model
  int64_t weightAxis = 0; // axis of the weights that counts output channels
  int64_t inputAxis = 0;  // axis of operand 0 that counts input channels
  bool depthwise = false; // true: each group of the convolution has one input channel
  int64_t resultAxis = 0; // axis of the result that counts output channels
};

/// Returns `op` as a layer for quantisation; empty if `op` cannot be quantised.
std::optional<Layer> layerAt(mlir::Operation *op);

struct Points {
  std::vector<Layer> layers;     // layers that become integer kernels, in the order of the graph
  std::vector<std::string> left; // nodes of layers that stay in float because the caller excluded them
  /// Values of the graph to quantise, in order, with the number of their group. Values of one group have the same
  /// scale and zero point.
  llvm::MapVector<mlir::Value, size_t> groupOf;
  size_t groups = 0;
};

/// Chooses the values to quantise by the rules of ONNX Runtime's quantiser: inputs of layers, outputs of layers after
/// their activation, sums of quantised values at residual connections, and results of operators that only move or
/// select elements between two quantised values. Layers of `excluded` nodes stay in float. Results of the graph stay
/// in float, too.
Points findPoints(mlir::func::FuncOp main, const std::set<std::string> &excluded);

/// The relu or clip that is the only reader of `value`; null if there is none.
mlir::Operation *activationBehind(mlir::Value value);

} // namespace lathe::quantize
