// Small tools every pass uses.
#pragma once

#include "ir/Bridge.h"
#include "ir/SymbolicShapes.h"
#include "passes/interpret/Evaluate.h"

#include <optional>
#include <string_view>
#include <vector>

namespace lathe {

/// True for an nn operator of that mnemonic; null is none.
bool isOp(mlir::Operation *op, std::string_view mnemonic);
inline bool isOp(mlir::Value value, std::string_view mnemonic) { return isOp(value.getDefiningOp(), mnemonic); }
/// The record's `lowering`, "" for operations without one.
std::string_view loweringOf(mlir::Operation *op);

/// Operand `index` of the record; null where absent.
mlir::Value operandOf(mlir::Operation *op, size_t index);
/// Removes the optional operand `index` of the record.
void dropOperand(mlir::Operation *op, size_t index);

/// The constant behind a value, if it is one.
std::optional<Tensor> constantOf(mlir::Value value);
/// An nn.constant before the builder's position.
mlir::Value makeConstant(mlir::OpBuilder &builder, mlir::Location loc, const Tensor &tensor, llvm::StringRef name);
/// Likewise from doubles, rounded to `type`.
mlir::Value makeConstant(mlir::OpBuilder &builder, mlir::Location loc, ElementType type, std::vector<int64_t> dims,
                         const std::vector<double> &values, llvm::StringRef name);
/// All elements as doubles.
std::vector<double> toDoubles(const Tensor &tensor);
/// The one value of a constant whose elements are all equal.
std::optional<double> splatValue(mlir::Value value);

mlir::RankedTensorType rankedType(mlir::Value value);
/// The static shape, or nothing while an extent is symbolic.
std::optional<std::vector<int64_t>> staticShape(mlir::Value value);

/// True where an extent is 0 whatever the symbols are.
bool hasNoElements(const TensorInfo &info);
/// True where that holds for every result and the other extents are known when inputs are bound: there is nothing to
/// compute.
bool computesNothing(mlir::Operation *op, const nn::SymbolicShapes &shapes);

/// Most operands of one concatenation and most results of one split that a kernel is made for.
constexpr size_t widestMovement = 64;

/// Replaces the uses of the (only) result of `op` and erases it.
void replaceWith(mlir::Operation *op, mlir::Value value);

/// Gives the function the types of the values it returns: a rule may know more extents of one than the rule before.
void settleResultTypes(mlir::func::FuncOp function);

/// The constant `value` seen as one number a channel of `like` (axis 1): a scalar or a tensor that broadcasts to `like`
/// and whose extents are 1 except on the channel axis. Empty when it is not of that form.
std::optional<std::vector<double>> perChannelConstant(mlir::Value value, mlir::Value like);
/// Dims {C, 1, 1} (one fewer 1 for every rank below 4) with which C numbers broadcast along axis 1 of `like`.
std::vector<int64_t> channelDims(mlir::Value like);

/// The source nodes of both, for an operator that does the work of two.
mlir::Location fuseLocations(mlir::Operation *a, mlir::Operation *b);
/// Name of the first source node, for constants that passes make.
std::string constantName(mlir::Operation *op, llvm::StringRef suffix);

} // namespace lathe
