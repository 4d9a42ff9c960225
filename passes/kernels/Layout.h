// Layouts of values: encodings, conversions, and what a conversion costs.
#pragma once

#include "ir/Bridge.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace lathe {

/// A conversion of `value` before the builder's position; a null layout is row-major.
mlir::Value convertTo(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value, nn::BlockedAttr layout);

/// Changes the encoding of the value's type.
void setLayout(mlir::Value value, nn::BlockedAttr layout);

/// True when both layouts are the same bytes: the blocked axis is filled exactly and no extent behind it moves
/// (N x C x 1 x 1 with C a multiple of the block). Such a conversion is an alias.
bool sameBytes(mlir::RankedTensorType type, nn::BlockedAttr layout);
bool movesNothing(nn::ConvertLayoutOp convert);

/// The block of the blocked values in @main; 0 when there are none, -1 when they differ or are not blocked along
/// axis 1.
int64_t blockInUse(mlir::func::FuncOp main);

/// Makes every value of @main row-major.
void stripLayouts(mlir::func::FuncOp main);

} // namespace lathe
