// Where the elements of small tensors come from, through operators that only move them.
#pragma once

#include "passes/Rewrite.h"

namespace lathe {

/// Element `index` of `source`, in row-major order.
struct MovedElement {
  mlir::Value source;
  int64_t index = 0;
};

/// The origin of every element of `value`, in row-major order, through concatenations, slices, transposes, reshapes,
/// gathers at constant positions and widening casts. Nothing for tensors of open extents or of more than maxContents
/// elements.
std::optional<std::vector<MovedElement>> movedElements(mlir::Value value);

/// The element as an extent, if `shapes` or a constant determines it; for integers.
std::optional<Dim> contentOf(const MovedElement &element, const nn::SymbolicShapes &shapes);
/// The element as a double, if its source is a constant.
std::optional<double> constantOf(const MovedElement &element);

} // namespace lathe
