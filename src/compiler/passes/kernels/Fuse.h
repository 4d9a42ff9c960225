// Fusion: groups of operators that become one kernel.
#pragma once

#include "ir/SymbolicShapes.h"
#include "passes/Pipeline.h"

#include "llvm/ADT/SmallVector.h"

#include <optional>
#include <string_view>
#include <vector>

namespace lathe {

/// A group of operators that become one kernel, in block order. Only results of the last operator are used outside the
/// group.
struct Group {
  llvm::SmallVector<mlir::Operation *> ops;
  std::string_view family;
  mlir::Operation *anchor = nullptr; // main operator of the group; null: the group has only element-wise operators
  std::vector<Group> parts = {};     // two groups into which the group can be divided; empty: it cannot
  /// For groups with parts: whether PipelineOptions::given keeps the parts together; empty: it does not decide.
  std::optional<bool> together = {};
};

/// True for operators that kernels can compute, including conversions of layouts.
bool isKernelOp(mlir::Operation *op);
/// The kernel family of the operator.
std::string_view familyOf(mlir::Operation *op);

/// Makes one group for each operator of a function. Consecutive element-wise operators of one source node (the
/// multiply and add of a batch norm) stay together.
std::vector<Group> formSingleGroups(mlir::func::FuncOp function);

/// Makes groups of operators in the order below. Before that, a matrix product takes the operators that convert its
/// packed weights to numbers (ir/PackedWeights.h).
/// 1. Attention takes the reshapes, transposes, slices and splits around it.
/// 2. A concatenation takes the slices that it joins.
/// 3. A contraction, pool, lrn or reduction takes the element-wise operators behind it, if their other operands are
///    per-channel constants, scalars, or tensors with the shape and layout of the result.
/// 4. Element-wise operators of one shape and layout that depend on each other join.
/// 5. A depthwise convolution and the pointwise convolution that alone reads its result form one group with two parts;
///    the group may be divided again later.
/// A group grows only while exactly one of its values is used outside, so nothing is computed twice and no cycle
/// arises. An element-wise operator with a kernel in `options.given` joins only that kernel; throws Error if it cannot.
std::vector<Group> formFusedGroups(mlir::func::FuncOp function, const nn::SymbolicShapes &shapes,
                                   const PipelineOptions &options);

} // namespace lathe
