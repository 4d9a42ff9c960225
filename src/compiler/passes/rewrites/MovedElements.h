// Finds where the elements of small tensors come from, through operators that only move elements.
#pragma once

#include "passes/Rewrite.h"

namespace lathe {

/// An element of another tensor: number `index` of `source`, in row-major order.
struct MovedElement {
  mlir::Value source;
  int64_t index = 0;
};

/// Returns, for every element of `value` in row-major order, the element of another tensor from which it was moved.
/// Looks through concatenations, slices, transposes, reshapes, gathers at constant positions and widening casts.
/// Returns nothing for tensors of open extents or of more than maxContents elements.
std::optional<std::vector<MovedElement>> movedElements(mlir::Value value);

/// Returns the value of an integer element as an extent; nothing if neither `shapes` nor a constant determines it.
std::optional<Dim> contentOf(const MovedElement &element, const nn::SymbolicShapes &shapes);
/// Returns the value of the element as a double; nothing if its source is not a constant.
std::optional<double> constantOf(const MovedElement &element);

} // namespace lathe
