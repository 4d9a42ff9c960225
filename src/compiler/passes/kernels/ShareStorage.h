// Parts of tensors that share the storage of the whole: concatenations written in place, slices and
// splits without copies.
//
// At kernels level an nn.concat, nn.split or nn.slice in @main with the attribute `nn.in_place`
// moves nothing: the operands of the concat, and the results of the others, are inside the storage
// of the whole tensor.
#pragma once

#include "ir/SymbolicShapes.h"

#include <optional>

namespace lathe {

/// True if the operator `op` shares storage: it has the attribute nn.in_place.
bool isInPlace(mlir::Operation *op);

/// Returns the byte offset in the whole tensor of each part (operands of a concat; results of a split or slice).
/// Returns nothing unless every part is one contiguous range that starts at a multiple of 64 bytes and has the layout
/// that the part has alone. So it returns nothing if an axis before the cut one has more than one element (a batch),
/// if a part ends inside a block before another part, and for steps other than 1 and data-dependent extents.
std::optional<Dims> placesInWhole(mlir::Operation *op, const nn::SymbolicShapes &shapes);

/// Follows a chain of reshapes and conversions that move no data back from `value`, and returns the value at its
/// beginning.
mlir::Value behindViews(mlir::Value value, const nn::SymbolicShapes &shapes);

} // namespace lathe
