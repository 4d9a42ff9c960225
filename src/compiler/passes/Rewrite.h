// Utilities of passes.
#pragma once

#include "ir/Bridge.h"
#include "ir/SymbolicShapes.h"
#include "passes/interpret/Evaluate.h"

#include <optional>
#include <string_view>
#include <vector>

namespace lathe {

/// The `lowering` of the record; "" for operations without a record. "reference" where the operator binds extents: a kernel
/// cannot say how large its result is.
std::string_view loweringOf(mlir::Operation *op);
/// True if only the operator itself knows an extent of its results, which has a name (nn.extents).
bool bindsExtents(mlir::Operation *op);

/// Operand `index` of the record; null: absent.
mlir::Value operandOf(mlir::Operation *op, size_t index);
/// Removes the optional operand `index` of the record.
void dropOperand(mlir::Operation *op, size_t index);

/// The constant that defines `value`, if any.
std::optional<Tensor> constantOf(mlir::Value value);
/// Creates an nn.constant at the builder's position.
mlir::Value makeConstant(mlir::OpBuilder &builder, mlir::Location loc, const Tensor &tensor, llvm::StringRef name);
/// Creates an nn.constant from doubles, rounded to `type`.
mlir::Value makeConstant(mlir::OpBuilder &builder, mlir::Location loc, ElementType type, std::vector<int64_t> dims,
                         const std::vector<double> &values, llvm::StringRef name);
/// Returns all elements as doubles.
std::vector<double> toDoubles(const Tensor &tensor);
/// The value of a constant whose elements are all equal; nothing otherwise.
std::optional<double> splatValue(mlir::Value value);

mlir::RankedTensorType rankedType(mlir::Value value);
/// The static shape; nothing if an extent is open.
std::optional<std::vector<int64_t>> staticShape(mlir::Value value);

/// True if an extent is 0 for all values of the symbols.
bool hasNoElements(const TensorInfo &info);
/// True if every result has no elements and its other extents are known when inputs are bound.
bool computesNothing(mlir::Operation *op, const nn::SymbolicShapes &shapes);

/// Largest number of operands of a concatenation, or results of a split, in one kernel.
constexpr size_t widestMovement = 64;

/// A reshape of `x` to `type`, in which at most one extent is open; none is 0 then.
mlir::Value reshapeTo(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x, mlir::RankedTensorType type);

/// Replaces the uses of the (only) result of `op` and erases it.
void replaceWith(mlir::Operation *op, mlir::Value value);

/// Updates the result types of the function to the types of its returned values, which a rule may
/// have refined.
void settleResultTypes(mlir::func::FuncOp function);

/// True if `value` is a constant that broadcasts to `like` and has extent 1 on every axis but the channels' (axis 1).
bool isPerChannelConstant(mlir::Value value, mlir::Value like);
/// Returns such a per-channel constant of floats as one number per channel of `like`; empty for other values.
std::optional<std::vector<double>> perChannelConstant(mlir::Value value, mlir::Value like);
/// Extents {C, 1, 1} (for rank 4; in general one 1 per axis behind the channels) with which C
/// numbers broadcast along axis 1 of `like`.
std::vector<int64_t> channelDims(mlir::Value like);

/// Location of an operator that replaces both operators.
mlir::Location fuseLocations(mlir::Operation *a, mlir::Operation *b);
/// Name for a constant made by a pass: the first source node with `suffix`.
std::string constantName(mlir::Operation *op, llvm::StringRef suffix);

} // namespace lathe
