// The inputs and outputs of two graphs beside each other.
#pragma once

#include "stage/diff/GraphDiff.h"
#include "stage/diff/GraphMatch.h"

namespace lathe::stage {

/// Everything in which partners among the inputs and outputs differ, and the ports without a partner. Symbols may have
/// other names in B: extents are equal if one renaming makes them equal. The order of axes counts, also where extents
/// are equal: it follows from the transposes next to the ports.
std::vector<GraphDiff::Port> comparePorts(const GraphNodes &a, const GraphNodes &b, const GraphMatch &match);

} // namespace lathe::stage
