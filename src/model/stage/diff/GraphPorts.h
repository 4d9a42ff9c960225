// Compares the inputs and outputs of two graphs.
#pragma once

#include "stage/diff/GraphDiff.h"
#include "stage/diff/GraphMatch.h"

namespace lathe::stage {

/// Returns all differences between partners among the inputs and outputs of two graphs, and the ports without a
/// partner. Symbols may have other names in B: extents are equal if one renaming makes them equal. The order of axes
/// counts even if extents are equal: it follows from the transposes next to the ports.
std::vector<GraphDiff::Port> comparePorts(const GraphNodes &a, const GraphNodes &b, const GraphMatch &match);

} // namespace lathe::stage
