// Helper functions that several graph passes need.
#pragma once

#include "ir/Bridge.h"
#include "ir/SymbolicShapes.h"
#include "passes/interpret/Evaluate.h"

#include <optional>
#include <string_view>
#include <vector>

namespace lathe {

/// The kernel family of an operator: `lowering` of its record; "" for operators without a record. "reference" if the
/// operator binds extents, because a kernel cannot say how large its result is.
std::string_view loweringOf(mlir::Operation *op);
/// True if an extent of the operator's results is known only when it has run; such extents have names (nn.extents).
bool bindsExtents(mlir::Operation *op);

/// The operand of `op` that the operator's record lists at `index`; null if it is absent.
mlir::Value operandOf(mlir::Operation *op, size_t index);
/// Removes the optional operand of `op` that the operator's record lists at `index`.
void dropOperand(mlir::Operation *op, size_t index);

/// Returns the constant that defines `value`; null if `value` is not a constant.
std::optional<Tensor> constantOf(mlir::Value value);
/// Creates an nn.constant at the builder's position.
mlir::Value makeConstant(mlir::OpBuilder &builder, mlir::Location loc, const Tensor &tensor, llvm::StringRef name);
/// Creates an nn.constant from doubles, rounded to `type`.
mlir::Value makeConstant(mlir::OpBuilder &builder, mlir::Location loc, ElementType type, std::vector<int64_t> dims,
                         const std::vector<double> &values, llvm::StringRef name);
/// Returns all elements of a constant as doubles.
std::vector<double> toDoubles(const Tensor &tensor);
/// The number to which all elements of a constant are equal; nothing if they differ or `value` is no constant.
std::optional<double> splatValue(mlir::Value value);

mlir::RankedTensorType rankedType(mlir::Value value);
/// Returns the extents of `value` if all are static; nothing if one is open.
std::optional<std::vector<int64_t>> staticShape(mlir::Value value);

/// True if an extent of the tensor is 0 whatever values the symbols have.
bool hasNoElements(const TensorInfo &info);
/// True if every result of `op` has no elements and its other extents are known when inputs are bound.
bool computesNothing(mlir::Operation *op, const nn::SymbolicShapes &shapes);

/// Largest number of operands of a concatenation, or results of a split, in one kernel.
constexpr size_t widestMovement = 64;

/// Creates a reshape of `x` to `type`. At most one extent of the type is open, and then no extent is 0.
mlir::Value reshapeTo(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x, mlir::RankedTensorType type);

/// Replaces the uses of the only result of `op` by `value` and erases `op`.
void replaceWith(mlir::Operation *op, mlir::Value value);

/// Updates the result types of a function to the types of its returned values, which a rewrite may have refined.
void settleResultTypes(mlir::func::FuncOp function);

/// True if `value` is a constant that broadcasts to `like` and has extent 1 on every axis but axis 1, the channels.
bool isPerChannelConstant(mlir::Value value, mlir::Value like);
/// Returns a constant for which isPerChannelConstant is true as one number per channel of `like`; empty for other
/// values.
std::optional<std::vector<double>> perChannelConstant(mlir::Value value, mlir::Value like);
/// Returns the extents {C, 1, 1} (for rank 4; in general one 1 for each axis behind the channels), with which C numbers
/// broadcast along axis 1 of `like`.
std::vector<int64_t> channelDims(mlir::Value like);

/// Returns the location of an operator that replaces both operators `a` and `b`.
mlir::Location fuseLocations(mlir::Operation *a, mlir::Operation *b);
/// Returns a name for a constant that a pass makes: the first source node with `suffix`.
std::string constantName(mlir::Operation *op, llvm::StringRef suffix);

} // namespace lathe
