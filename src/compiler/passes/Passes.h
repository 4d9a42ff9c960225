// The graph passes. Each pass is one function in a file with its name; `lathe-opt --kebab-name` runs it on textual IR.
//
// Passes change the nn operators of @main. They do not change kernel functions (private, with
// nn.family).
#pragma once

#include "ir/SymbolicShapes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace lathe {

struct PipelineOptions;
struct PipelineReport;

/// Pass that refines result types with the shape functions, and replaces shape arithmetic whose results are known by
/// constants.
void inferShapes(mlir::ModuleOp module);

/// Moves constant operands that the operator's record declares static into attributes. Also moves the targets of
/// reshape and expand if their open extents can be written with 0 and -1.
void staticOperands(mlir::ModuleOp module);

/// Evaluates operators with constant operands by their references. Leaves an operator to run time if its result is much
/// larger than its operands, unless all elements of the result are equal.
void foldConstants(mlir::ModuleOp module);
/// Evaluates operators with constant operands like foldConstants, but leaves weights of matrix products that are stored
/// as 4-bit or 8-bit integers (ir/PackedWeights.h) as integers, because such products wait for memory to deliver their
/// weights. For levels that fuse the conversion operators into the product's kernel.
void foldUnpacked(mlir::ModuleOp module);

/// Replaces inputs and results without elements by constants, drops them from concatenations, and removes operators
/// whose results are not used any more. Later passes and kernel families then need no rules for empty tensors.
void foldEmpty(mlir::ModuleOp module);

/// Makes extents that depend on data into symbols, which the plan binds while it runs: replaces the operators that have
/// such extents by operators that compute the extents first (nn.bind_extents). If only the operator itself knows its
/// extents, they get names (nn.extents).
void bindExtents(mlir::ModuleOp module);

/// Copies captured constants into the bodies of nn.if and nn.loop, and gives the arguments of the bodies the extents of
/// the values they capture. Replaces nn.if with a constant condition by the operations of its branch.
void settleBodies(mlir::ModuleOp module);
/// Gives captured values in bodies the types and extents that they have outside. Returns true if a type or extent
/// changed.
bool refineBodies(mlir::ModuleOp module);

/// Removes captured values that no body of nn.if or nn.loop reads.
void dropUnusedCaptures(mlir::ModuleOp module);

/// Removes operators without a used result, private functions without a caller and bodies that nothing runs.
void deadCode(mlir::ModuleOp module);

/// Folds batch_norm into the weights of a neighbouring conv, gemm or matmul, else rewrites it as mul and add per
/// channel. With `decomposeOnly` never folds; with `exactMath` keeps the order of operations in the definition (see
/// PipelineOptions).
void foldBatchNorm(mlir::ModuleOp module, bool decomposeOnly, bool exactMath);

/// Folds mul, div, add and sub by a constant per channel into the weights or bias of the conv or
/// gemm before them. Does nothing under exact math.
void foldScale(mlir::ModuleOp module, bool exactMath);

/// Rewrites conv_transpose with constant weights as ordinary convolutions, depth_to_space and a slice. The convolutions
/// compute each phase of the stride in separate channels; phases that read the same offsets share a convolution. Later
/// element-wise operators move before the interleaving.
void convTranspose(mlir::ModuleOp module);

/// Rewrites convolutions with open spatial extents for which `declined` is true (empty: all) as slices of the padded
/// input and a matrix product with channels last; depthwise ones as a sum of products. These kernels take extents at
/// run time. Returns true if it rewrote one.
bool openConvolutions(mlir::ModuleOp module, const std::function<bool(mlir::Operation *conv)> &declined = {});
/// Symbols in the open spatial extents of convolutions of @main.
std::vector<std::string> imageExtents(mlir::func::FuncOp main, const nn::SymbolicShapes &shapes);

/// Rewrites conv, gemm and matmul of dequantised operands as conv_integer and matmul_integer followed by a factor; a
/// following quantise joins that factor. Operators that only move or select elements between a dequantise and a
/// quantise with one scale work on the integers. Results may differ from the original in the last bit of a factor.
void recognizeQuantized(mlir::ModuleOp module);

/// Replaces the division where an expression of at most two bytes is divided by a constant and quantised to bytes:
/// multiplies by a reciprocal, or divides the factors of a sum, if the result is the same for every byte or pair of
/// bytes.
void multiplyByReciprocal(mlir::ModuleOp module);

/// Subtracts the zero points of constant right factors of conv_integer and matmul_integer at compile time. Where the
/// differences need more than 8 bits and kernels take a zero point, the factor keeps it, and both become i8. Rewrites
/// products that no kernel computes as conv and matmul of 32-bit integers, after subtracting all zero points.
void widenInteger(mlir::ModuleOp module);

/// Stores float16 values as float32 between operators where float16 may not hold them (docs/numerics.md, Range): values
/// that may be too large, and values that are too small for an operator that divides by them. Results of linear
/// operators stay float16 where float32 would need more than a tenth of the network's memory.
void widenHalf(mlir::ModuleOp module);
/// Stores every float16 value inside the graph and its bodies as float32.
void widenEveryHalf(mlir::ModuleOp module);

/// Moves the padding of a pad operator into the conv or pool that follows.
void foldPad(mlir::ModuleOp module);

/// Removes operators without effect, and merges operators that undo or repeat one another.
void simplify(mlir::ModuleOp module);

/// Rewrites concatenations and splits of more than `widestMovement` parts as trees of narrower ones.
void narrowMovement(mlir::ModuleOp module);

/// Rewrites channel shuffles (reshape, transpose, reshape) as one gather over the channels.
void channelShuffle(mlir::ModuleOp module);

/// Removes channel shuffles between dense convolutions by reordering their weights, also across
/// depthwise convolutions and element-wise operators. The input of a reader becomes a concatenation
/// of channel ranges. Changes the order of sums.
void absorbShuffle(mlir::ModuleOp module);

/// Replaces the formula of attention, softmax(scale * q k^T + bias, masked) v, by the operator attention. Not used for
/// exact math, because factors move.
void recognizeAttention(mlir::ModuleOp module);

/// Moves a reshape of a matrix product's result behind the element-wise operators that follow, so that they fuse into
/// the product's kernel.
void sinkReshape(mlir::ModuleOp module);

/// For networks with channels last: moves transposes that put the channels of an image last behind the operators that
/// read them, until they meet the inverse transpose. The network inside then has its channels at axis 1.
void sinkTranspose(mlir::ModuleOp module);

/// Moves transposes that put the channels of an image to axis 1 in front of pads and of element-wise operators with
/// constants. Exporters write such operators to prepare the pictures at the inputs of a network; the convolution behind
/// them then absorbs them.
void liftTranspose(mlir::ModuleOp module);

/// Splits lstm, gru and rnn into one matmul and a recurrence. The matmul computes W times the input for all gates,
/// steps and directions, with the biases that can be added there.
void splitRecurrence(mlir::ModuleOp module);

/// Replaces the formulas that exporters write for layer_norm, rms_norm and instance_norm by these
/// operators.
void recognizeLayerNorm(mlir::ModuleOp module);
/// Replaces an instance_norm between reshapes by group_norm.
void recognizeGroupNorm(mlir::ModuleOp module);
/// Replaces the formulas of gelu, hard_swish and mish by these operators.
void recognizeActivation(mlir::ModuleOp module);
/// Replaces the formulas of softmax and log_softmax by these operators.
void recognizeSoftmax(mlir::ModuleOp module);
/// Replaces the formula of lp_normalize by this operator.
void recognizeLpNormalize(mlir::ModuleOp module);

/// Attribute of the slices that mergeConvolutions makes.
inline constexpr const char *mergedPart = "nn.part";
/// Merges convolutions that read one value, and agree in kernel, strides, pads, dilations and activation, into one
/// convolution whose result is cut along its channels: those that `options.mergedInto` names, or where it is empty
/// those for which that is predicted to be faster by `options.mergeMargin`.
void mergeConvolutions(mlir::ModuleOp module, const PipelineOptions &options, PipelineReport &report);

/// Chooses the row-major or the blocked layout for every value and inserts the conversions between them.
void assignLayout(mlir::ModuleOp module, const PipelineOptions &options, PipelineReport &report);

/// Replaces kernels that only concatenate, slice or split contiguous parts by operators in @main with the attribute
/// nn.in_place (passes/kernels/ShareStorage.h). If a concatenation begins with all parts of an earlier one, it takes
/// the earlier result as its first operand. Works at kernels level. Returns the number of kernels removed.
int shareStorage(mlir::ModuleOp module);

/// A graph pass with the name by which lathe-opt and tests call it.
struct GraphPass {
  const char *name; // name of the pass, such as "fold-batch-norm"
  const char *summary;
  void (*run)(mlir::ModuleOp module, const PipelineOptions &options);
};
std::span<const GraphPass> graphPasses();

} // namespace lathe
