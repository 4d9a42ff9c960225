// Functions for the layouts of values in a graph: type encodings and conversions.
#pragma once

#include "ir/Bridge.h"
#include "passes/Pipeline.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace lathe {

/// Creates an operation at the builder's position that converts `value` to `layout` (null: row-major).
mlir::Value convertTo(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value, nn::BlockedAttr layout);

/// Gives the type of `value` the layout `layout`.
void setLayout(mlir::Value value, nn::BlockedAttr layout);

/// True if the row-major and the blocked form of a tensor have their bytes in the same order: blocks are full and all
/// axes behind the blocked one have extent 1 (N x C x 1 x 1 with C a multiple of the block). A conversion between them
/// is an alias.
bool sameBytes(mlir::RankedTensorType type, nn::BlockedAttr layout);
bool movesNothing(nn::ConvertLayoutOp convert);

/// True for a transpose in the model that moves the channels from the last axis to axis 1 or back, and so in effect
/// converts the layout.
bool turnsChannels(mlir::Operation *op);
/// Describes a layout conversion, or a transpose for which turnsChannels is true, for the report. The name of the
/// kernel is left empty.
PipelineReport::Conversion describeConversion(mlir::Operation *convert);

/// True if at least one value of @main is blocked.
bool hasLayouts(mlir::func::FuncOp main);
/// True if every blocked value of @main is blocked along axis 1 with the block size that `blocks` has for it.
bool usesBlocks(mlir::func::FuncOp main, const ChannelBlocks &blocks);

/// Makes every value of @main row-major.
void stripLayouts(mlir::func::FuncOp main);

} // namespace lathe
