// The graph passes. Each is one function in a file of its own name; `lathe-opt --kebab-name` runs it on textual IR.
//
// They work on @main's nn operators and leave kernel functions (private, with nn.family) alone.
#pragma once

#include "ir/Bridge.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <span>
#include <string>
#include <vector>

namespace lathe {

struct PipelineOptions;
struct PipelineReport;

/// Refines result types from the shape functions and replaces shape arithmetic whose outcome is known by constants.
void inferShapes(mlir::ModuleOp module);

/// Moves operands that the record calls static into their attribute where they are constant, and the targets of reshape
/// and expand also where they are symbolic but expressible (0, -1).
void staticOperands(mlir::ModuleOp module);

/// Evaluates operators whose operands are all constant with their references. A result much larger than its operands is
/// left to run time unless all its elements are equal.
void foldConstants(mlir::ModuleOp module);

/// Replaces inputs and results without elements by constants, drops them from concatenations, and removes what only
/// they needed: no pass and no kernel family has to know what an operator over nothing is.
void foldEmpty(mlir::ModuleOp module);

/// Removes operators without a used result and private functions without a caller.
void deadCode(mlir::ModuleOp module);

/// Rewrites batch_norm: into the weights of a conv, gemm or matmul next to it, otherwise as mul and add a channel.
/// With `decomposeOnly` never into weights, with `exactMath` in the order of its definition (see PipelineOptions).
void foldBatchNorm(mlir::ModuleOp module, bool decomposeOnly, bool exactMath);

/// Moves mul, div, add and sub by a constant a channel into the weights or bias of the conv or gemm before them. Does
/// nothing under exact math.
void foldScale(mlir::ModuleOp module, bool exactMath);

/// Rewrites conv_transpose with constant weights: an ordinary convolution that computes every phase of the stride as
/// channels of its own, then depth_to_space and a slice. Element-wise operators behind move before the interleaving.
/// Under exact math only where no weight is added (one without a tap turns infinite inputs into NaN).
void convTranspose(mlir::ModuleOp module, bool exactMath);

/// Rewrites conv_integer and matmul_integer: a conv or matmul of 32-bit integers, from which zero points have been
/// subtracted, in constants at once.
void widenInteger(mlir::ModuleOp module);

/// Moves a pad into the conv or pool behind it.
void foldPad(mlir::ModuleOp module);

/// Removes operators that do nothing and merges those that undo or repeat one another.
void simplify(mlir::ModuleOp module);

/// Rewrites concatenations and splits of more than `widestMovement` parts as trees of narrower ones.
void narrowMovement(mlir::ModuleOp module);

/// Channel shuffles (reshape, transpose, reshape) become one gather over the channels.
void channelShuffle(mlir::ModuleOp module);

/// Where shuffled channels are only read by dense convolutions, through depthwise ones and element-wise operators, and
/// made by dense convolutions, the order of channels moves into the weights: what is read becomes a concatenation of
/// runs. Sums change their order.
void absorbShuffle(mlir::ModuleOp module);

/// softmax(scale * q k^T + bias, masked) v, spelled out in operators, becomes one attention. Not for exact math:
/// factors move.
void recognizeAttention(mlir::ModuleOp module);

/// Moves a reshape of a matrix product behind the element-wise operators that follow, so that they fuse into its
/// kernel.
void sinkReshape(mlir::ModuleOp module);

/// Rewrites lstm, gru and rnn: the input's share of all gates as one matmul over all steps and directions, with the
/// biases that can be added there, and a recurrence for the rest.
void splitRecurrence(mlir::ModuleOp module);

/// The formulas exporters write for one operator become that operator: layer_norm, rms_norm, instance_norm.
void recognizeLayerNorm(mlir::ModuleOp module);
/// An instance_norm between reshapes is a group_norm.
void recognizeGroupNorm(mlir::ModuleOp module);
/// gelu, hard_swish, mish.
void recognizeActivation(mlir::ModuleOp module);
/// softmax, log_softmax.
void recognizeSoftmax(mlir::ModuleOp module);
/// lp_normalize.
void recognizeLpNormalize(mlir::ModuleOp module);

/// Chooses row-major or blocked channels for every value and inserts the conversions that remain.
void assignLayout(mlir::ModuleOp module, const PipelineOptions &options, PipelineReport &report);

/// At kernels level: kernels that only concatenate, slice or split where the parts are contiguous in the whole become
/// operators in
/// @main with the attribute nn.in_place (passes/kernels/ShareStorage.h); a concatenation that begins with the parts of an
/// earlier one takes that in their place. Returns how many kernels went.
int shareStorage(mlir::ModuleOp module);

/// A pass as lathe-opt and tests see it.
struct GraphPass {
  const char *name; // "fold-batch-norm"
  const char *summary;
  void (*run)(mlir::ModuleOp module, const PipelineOptions &options);
};
std::span<const GraphPass> graphPasses();

} // namespace lathe
