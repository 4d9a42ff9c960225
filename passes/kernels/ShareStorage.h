// Parts of tensors that share the bytes of the whole: concatenations written in place, slices and splits that copy
// nothing.
//
// At kernels level an nn.concat, nn.split or nn.slice in @main with the attribute `nn.in_place` moves no byte: the
// operands of the concat, the results of the others, lie in the whole's storage.
#pragma once

#include "ir/SymbolicShapes.h"

#include <optional>

namespace lathe {

/// True for an operation with the attribute nn.in_place.
bool isInPlace(mlir::Operation *op);

/// Bytes into the whole where each part begins (operands of a concat, results of a split or slice), if every part is
/// one run of bytes there that begins at a multiple of 64 and is laid out as the part alone would be. Nothing where one
/// is not: other axes in front of the cut one (a batch), a part that ends inside a block before another one, steps,
/// extents that depend on data.
std::optional<Dims> placesInWhole(mlir::Operation *op, const nn::SymbolicShapes &shapes);

/// What a part's bytes come from: the operand at the end of a chain of reshapes and conversions that move nothing.
mlir::Value behindViews(mlir::Value value, const nn::SymbolicShapes &shapes);

} // namespace lathe
