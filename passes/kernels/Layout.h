// Layouts of values: encodings and conversions.
#pragma once

#include "ir/Bridge.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace lathe {

/// Creates an operation at the builder's position that converts `value` to `layout`; null: row-major.
mlir::Value convertTo(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value, nn::BlockedAttr layout);

/// Changes the encoding of the value's type.
void setLayout(mlir::Value value, nn::BlockedAttr layout);

/// True if the row-major and the blocked form have the same bytes: blocks are full and all axes
/// behind the blocked one have extent 1 (N x C x 1 x 1 with C a multiple of the block). Such a
/// conversion is an alias.
bool sameBytes(mlir::RankedTensorType type, nn::BlockedAttr layout);
bool movesNothing(nn::ConvertLayoutOp convert);

/// Block size of the blocked values in @main; 0 if there are none, -1 if the sizes differ or an
/// axis other than 1 is blocked.
int64_t blockInUse(mlir::func::FuncOp main);

/// Makes every value of @main row-major.
void stripLayouts(mlir::func::FuncOp main);

} // namespace lathe
