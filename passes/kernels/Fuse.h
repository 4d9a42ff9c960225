// Which operators become one kernel.
#pragma once

#include "ir/SymbolicShapes.h"
#include "passes/Pipeline.h"

#include "llvm/ADT/SmallVector.h"

#include <optional>
#include <string_view>
#include <vector>

namespace lathe {

/// Operators of one kernel in the order of the block. Values of all but the last are used inside the group only.
struct Group {
  llvm::SmallVector<mlir::Operation *> ops;
  std::string_view family;
  mlir::Operation *anchor = nullptr; // what the others were fused with
  std::vector<Group> parts = {};     // the two kernels it may be instead; empty: it cannot be divided
  std::optional<bool> together = {}; // with parts: what PipelineOptions::given says, if it does
};

/// True for operators that can become a kernel by their record; conversions of layout among them.
bool isKernelOp(mlir::Operation *op);
/// The kernel family of such an operator.
std::string_view familyOf(mlir::Operation *op);

/// One group for every operator; operators of one source node that follow one another element-wise (a batch norm's
/// multiply and add) stay together.
std::vector<Group> formSingleGroups(mlir::func::FuncOp function);

/// Fusion, in this order: attention takes the reshapes, transposes, slices and splits around it; a concatenation takes
/// the slices it joins; a contraction, pool, lrn or reduction takes the element-wise operators that use its result,
/// while their other operands are constants a channel, scalars, or tensors of the result's own shape and layout; then
/// element-wise operators of one shape and layout that depend on one another join. A group grows only while exactly one
/// of its values is used outside, so nothing is computed twice and no cycle can arise. Element-wise operators for which
/// `options.given` names a kernel join no other; throws Error where they cannot join that one. Last, a depthwise
/// convolution's group and that of the pointwise one which alone reads its result become one with these two as its
/// parts, whether or not it should be divided again.
std::vector<Group> formFusedGroups(mlir::func::FuncOp function, const nn::SymbolicShapes &shapes,
                                   const PipelineOptions &options);

} // namespace lathe
